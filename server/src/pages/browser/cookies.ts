import { createHash, hash, randomBytes } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Person } from '../../data/people.ts';
import { type ProgramSecret, type ProgramSecretUse, seal, unseal } from '../../data/secrets.ts';
import type { ChosenLanguage, Language } from '../../texts/texts.ts';

/** Values that the browser stores but can neither read nor change: sealed JSON, with a separate key per use. */
export class SealedValues {
  readonly #secret: ProgramSecret;
  readonly #use: ProgramSecretUse;

  constructor(secret: ProgramSecret, use: ProgramSecretUse) {
    this.#secret = secret;
    this.#use = use;
  }

  async seal(value: unknown): Promise<string> {
    return seal(await this.#secret.key(this.#use), JSON.stringify(value));
  }

  /** @returns `undefined` if the value was not sealed here */
  async open(sealed: string): Promise<unknown> {
    for (const key of await this.#secret.keys(this.#use)) {
      const text = unseal(key, sealed);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }
}

/**
 * Cookies that scripts cannot read and other sites’ forms cannot send. With an https issuer, the `__Host-` prefix binds
 * them to the host (RFC 6265bis §4.1.3.2). The prefix needs the path `/`, so the names tell the issuers of a host apart.
 */
export class Cookies {
  readonly #isSecure: boolean;
  /** Empty for an issuer without a path. */
  readonly #ofIssuer: string;

  constructor(issuer: string) {
    const path = new URL(issuer).pathname.replace(/\/$/, '');
    this.#isSecure = issuer.startsWith('https:');
    this.#ofIssuer = path === '' ? '' : `${hash('sha256', path, 'base64url').slice(0, 8)}_`;
  }

  get(c: Context, name: string): string | undefined {
    const full = `${this.#ofIssuer}${name}`;
    return this.#isSecure ? getCookie(c, full, 'host') : getCookie(c, full);
  }

  /** The names of cookies that begin like this. */
  named(c: Context, beginning: string): readonly string[] {
    const prefix = `${this.#isSecure ? '__Host-' : ''}${this.#ofIssuer}`;
    return Object.keys(getCookie(c))
      .filter((name) => name.startsWith(`${prefix}${beginning}`))
      .map((name) => name.slice(prefix.length));
  }

  /** @param maxAge seconds */
  set(c: Context, name: string, value: string, maxAge: number): void {
    setCookie(c, `${this.#ofIssuer}${name}`, value, {
      httpOnly: true,
      sameSite: 'Lax',
      maxAge,
      ...this.#scope,
    });
  }

  remove(c: Context, name: string): void {
    deleteCookie(c, `${this.#ofIssuer}${name}`, this.#scope);
  }

  /** The value that a response gives to a cookie: empty if it removes it, `undefined` if it does not change it. */
  setBy(headers: Headers, name: string): string | undefined {
    const beginning = `${this.#isSecure ? '__Host-' : ''}${this.#ofIssuer}${name}=`;
    const line = headers.getSetCookie().findLast((one) => one.startsWith(beginning));
    return line?.slice(beginning.length).split(';', 1)[0];
  }

  get #scope() {
    return { path: '/', ...(this.#isSecure && { secure: true, prefix: 'host' as const }) };
  }
}

const LINK_COOKIE = 'grantd_link';

/** The token of the link that this browser has opened, on its way from the email to the page that uses it. */
export class OpenedLink {
  readonly #cookies: Cookies;

  constructor(cookies: Cookies) {
    this.#cookies = cookies;
  }

  get(c: Context): string | undefined {
    return this.#cookies.get(c, LINK_COOKIE);
  }

  /** @param seconds until the link expires */
  set(c: Context, token: string, seconds: number): void {
    this.#cookies.set(c, LINK_COOKIE, token, seconds);
  }

  forget(c: Context): void {
    this.#cookies.remove(c, LINK_COOKIE);
  }
}

const SECOND_COOKIE = 'grantd_second';
const SECOND_COOKIE_SECONDS = 10 * 60;

/** A user who has entered the right password, or code by email, and owes a second factor. */
export interface HalfSignIn {
  readonly subject: string;
  /** Digest of the stored password hash. A changed password ends the sign-in. */
  readonly password: string;
  /** What the user has shown. */
  readonly amr: readonly string[];
  readonly begunAtMs: number;
}

/**
 * Keeps the first half of a sign-in in the browser, sealed and tied to the request that needs it. It opens nothing: the
 * session begins after the second half.
 */
export class HalfSignIns {
  readonly #cookies: Cookies;
  readonly #values: SealedValues;
  readonly #clock: () => number;

  constructor(cookies: Cookies, secret: ProgramSecret, clock: () => number) {
    this.#cookies = cookies;
    this.#values = new SealedValues(secret, 'second_step');
    this.#clock = clock;
  }

  /** @param request the sealed request in the page’s URL */
  async set(
    c: Context,
    { subject, passwordHash }: Person,
    request: string,
    amr: readonly string[],
  ): Promise<void> {
    const value = {
      ...{ subject, password: digestOf(passwordHash), request: digestOf(request), amr },
      endsAtMs: this.#clock() + SECOND_COOKIE_SECONDS * 1000,
    };
    this.#cookies.set(c, SECOND_COOKIE, await this.#values.seal(value), SECOND_COOKIE_SECONDS);
  }

  async get(c: Context, request: string): Promise<HalfSignIn | undefined> {
    const cookie = this.#cookies.get(c, SECOND_COOKIE);
    const value = cookie === undefined ? undefined : await this.#values.open(cookie);
    if (!isJsonObject(value) || value.request !== digestOf(request)) return undefined;
    const { subject, password, amr, endsAtMs } = value;
    if (!isTextList(amr)) return undefined;
    if (typeof subject !== 'string' || typeof password !== 'string' || typeof endsAtMs !== 'number')
      return undefined;
    const begunAtMs = endsAtMs - SECOND_COOKIE_SECONDS * 1000;
    return endsAtMs > this.#clock() ? { subject, password, amr, begunAtMs } : undefined;
  }

  forget(c: Context): void {
    if (this.#cookies.get(c, SECOND_COOKIE) !== undefined) this.#cookies.remove(c, SECOND_COOKIE);
  }

  /** Whether the password is still the one that the user has entered. */
  isCurrent({ password }: HalfSignIn, { passwordHash }: Person): boolean {
    return password === digestOf(passwordHash);
  }
}

const CODE_COOKIE = 'grantd_code';

/** Longer than a code is valid, because emails take their time. */
const CODE_COOKIE_SECONDS = 30 * 60;

/** A code by email that this browser has asked for. */
export interface RequestedCode {
  readonly id: string;
  /** The username or address. */
  readonly typed: string;
  /** The identifier of this browser, if the user has signed in with it before. */
  readonly knownBrowser?: string | undefined;
}

/** Keeps in the browser which code it has asked for last, sealed. */
export class RequestedCodes {
  readonly #cookies: Cookies;
  readonly #values: SealedValues;
  readonly #clock: () => number;

  constructor(cookies: Cookies, secret: ProgramSecret, clock: () => number) {
    this.#cookies = cookies;
    this.#values = new SealedValues(secret, 'requested_code');
    this.#clock = clock;
  }

  async set(c: Context, { id, typed, knownBrowser }: RequestedCode): Promise<void> {
    const endsAtMs = this.#clock() + CODE_COOKIE_SECONDS * 1000;
    const value = { id, typed, knownBrowser, endsAtMs };
    this.#cookies.set(c, CODE_COOKIE, await this.#values.seal(value), CODE_COOKIE_SECONDS);
  }

  async get(c: Context): Promise<RequestedCode | undefined> {
    const cookie = this.#cookies.get(c, CODE_COOKIE);
    const value = cookie === undefined ? undefined : await this.#values.open(cookie);
    if (!isJsonObject(value)) return undefined;
    const { id, typed, knownBrowser, endsAtMs } = value;
    if (typeof id !== 'string' || typeof typed !== 'string' || typeof endsAtMs !== 'number') return undefined;
    if (endsAtMs <= this.#clock()) return undefined;
    return { id, typed, ...(typeof knownBrowser === 'string' && { knownBrowser }) };
  }

  forget(c: Context): void {
    this.#cookies.remove(c, CODE_COOKIE);
  }
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

const KNOWN_BROWSER_COOKIE = 'grantd_known';

/** How long a browser counts as known to a user; longer than any session. */
const KNOWN_BROWSER_COOKIE_SECONDS = 90 * 24 * 60 * 60;

/** Maximum users per browser, most recent first, because a cookie holds 4096 bytes. */
const MAX_USERS = 16;

interface Content {
  readonly browser: string;
  readonly subjects: readonly string[];
}

/**
 * Records which users have signed in with a browser. Wrong passwords from a known browser count separately from those
 * of strangers.
 */
export class KnownBrowsers {
  readonly #cookies: Cookies;
  readonly #values: SealedValues;

  constructor(cookies: Cookies, secret: ProgramSecret) {
    this.#cookies = cookies;
    this.#values = new SealedValues(secret, 'known_browser');
  }

  /** @returns the browser’s identifier if this user has signed in with it */
  async nameOf(c: Context, subject: string): Promise<string | undefined> {
    const content = await this.#read(c);
    return content?.subjects.includes(subject) ? content.browser : undefined;
  }

  /** The users who have signed in with this browser, and its identifier; `undefined` if there are none. */
  users(c: Context): Promise<Content | undefined> {
    return this.#read(c);
  }

  async recordUser(c: Context, subject: string): Promise<void> {
    const { browser, subjects } = (await this.#read(c)) ?? {
      browser: randomBytes(16).toString('base64url'),
      subjects: [],
    };
    const content: Content = {
      browser,
      subjects: [subject, ...subjects.filter((other) => other !== subject)].slice(0, MAX_USERS),
    };
    this.#cookies.set(
      c,
      KNOWN_BROWSER_COOKIE,
      await this.#values.seal(content),
      KNOWN_BROWSER_COOKIE_SECONDS,
    );
  }

  async #read(c: Context): Promise<Content | undefined> {
    const cookie = this.#cookies.get(c, KNOWN_BROWSER_COOKIE);
    const value = cookie === undefined ? undefined : await this.#values.open(cookie);
    if (!isJsonObject(value)) return undefined;
    const { browser, subjects } = value;
    if (typeof browser !== 'string' || !Array.isArray(subjects)) return undefined;
    return { browser, subjects: subjects.filter((subject) => typeof subject === 'string') };
  }
}

const LANGUAGE_COOKIE = 'grantd_language';
const LANGUAGE_SECONDS = 365 * 24 * 60 * 60;

/** The tag, and when it was chosen in milliseconds. */
const CHOICE = /^([A-Za-z0-9-]{2,30})\.(\d{1,15})$/;

/** For so long a choice is about the present request, and counts more than the wish of its application. */
const RECENT_MS = 30 * 60 * 1000;

/** The language that the user of a browser has chosen on a page. */
export class LanguageChoice {
  readonly #cookies: Cookies;
  readonly #clock: () => number;

  constructor(cookies: Cookies, clock: () => number) {
    this.#cookies = cookies;
    this.#clock = clock;
  }

  get(c: Context): ChosenLanguage {
    const [, language, atMs] = CHOICE.exec(this.#cookies.get(c, LANGUAGE_COOKIE) ?? '') ?? [];
    return { language, isRecent: this.#clock() - Number(atMs) < RECENT_MS };
  }

  set(c: Context, language: Language): void {
    this.#cookies.set(c, LANGUAGE_COOKIE, `${language}.${this.#clock()}`, LANGUAGE_SECONDS);
  }
}
