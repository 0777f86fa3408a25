import assert from 'node:assert/strict';

/** A page as seen by a browser without scripts. */
export interface Page {
  /** Its own address, if it was the answer to another request. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** Whether a form was answered with it, so that the URL alone does not lead to it. */
  readonly isAnswer: boolean;
}

/** Stores cookies, follows redirects within one site, fills in forms, and stops before it leaves the site. */
export class Browser {
  readonly cookies = new Map<string, string>();
  /** The names of its requests, which the log of the server mentions. */
  readonly requestIds: string[] = [];
  readonly #site: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers that a proxy adds to every request */
  constructor(site: string, headers: Readonly<Record<string, string>> = {}) {
    this.#site = new URL(site).origin;
    this.#headers = headers;
  }

  /** Another window, with the same cookies. */
  copy(): Browser {
    const copy = new Browser(this.#site, this.#headers);
    for (const [name, value] of this.cookies) copy.cookies.set(name, value);
    return copy;
  }

  async get(url: string): Promise<Page> {
    return this.#load(url, { method: 'GET' });
  }

  /** @param fields with several values if it is a list */
  async post(url: string, fields: Readonly<Record<string, string | readonly string[]>>): Promise<Page> {
    const pairs = Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
    return this.#load(url, { method: 'POST', body: new URLSearchParams(pairs) });
  }

  /** Submits a page's form with its hidden fields. */
  async submit(page: Page, fields: Readonly<Record<string, string | readonly string[]>>): Promise<Page> {
    return this.post(new URL(formAction(page), page.url).href, { ...hiddenFields(page), ...fields });
  }

  /** Sends one request, without following a redirect. */
  async send(url: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html,*/*;q=0.8', ...this.#headers, ...(cookie !== '' && { cookie }) },
    });
    this.requestIds.push(response.headers.get('x-request-id') ?? '');
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  async #load(url: string, init: RequestInit): Promise<Page> {
    const response = await this.send(url, init);
    const html = await response.text();
    const location = response.headers.get('location');
    const { status, headers } = response;
    const isAnswer = init.method === 'POST';
    const page = { url: ownAddress(html, url), status, headers, html, isAnswer };
    if (location === null) return page;
    const target = new URL(location, url);
    if (target.origin !== this.#site) return { ...page, url: target.href };
    return this.#load(target.href, { method: 'GET' });
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';', 1);
    const at = pair.indexOf('=');
    if (/; *max-age=0(;|$)/i.test(line)) this.cookies.delete(pair.slice(0, at));
    else this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

/** The address that a browser shows for a page, which the page may have changed. */
function ownAddress(html: string, url: string): string {
  const [, address] = /<link rel="canonical" href="([^"]*)">/.exec(html) ?? [];
  return address === undefined ? url : new URL(unescaped(address), url).href;
}

export function formAction({ html }: Page): string {
  const action = /<form method="post" action="([^"]*)"(?! role="search")/.exec(html)?.[1];
  assert.ok(action, `the page has no form: ${html}`);
  return unescaped(action);
}

export function hiddenFields({ html }: Page): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, unescaped(value)]));
}

/** The target of the link to an unchecked application; `undefined` if the page has none. */
export function leavingLink({ html }: Page): string | undefined {
  const [, address] = /<a id="leave" [^>]*href="([^"]*)"/.exec(html) ?? [];
  return address === undefined ? undefined : unescaped(address);
}

export function unescaped(text: string): string {
  return text
    .replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export const ALICE: Credentials = { username: 'alice', password: 'wonderland' };

/**
 * From the authorization request to the client's URL, through the real pages. Gives consent if the page appears, which
 * it does not after an earlier consent.
 */
export async function signInAndConsent(
  browser: Browser,
  authorizationUrl: string,
  who = ALICE,
): Promise<URL> {
  const login = await browser.get(authorizationUrl);
  const next = await browser.submit(login, { ...who });
  const left = isConsent(next) ? await browser.submit(next, { decision: 'allow' }) : next;
  assert.notEqual(new URL(left.url).origin, new URL(authorizationUrl).origin, left.html);
  return new URL(left.url);
}

export function isLogin({ html }: Page): boolean {
  return html.includes('id="login-submit"');
}

export function isConsent({ html }: Page): boolean {
  return html.includes('id="consent-allow"');
}
