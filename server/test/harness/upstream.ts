import assert from 'node:assert/strict';
import { type Browser, hiddenFields, type Page, unescaped } from './browser.ts';

/** Presses a button of a page with several forms, and returns what the browser sees then. */
export function press(
  browser: Browser,
  page: Page,
  id: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const forms = [...page.html.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
  const [, action = '', form = ''] = forms.find(([, , inner = '']) => inner.includes(`id="${id}"`)) ?? [];
  assert.notEqual(action, '', `the page has no button ${id}: ${page.html}`);
  const [, name, value = ''] =
    new RegExp(`id="${id}"[^>]* name="([^"]*)"(?: value="([^"]*)")?`).exec(form) ?? [];
  return browser.post(new URL(unescaped(action), page.url).href, {
    ...hiddenFields({ ...page, html: form }),
    ...(name !== undefined && { [name]: unescaped(value) }),
    ...fields,
  });
}
