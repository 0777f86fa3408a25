import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';
import { installedChromium } from './chromium_installation.ts';

/** How long a page may take for anything before a test fails, in milliseconds. */
const LONGEST_MS = 10_000;

/** A real browser: one is enough for a test file, with a person of its own for each test. */
export class Chromium {
  readonly #browser: Browser;
  readonly #home: string;

  private constructor(browser: Browser, home: string) {
    this.#browser = browser;
    this.#home = home;
  }

  static async start(): Promise<Chromium> {
    const { executable, environment } = await installedChromium();
    const home = mkdtempSync(join(tmpdir(), 'grantd-chromium-'));
    try {
      const browser = await chromium.launch({
        executablePath: executable,
        env: { ...environment, HOME: home, TMPDIR: home },
        artifactsDir: home,
        timeout: 30_000,
      });
      return new Chromium(browser, home);
    } catch (error) {
      rmSync(home, { recursive: true, force: true });
      throw error;
    }
  }

  /** A browser of somebody else: nothing that is kept is shared with other people. */
  async person(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const person = await this.#browser.newContext({ locale: 'en-GB', ...options });
    person.setDefaultTimeout(LONGEST_MS);
    return person;
  }

  /** Ends it, with every page. */
  async close(): Promise<void> {
    await this.#browser.close();
    rmSync(this.#home, { recursive: true, force: true });
  }
}
