import { randomBytes } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import type { Context } from 'hono';
import type { ProgramSecret } from '../instance/program_secret.ts';
import type { Cookies } from './cookies.ts';
import { SealedValues } from './sealed_values.ts';

const COOKIE = 'grantd_known';

/** How long a browser is remembered as one that a person has signed in with; longer than any session. */
const COOKIE_SECONDS = 90 * 24 * 60 * 60;

/** Of those who share a browser the last ones are remembered: a cookie has 4096 bytes. */
const MOST_PEOPLE = 16;

interface Content {
  readonly browser: string;
  readonly subjects: readonly string[];
}

/** Which people have signed in with a browser before: its wrong passwords are counted apart from a stranger's. */
export class KnownBrowsers {
  readonly #cookies: Cookies;
  readonly #values: SealedValues;

  constructor(cookies: Cookies, secret: ProgramSecret) {
    this.#cookies = cookies;
    this.#values = new SealedValues(secret, 'known_browser');
  }

  /** @returns what names the browser, where this person has signed in with it */
  async nameOf(c: Context, subject: string): Promise<string | undefined> {
    const content = await this.#read(c);
    return content?.subjects.includes(subject) ? content.browser : undefined;
  }

  async remember(c: Context, subject: string): Promise<void> {
    const { browser, subjects } = (await this.#read(c)) ?? {
      browser: randomBytes(16).toString('base64url'),
      subjects: [],
    };
    const content: Content = {
      browser,
      subjects: [subject, ...subjects.filter((one) => one !== subject)].slice(0, MOST_PEOPLE),
    };
    this.#cookies.set(c, COOKIE, await this.#values.seal(content), COOKIE_SECONDS);
  }

  async #read(c: Context): Promise<Content | undefined> {
    const cookie = this.#cookies.get(c, COOKIE);
    const value = cookie === undefined ? undefined : await this.#values.open(cookie);
    if (!isJsonObject(value)) return undefined;
    const { browser, subjects } = value;
    if (typeof browser !== 'string' || !Array.isArray(subjects)) return undefined;
    return { browser, subjects: subjects.filter((one) => typeof one === 'string') };
  }
}
