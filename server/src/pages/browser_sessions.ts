import { createHash, randomBytes } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import type { Context } from 'hono';
import type { People, Person } from '../data/people.ts';
import type { Sessions, StoredSession } from '../data/sessions.ts';
import { newIdentifier } from '../data/tables.ts';
import type { SessionEnd, SessionEnding } from '../people/sessions.ts';
import type { Cookies } from './browser_state.ts';

const COOKIE = 'grantd_session';
const SECRET_BYTES = 32;

/** Enough to tell browsers apart. */
const LONGEST_USER_AGENT = 300;

/** Use is written down no more often. */
const TOUCH_INTERVAL_MS = 60_000;

/** RFC 8176 §2. */
const BY_PASSWORD = ['pwd'];

/** A browser in which a person is signed in. */
export interface BrowserSession {
  /** From it comes `sid` in ID tokens. */
  readonly id: string;
  readonly person: Person;
  readonly signedInAtMs: number;
  readonly amr: readonly string[];
}

export interface BegunSession {
  readonly session: BrowserSession;
  /** Those that it has taken the place of. */
  readonly ended: readonly SessionEnd[];
}

/** Tells one sign-in of a session from the others. */
export function signInName({ id, signedInAtMs }: BrowserSession): string {
  return `${id} ${signedInAtMs}`;
}

interface SessionLifetimes {
  /** Seconds since it was used last. */
  readonly idle: number;
  /** Seconds since the person signed in. */
  readonly absolute: number;
}

interface Parts {
  readonly cookies: Cookies;
  readonly sessions: Sessions;
  readonly ending: SessionEnding;
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly lifetimes: SessionLifetimes;
  readonly clock: () => number;
}

/**
 * The browser keeps a secret of 256 random bits, the database its digest with everything else. Whether a session still
 * counts is asked each time: of its own row, and of what was done to its person.
 */
export class BrowserSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Signs a person in. The secret is a new one each time. Whoever signs in again goes on with the same session, so that
   * signing out still reaches what was opened before; whoever takes another's place ends the other's session.
   * @param person as they were when their password was checked
   * @returns `undefined` where they have another password since, or are disabled: they are not signed in
   */
  async begin(c: Context, person: Person): Promise<BegunSession | undefined> {
    const { cookies, sessions, ending, lifetimes, clock } = this.#parts;
    const nowMs = clock();
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const signIn = {
      amr: BY_PASSWORD,
      userAgent: (c.req.header('user-agent') ?? '').slice(0, LONGEST_USER_AGENT),
      signedInAtMs: nowMs,
    };
    const fresh: StoredSession = {
      id: newIdentifier(),
      subject: person.subject,
      lastSeenAtMs: nowMs,
      ...signIn,
    };

    const prior = await this.#stored(c);
    const goesOn =
      prior !== undefined &&
      prior.subject === person.subject &&
      (await this.#counts(prior)) &&
      (await sessions.renew(
        prior.id,
        { from: digestOf(cookies.get(c, COOKIE) ?? ''), to: digestOf(secret) },
        signIn,
        this.#expiryOf(fresh),
        person,
      ));
    if (!goesOn) {
      const expiresAtMs = this.#expiryOf(fresh);
      if (!(await sessions.add(fresh, digestOf(secret), expiresAtMs, person))) return undefined;
    }
    const isOwnOver = prior?.subject === person.subject && this.#isExpired(prior); // its tokens have their own time
    const ended = goesOn || prior === undefined || isOwnOver ? [] : await ending.end(prior);
    const { id } = goesOn ? prior : fresh;
    const session = { id, person, signedInAtMs: nowMs, amr: signIn.amr };
    // Whoever disables a person at the same time ends this session, or is seen here.
    if (await this.#isVoid(person.subject, nowMs)) {
      await ending.end({ id, subject: person.subject });
      return undefined;
    }
    cookies.set(c, COOKIE, secret, lifetimes.absolute);
    return { session, ended };
  }

  /** @returns `undefined` where nobody is signed in, or no longer: what ends a person's tokens ends their sessions. */
  async current(c: Context): Promise<BrowserSession | undefined> {
    const stored = await this.#stored(c);
    if (stored === undefined || !(await this.#counts(stored))) return undefined;
    const person = await this.#parts.people.bySubject(stored.subject);
    if (person === undefined) return undefined;
    await this.#touch(stored);
    const { id, signedInAtMs, amr } = stored;
    return { id, person, signedInAtMs, amr };
  }

  /** Whether a session that counted a moment ago has ended since, or its person's tokens have. */
  async isOver({ id, person: { subject }, signedInAtMs }: BrowserSession): Promise<boolean> {
    if (!(await this.#parts.sessions.isOpen(id))) return true;
    return this.#isVoid(subject, signedInAtMs);
  }

  /** All sessions of a person that count, the last used first. */
  async ofPerson({ subject }: Person): Promise<readonly StoredSession[]> {
    const stored = await this.#parts.sessions.ofSubject(subject);
    const counting = await Promise.all(stored.map((session) => this.#counts(session)));
    return stored.filter((_, index) => counting[index]);
  }

  /** Ends the session of this browser, with what rests upon it. */
  async end(c: Context, { id, person: { subject } }: BrowserSession): Promise<readonly SessionEnd[]> {
    const ends = await this.#parts.ending.end({ id, subject });
    this.#parts.cookies.remove(c, COOKIE);
    return ends;
  }

  async #stored(c: Context): Promise<StoredSession | undefined> {
    const secret = this.#parts.cookies.get(c, COOKIE);
    return secret === undefined ? undefined : this.#parts.sessions.bySecret(digestOf(secret));
  }

  async #counts(session: StoredSession): Promise<boolean> {
    return !this.#isExpired(session) && !(await this.#isVoid(session.subject, session.signedInAtMs));
  }

  async #isVoid(subject: string, signedInAtMs: number): Promise<boolean> {
    const state = await this.#parts.storage.getPrincipalState('subject', subject);
    if (state?.disabledAtMs !== undefined) return true;
    return state?.raisedAtMs !== undefined && state.raisedAtMs >= signedInAtMs;
  }

  #isExpired(session: StoredSession): boolean {
    return this.#expiryOf(session) <= this.#parts.clock();
  }

  /** Milliseconds. */
  #expiryOf({ signedInAtMs, lastSeenAtMs }: StoredSession): number {
    const { idle, absolute } = this.#parts.lifetimes;
    return Math.min(signedInAtMs + absolute * 1000, lastSeenAtMs + idle * 1000);
  }

  async #touch(session: StoredSession): Promise<void> {
    const { sessions, lifetimes, clock } = this.#parts;
    const lastSeenAtMs = clock();
    // An idle lifetime of seconds wants more precision than one of hours.
    const interval = Math.min(TOUCH_INTERVAL_MS, (lifetimes.idle * 1000) / 10);
    if (lastSeenAtMs - session.lastSeenAtMs < interval) return;
    await sessions.touch(session.id, lastSeenAtMs, this.#expiryOf({ ...session, lastSeenAtMs }));
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
