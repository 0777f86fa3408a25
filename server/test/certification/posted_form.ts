import type { Page } from '../harness/browser.ts';

/** What a browser would post to a client (OAuth 2.0 Form Post Response Mode §2). */
export interface PostedForm {
  readonly action: string;
  readonly fields: URLSearchParams;
}

/** The form of a page that posts itself; `undefined` where the page has none. */
export function postedForm({ html }: Page): PostedForm | undefined {
  const [, action] = /<form method="post" action="([^"]*)">/.exec(html) ?? [];
  if (action === undefined || !html.includes('document.forms[0].submit()')) return undefined;
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return {
    action: plain(action),
    fields: new URLSearchParams([...fields].map(([, name = '', value = '']) => [plain(name), plain(value)])),
  };
}

function plain(html: string): string {
  return html.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
