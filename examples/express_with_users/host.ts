// An Express application whose own people sign in to other applications. Limit their attempts as you do elsewhere.
import { createHmac, randomUUID, scrypt, timingSafeEqual } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { type AuthorizationRequest, AuthorizationServer, type HttpRequest, headerValue } from '@grantd/core';
import { handler, mount } from '@grantd/core/express';
import { openSqliteStorage } from '@grantd/core/sqlite';
import express from 'express';

// The application's own table, which knows nothing of tokens.
const users = new DatabaseSync(process.env.USERS ?? 'users.db');
users.exec('CREATE TABLE IF NOT EXISTS users (id TEXT, name TEXT UNIQUE, email TEXT, salt TEXT, hash BLOB)');
const [derive, cost] = [promisify<string, string, number, object, Buffer>(scrypt), { N: 2 ** 14, p: 5 }];
const [add, salt] = [users.prepare('INSERT OR IGNORE INTO users VALUES (?, ?, ?, ?, ?)'), randomUUID()];
add.run(randomUUID(), 'alice', 'alice@example.com', salt, await derive('wonderland', salt, 32, cost));
const getUserClaims = (id: string) => users.prepare('SELECT name, email FROM users WHERE id = ?').get(id);
async function idOf(name: string, password: string): Promise<string | undefined> {
  const { id, salt, hash } = users.prepare('SELECT * FROM users WHERE name = ?').get(name) ?? {};
  const given = await derive(password, String(salt), 32, cost); // takes as long where the name is nobody's
  return hash instanceof Uint8Array && timingSafeEqual(hash, given) ? String(id) : undefined;
}

const [port, secret] = [process.env.PORT ?? '3000', process.env.GRANTD_SECRET ?? ''];
const issuer = `http://localhost:${port}`;
const storage = openSqliteStorage({ path: process.env.DATABASE ?? 'tokens.db', issuer });
const getSubjectState = (id: string) => (getUserClaims(id) ? 'active' : undefined);
const server = new AuthorizationServer({ issuer, secret, storage, oidc: { getUserClaims }, getSubjectState });
await server.prepare();

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const seal = (text: string) => createHmac('sha256', secret).update(`sign-in ${text}`).digest('hex');
function page({ client, scopes, parameters }: AuthorizationRequest, status: number, problem = '') {
  const asked = JSON.stringify(parameters);
  const cookie = `${seal(asked)}=1; HttpOnly; SameSite=Strict`;
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
    <h1>Sign in to ${escaped(client.name ?? client.id)}, which asks for ${escaped(scopes.join(', '))}</h1>
    <form method="post"><input type="hidden" name="asked" value="${escaped(asked)}">
    <label>Name <input name="name"></label> <label>Password <input name="password" type="password"></label>
    <button>Sign in and allow</button> <p role="alert">${problem}</p></form></html>`;
  const headers = { 'content-type': 'text/html', 'set-cookie': cookie, 'x-frame-options': 'DENY' };
  return { status, headers, body };
}

/** What an application asks, and then the form: only a browser that was shown it has the cookie that it needs. */
async function authorize(request: HttpRequest) {
  const { asked = '', name = '', password = '' } = Object.fromEntries(new URLSearchParams(`${request.body}`));
  const cookies = headerValue(request, 'cookie')?.split('; ');
  if (cookies?.includes(`${seal(asked)}=1`)) {
    const checked = await server.resumeAuthorizationRequest(JSON.parse(asked));
    const [subject, authTime] = [await idOf(name, password), Math.floor(Date.now() / 1000)];
    if (subject === undefined) return page(checked, 401, 'Name or password is wrong.');
    return server.completeAuthorization(checked, { subject, authTime });
  }
  const checked = await server.validateAuthorizationRequest(request);
  if (!checked.prompt.includes('none')) return page(checked, 200);
  return server.refuseAuthorization(checked, 'login_required', 'nobody is signed in');
}

express().use(mount(server)).all('/authorize', handler(authorize)).listen(port);
