import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { installedChromium } from './chromium_installation.ts';

/** How long a page may take for anything before a test fails, in milliseconds. */
const LONGEST_MS = 10_000;

/** A real browser: one is enough for a test file, with a person of its own for each test. */
export class Chromium {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /** It ends with this process, also where that is killed: they are tied by a pipe. */
  static async start(): Promise<Chromium> {
    const { executable, environment } = await installedChromium();
    return new Chromium(
      await chromium.launch({ executablePath: executable, env: environment, timeout: 30_000 }),
    );
  }

  /** A browser of somebody else: nothing that is kept is shared with other people. */
  async person(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const person = await this.#browser.newContext({ locale: 'en-GB', ...options });
    person.setDefaultTimeout(LONGEST_MS);
    return person;
  }

  /** A page in a browser of somebody else. */
  async page(options?: BrowserContextOptions): Promise<Page> {
    return (await this.person(options)).newPage();
  }

  /** Ends it, with every page. */
  async close(): Promise<void> {
    await this.#browser.close();
  }
}
