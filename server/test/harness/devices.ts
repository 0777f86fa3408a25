import assert from 'node:assert/strict';
import { DEVICE_GRANT } from '@grantd/core';
import type { Browser, Page } from './browser.ts';
import { postForm, type Tokens } from './protocol.ts';

interface Server {
  readonly url: string;
}

/** The response of the device authorization endpoint (RFC 8628 §3.2). */
export interface Codes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
}

/** Arguments of `client add` for a command line: a public client without a redirect URI. */
export const COMMAND_LINE: readonly string[] = [
  ...['--public', '--grant', DEVICE_GRANT, '--grant', 'refresh_token'],
  ...['--scope', 'openid offline_access notes:read'],
];

/** Starts a request of the client `cli`, or of the one in `parameters`. */
export async function deviceCodes(
  { url }: Server,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Codes> {
  const form = { client_id: 'cli', scope: 'openid notes:read', ...parameters };
  const response = await postForm(`${url}/device_authorization`, form);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Tokens, or the error of RFC 8628 §3.5. */
export async function pollDevice(
  { url }: Server,
  { device_code }: Pick<Codes, 'device_code'>,
  clientId = 'cli',
): Promise<Tokens & { readonly error?: string }> {
  const form = { client_id: clientId, grant_type: DEVICE_GRANT, device_code };
  return (await (await postForm(`${url}/token`, form)).json()) as Tokens;
}

/** Whether a page asks for the code. */
export function isCodeEntry({ html }: Page): boolean {
  return html.includes('id="device-submit"');
}

/** Enters a code on its page, and returns the next page. */
export function enterCode(browser: Browser, entry: Page, { user_code }: Pick<Codes, 'user_code'>) {
  assert.ok(isCodeEntry(entry), `${entry.url} ${entry.html}`);
  return browser.submit(entry, { user_code });
}
