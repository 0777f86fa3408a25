import { randomBytes } from 'node:crypto';
import type { AdministrableStorage, ServerSecret } from '@grantd/core';
import type { Context } from 'hono';
import { isBlock } from '../config/kinds.ts';
import type { People, Person } from '../people/people.ts';
import type { Cookies } from './cookies.ts';
import { SignedValues } from './signed_values.ts';

const COOKIE = 'grantd_session';

/** How long a browser is remembered as one that a person has signed in with; longer than the session itself. */
const COOKIE_SECONDS = 90 * 24 * 60 * 60;

/** A browser in which a person is signed in. */
export interface BrowserSession {
  /** Goes into tokens. */
  readonly id: string;
  readonly person: Person;
  readonly signedInAtMs: number;
}

interface Content {
  readonly id: string;
  readonly subject: string;
  readonly signedInAtMs: number;
}

/** Sessions live in a signed cookie; whether one still counts is asked of storage each time. */
export class BrowserSessions {
  readonly #cookies: Cookies;
  readonly #values: SignedValues;
  readonly #people: People;
  readonly #storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly #lifetimeMs: number;

  constructor(parts: {
    cookies: Cookies;
    secret: ServerSecret;
    people: People;
    storage: Pick<AdministrableStorage, 'getPrincipalState'>;
    lifetimeSeconds: number;
  }) {
    this.#cookies = parts.cookies;
    this.#values = new SignedValues(parts.secret, 'browser_session');
    this.#people = parts.people;
    this.#storage = parts.storage;
    this.#lifetimeMs = parts.lifetimeSeconds * 1000;
  }

  /** A new session, with a new identifier, whatever the browser had before. */
  async begin(c: Context, person: Person): Promise<void> {
    const content: Content = {
      id: randomBytes(16).toString('base64url'),
      subject: person.subject,
      signedInAtMs: Date.now(),
    };
    this.#cookies.set(c, COOKIE, await this.#values.seal(content), COOKIE_SECONDS);
  }

  /** @returns `undefined` where nobody is signed in, or no longer: what ends a person's tokens ends their sessions. */
  async current(c: Context): Promise<BrowserSession | undefined> {
    const content = await this.#read(c);
    if (content === undefined || content.signedInAtMs + this.#lifetimeMs <= Date.now()) return undefined;
    const { id, subject, signedInAtMs } = content;
    const person = await this.#people.bySubject(subject);
    const state = await this.#storage.getPrincipalState('subject', subject);
    if (person === undefined || state?.disabledAtMs !== undefined) return undefined;
    if (state?.raisedAtMs !== undefined && state.raisedAtMs >= signedInAtMs) return undefined;
    return { id, person, signedInAtMs };
  }

  /** Whether this person has signed in with this browser before, even if that is over. */
  async hasSeen(c: Context, person: Person): Promise<boolean> {
    return (await this.#read(c))?.subject === person.subject;
  }

  async #read(c: Context): Promise<Content | undefined> {
    const cookie = this.#cookies.get(c, COOKIE);
    return cookie === undefined ? undefined : contentOf(await this.#values.open(cookie));
  }
}

/** @returns `undefined` where it is no session, as a cookie that another version of the program sealed */
function contentOf(value: unknown): Content | undefined {
  if (!isBlock(value)) return undefined;
  const { id, subject, signedInAtMs } = value;
  const isSession = typeof id === 'string' && typeof subject === 'string' && typeof signedInAtMs === 'number';
  return isSession ? { id, subject, signedInAtMs } : undefined;
}
