import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { installedChromium } from './chromium_installation.ts';

/** Maximum milliseconds for any action of a page. */
const LONGEST_MS = 10_000;

/** A real browser. A test file needs only one, with a separate profile per test. */
export class Chromium {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** It ends with this process, even if that is killed, because a pipe connects them. */
  static async start(): Promise<Chromium> {
    const { executable, environment } = await installedChromium();
    return new Chromium(
      await chromium.launch({ executablePath: executable, env: environment, timeout: 30_000 }),
    );
  }

  /** A new profile, which shares nothing with others. */
  async person(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const person = await this.#browser.newContext({ locale: 'en-GB', ...options });
    person.setDefaultTimeout(LONGEST_MS);
    return person;
  }

  /** A page in a new profile. */
  async page(options?: BrowserContextOptions): Promise<Page> {
    return (await this.person(options)).newPage();
  }

  /** Ends it with all its pages. */
  async close(): Promise<void> {
    await this.#browser.close();
  }
}
