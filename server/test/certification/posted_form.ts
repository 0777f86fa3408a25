import { type Page, unescaped } from '../harness/browser.ts';

/** The request that a browser posts to a client (OAuth 2.0 Form Post Response Mode §2). */
interface PostedForm {
  readonly action: string;
  readonly fields: URLSearchParams;
}

/** The form of a page that submits itself, or asks the user first; `undefined` if the page has none. */
export function postedForm({ html }: Page): PostedForm | undefined {
  const [, action] = /<form method="post" action="([^"]*)">/.exec(html) ?? [];
  if (action === undefined || !/document\.forms\[0\]\.submit\(\)|<button id="leave"/.test(html))
    return undefined;
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return {
    action: unescaped(action),
    fields: new URLSearchParams(
      [...fields].map(([, name = '', value = '']) => [unescaped(name), unescaped(value)]),
    ),
  };
}
