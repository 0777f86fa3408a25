import type { BrowserContext, Page } from 'playwright-core';
import { ALICE, type Credentials } from '../harness/browser.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';

type Parameters = Readonly<Record<string, string>>;

/** What a person does at a server, by the ids that its pages promise. */
export class Visit {
  readonly page: Page;
  readonly #url: string;
  readonly #from: Parameters;

  /** @param from parameters of the application that the person comes from; `demo-web` unless said otherwise */
  constructor(page: Page, url: string, from: Parameters = {}) {
    this.page = page;
    this.#url = url;
    this.#from = from;
  }

  get person(): BrowserContext {
    return this.page.context();
  }

  /** The cookie of the session; `undefined` where there is none. */
  async session(): Promise<string | undefined> {
    return (await this.person.cookies()).find(({ name }) => name === 'grantd_session')?.value;
  }

  async open(path: string): Promise<void> {
    await this.page.goto(`${this.#url}${path}`);
  }

  /** Comes from the application. */
  async authorize(parameters: Parameters = {}): Promise<void> {
    await this.page.goto(authorizationUrl(this.#url, newPkce(), { ...this.#from, ...parameters }));
  }

  /** Also where the page takes the person for whoever is signed in already. */
  async signIn({ username, password }: Credentials = ALICE): Promise<void> {
    const name = this.page.locator('#username');
    if (!(await name.isEditable()) && (await name.inputValue()) !== username)
      await this.page.click('#change-person');
    if (await name.isEditable()) await name.fill(username);
    await this.page.fill('#password', password);
    await this.page.click('#login-submit');
  }

  /** Up to the question of consent, which is asked also where it has been answered before. */
  async authorizeAndSignIn(parameters: Parameters = {}, who = ALICE): Promise<void> {
    await this.authorize({ prompt: 'consent', ...parameters });
    await this.signIn(who);
    await this.page.waitForSelector('#consent-allow');
  }

  /** Answers the question whether to sign out, where it is asked: with a fitting `id_token_hint` it need not be. */
  async confirmLogout(): Promise<void> {
    const question = this.page.locator('#logout-yes');
    const isAsked = question.waitFor().then(() => true);
    const isAway = this.page.waitForURL((url) => url.origin !== this.#url).then(() => false);
    if (await Promise.race([isAsked, isAway])) await question.click();
  }

  /** @returns where the application's callback was called with, once the browser is there */
  async arrivalAt(redirectUri: string): Promise<URLSearchParams> {
    await this.page.waitForURL((url) => url.href.startsWith(redirectUri));
    return new URL(this.page.url()).searchParams;
  }
}
