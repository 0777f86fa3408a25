import type { BrowserContext, Page } from 'playwright-core';
import { ALICE, type Credentials } from '../harness/browser.ts';
import { deviceCodes } from '../harness/devices.ts';
import { authorizationUrl, newPkce } from '../harness/protocol.ts';

type Parameters = Readonly<Record<string, string>>;

/** The actions of a user at a server. Elements are found by their documented ids. */
export class Visit {
  readonly page: Page;
  readonly #url: string;
  readonly #from: Parameters;

  /** @param from parameters of the application that the user comes from; default: `demo-web` */
  constructor(page: Page, url: string, from: Parameters = {}) {
    this.page = page;
    this.#url = url;
    this.#from = from;
  }

  get person(): BrowserContext {
    return this.page.context();
  }

  /** The session cookie; `undefined` if there is none. */
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

  /** Starts a request of a device, and enters its code. */
  async enterDeviceCode(): Promise<void> {
    const codes = await deviceCodes({ url: this.#url }, { client_id: 'demo-cli', scope: 'openid profile' });
    await this.page.goto(codes.verification_uri_complete);
    await this.page.click('#device-submit');
    await this.page.waitForSelector('#device-warning');
  }

  /** Works also if the page suggests a user who is already signed in. */
  async signIn({ username, password }: Credentials = ALICE): Promise<void> {
    const name = this.page.locator('#username');
    if (!(await name.isEditable()) && (await name.inputValue()) !== username)
      await this.page.click('#change-person');
    if (await name.isEditable()) await name.fill(username);
    await this.page.fill('#password', password);
    await this.page.click('#login-submit');
  }

  /** Asks for a code by email with the name in the field, and types one. */
  async askForCode(code: string): Promise<void> {
    await this.page.click('#code-send');
    await this.page.fill('#code', code);
    await this.page.click('#code-submit');
  }

  /** Continues to the consent page, which appears even after an earlier consent. */
  async authorizeAndSignIn(parameters: Parameters = {}, who = ALICE): Promise<void> {
    await this.authorize({ prompt: 'consent', ...parameters });
    await this.signIn(who);
    await this.page.waitForSelector('#consent-allow');
  }

  /** Confirms the sign-out if the page asks. With a matching `id_token_hint` it does not. */
  async confirmLogout(): Promise<void> {
    const question = this.page.locator('#logout-yes');
    const isAsked = question.waitFor().then(() => true);
    const isAway = this.page.waitForURL((url) => url.origin !== this.#url).then(() => false);
    if (await Promise.race([isAsked, isAway])) await question.click();
  }

  /** @returns the URL at the application's callback, when the browser is there */
  async arrivalAt(redirectUri: string): Promise<URLSearchParams> {
    await this.page.waitForURL((url) => url.href.startsWith(redirectUri));
    return new URL(this.page.url()).searchParams;
  }
}
