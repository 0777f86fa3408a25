// The application's own sign-in form. Its seal contains the browser's cookie, so it works in this browser only.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { AuthorizationRequest, HttpRequest, HttpResponse } from '@grantd/core';
import { headerValue, readForm, ServerSecret } from '@grantd/core';

const key = await new ServerSecret<'sign_in'>(process.env.GRANTD_SECRET ?? '').key('sign_in');
const secure = process.env.ISSUER?.startsWith('https:') ? '; Secure' : '';

/** A form for the user that carries the client's request. */
export function formFor(request: HttpRequest, checked: AuthorizationRequest, problem = ''): HttpResponse {
  const browser = browserOf(request);
  const asked = JSON.stringify(checked.parameters);
  const seal = sealOf(browser, asked).toString('hex');
  return {
    status: problem === '' ? 200 : 401,
    headers: {
      'content-type': 'text/html',
      'cache-control': 'no-store',
      'set-cookie': `browser=${browser}; HttpOnly; SameSite=Lax${secure}`,
      'x-frame-options': 'DENY',
    },
    body: html`<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
      <h1>Sign in to ${checked.client.name ?? checked.client.id}, which asks for ${checked.scopes.join(', ')}</h1>
      <form method="post"><input type="hidden" name="asked" value="${asked}">
      <input type="hidden" name="seal" value="${seal}"> <label>Name <input name="name"></label>
      <label>Password <input name="password" type="password"></label>
      <button>Sign in and allow</button> <p role="alert">${problem}</p></form></html>`,
  };
}

/** @returns `undefined` if the request has no form that this browser was shown */
export function formIn(request: HttpRequest) {
  const { asked = '', seal = '', name = '', password = '' } = Object.fromEntries(readForm(request));
  const actual = Buffer.from(seal, 'hex');
  const expected = sealOf(browserOf(request), asked);
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined;
  const parameters: AuthorizationRequest['parameters'] = JSON.parse(asked);
  return { parameters, name, password };
}

/** The browser's identifier from its cookie, or a new one. */
function browserOf(request: HttpRequest): string {
  const [, browser] = /(?:^|; )browser=([\w-]+)/.exec(headerValue(request, 'cookie') ?? '') ?? [];
  return browser ?? randomUUID();
}

function sealOf(browser: string, asked: string): Buffer {
  return createHmac('sha256', key).update(`${browser} ${asked}`).digest();
}

/** Every value in it is text. */
function html(parts: TemplateStringsArray, ...values: readonly string[]): string {
  const escaped = (text: string) => text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
  return String.raw({ raw: parts }, ...values.map(escaped));
}
