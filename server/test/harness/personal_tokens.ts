// Personal access tokens, as a user makes them on the pages of their account.
import assert from 'node:assert/strict';
import type { Browser, Page } from './browser.ts';
import { newPerson } from './new_person.ts';
import type { RunningServer } from './program.ts';

export const API = 'http://localhost:4003';
export const OPTIONS = ['--demo', '--token-check', '--personal-tokens', '--personal-token-apis', API];

export const DAY = 24 * 60 * 60;

/** A signed-in user on the page of tokens. */
export async function opened(server: RunningServer, name: string) {
  const { who, browser } = await newPerson(server, name);
  const page = await browser.submit(await browser.get(`${server.url}/account/tokens`), who);
  assert.equal(page.status, 200, page.html);
  return { who, browser, page };
}

export type Wanted = Partial<Readonly<Record<'name' | 'scope' | 'lifetime' | 'api' | 'binding', string>>>;

export function make(browser: Browser, page: Page, wanted: Wanted = {}): Promise<Page> {
  return browser.submit(page, { name: 'CI', scope: 'api:read', lifetime: String(30 * DAY), ...wanted });
}

/** The values that a page shows. */
export function valuesIn({ html }: Page): readonly string[] {
  return [...html.matchAll(/<code id="token-[^"]*" lang="zxx">([^<]*)<\/code>/g)].map(
    ([, value = '']) => value,
  );
}

export function valueIn(page: Page): string {
  const [value, ...others] = valuesIn(page);
  assert.deepEqual(others, []);
  return value ?? assert.fail(page.html);
}
