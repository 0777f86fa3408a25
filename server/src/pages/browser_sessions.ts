import { createHash, randomBytes } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import type { Context } from 'hono';
import type { People, Person } from '../data/people.ts';
import type { SessionLifetimes, Sessions, StoredSession } from '../data/sessions.ts';
import { newIdentifier } from '../data/tables.ts';
import { METHODS } from '../people/acr.ts';
import { isVoid, type SessionEnd, type SessionEnding, validSessions } from '../people/sessions.ts';
import type { Cookies } from './browser_state.ts';

export const SESSION_COOKIE = 'grantd_session';
const SECRET_BYTES = 32;

/** Long enough to tell browsers apart. */
const MAX_USER_AGENT = 300;

/** Minimum time between two updates of the last use. */
const TOUCH_INTERVAL_MS = 60_000;

/** A session of a signed-in user in a browser. */
export interface BrowserSession {
  /** The basis of `sid` in ID tokens. */
  readonly id: string;
  readonly person: Person;
  readonly signedInAtMs: number;
  readonly amr: readonly string[];
}

/** How a user has signed in. */
export interface HowSignedIn {
  /** RFC 8176. */
  readonly amr: readonly string[];
  /** Default: now. A further step keeps the time of the earlier one. */
  readonly signedInAtMs?: number;
  /** When the user proved at a provider who they are. Default: now. */
  readonly provedAtMs?: number | undefined;
  /** Called with the session before the browser gets it. */
  readonly begun?: (sessionId: string) => Promise<void>;
}

export interface BegunSession {
  readonly session: BrowserSession;
  /** The sessions that it has replaced. */
  readonly ended: readonly SessionEnd[];
}

/** Identifies one sign-in of a session. */
export function signInName({ id, signedInAtMs }: BrowserSession): string {
  return `${id} ${signedInAtMs}`;
}

interface Parts {
  readonly cookies: Cookies;
  readonly sessions: Sessions;
  readonly ending: SessionEnding;
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly lifetimes: SessionLifetimes;
  /** The network that a request comes from; `undefined` if that is unknown. */
  readonly networkOf: (c: Context) => string | undefined;
  readonly clock: () => number;
}

/**
 * Browser sessions. The browser stores a secret of 256 random bits, the database its digest and everything else. Each
 * use checks both the session and the state of its user.
 */
export class BrowserSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Signs a user in with a new secret. A user who signs in again continues the same session, so that signing out still
   * reaches everything opened before. A different user ends the previous user’s session.
   * @param person the user at the time of the check
   * @returns `undefined` if the password has changed since, the user is disabled, or the session of a further step has
   * ended
   */
  async begin(
    c: Context,
    person: Person,
    how: HowSignedIn = { amr: METHODS.password },
  ): Promise<BegunSession | undefined> {
    const { cookies, sessions, ending, lifetimes, networkOf, clock } = this.#parts;
    const nowMs = clock();
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const signIn = {
      amr: how.amr,
      userAgent: userAgentOf(c),
      network: networkOf(c),
      signedInAtMs: how.signedInAtMs ?? how.provedAtMs ?? nowMs,
      lastSeenAtMs: nowMs,
    };
    const fresh: StoredSession = {
      id: newIdentifier(),
      subject: person.subject,
      ...signIn,
    };

    const prior = await this.#stored(c);
    const continues =
      prior !== undefined &&
      prior.subject === person.subject &&
      (await this.#isValid(prior)) &&
      (await sessions.renew(
        prior.id,
        { from: digestOf(cookies.get(c, SESSION_COOKIE) ?? ''), to: digestOf(secret) },
        signIn,
        this.#expiryOf(fresh),
        person,
      ));
    // A further step belongs to a session, and does not outlive it.
    if (!continues && how.signedInAtMs !== undefined) return undefined;
    if (!continues) {
      const expiresAtMs = this.#expiryOf(fresh);
      if (!(await sessions.add(fresh, digestOf(secret), expiresAtMs, person))) return undefined;
    }
    const isOwnOver = prior?.subject === person.subject && this.#isExpired(prior); // its tokens expire on their own
    const ended = continues || prior === undefined || isOwnOver ? [] : await ending.end(prior);
    const { id } = continues ? prior : fresh;
    const session = { id, person, signedInAtMs: signIn.signedInAtMs, amr: signIn.amr };
    // Disabling the user at the same time either ends this session or is detected here.
    if (await this.#isVoid(person.subject, signIn.signedInAtMs)) {
      await ending.end({ id, subject: person.subject });
      return undefined;
    }
    await how.begun?.(id);
    cookies.set(c, SESSION_COOKIE, secret, lifetimes.absolute);
    return { session, ended };
  }

  /**
   * @returns `undefined` if no user is signed in or the session is no longer valid. Revoking all tokens of a user also
   * ends their sessions.
   */
  async current(c: Context): Promise<BrowserSession | undefined> {
    const stored = await this.#stored(c);
    if (stored === undefined || !(await this.#isValid(stored))) return undefined;
    const person = await this.#parts.people.bySubject(stored.subject);
    if (person === undefined) return undefined;
    await this.#touch(stored);
    const { id, signedInAtMs, amr } = stored;
    return { id, person, signedInAtMs, amr };
  }

  /** Whether a session can begin with a sign-in of this time. */
  async canBeginWith(subject: string, signedInAtMs: number): Promise<boolean> {
    const { lifetimes, clock } = this.#parts;
    if (signedInAtMs + lifetimes.absolute * 1000 <= clock()) return false;
    return !(await this.#isVoid(subject, signedInAtMs));
  }

  /** Whether a session that was valid a moment ago has ended. */
  async isOver({ id, person: { subject }, signedInAtMs }: BrowserSession): Promise<boolean> {
    if (!(await this.#parts.sessions.isOpen(id))) return true;
    return this.#isVoid(subject, signedInAtMs);
  }

  /** All valid sessions of a user, last used first. */
  async ofPerson({ subject }: Person): Promise<readonly StoredSession[]> {
    const valid = await validSessions(this.#parts, subject, this.#parts.clock());
    // Another process may have extended one by its own, longer lifetimes.
    return valid.filter((session) => !this.#isExpired(session));
  }

  /** Ends this browser’s session and revokes its tokens. */
  async end(c: Context, { id, person: { subject } }: BrowserSession): Promise<readonly SessionEnd[]> {
    const ends = await this.#parts.ending.end({ id, subject });
    this.#parts.cookies.remove(c, SESSION_COOKIE);
    return ends;
  }

  async #stored(c: Context): Promise<StoredSession | undefined> {
    const secret = this.#parts.cookies.get(c, SESSION_COOKIE);
    return secret === undefined ? undefined : this.#parts.sessions.bySecret(digestOf(secret));
  }

  async #isValid(session: StoredSession): Promise<boolean> {
    return !this.#isExpired(session) && !(await this.#isVoid(session.subject, session.signedInAtMs));
  }

  async #isVoid(subject: string, signedInAtMs: number): Promise<boolean> {
    return isVoid(await this.#parts.storage.getPrincipalState('subject', subject), signedInAtMs);
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
    // A short idle lifetime needs more precision.
    const interval = Math.min(TOUCH_INTERVAL_MS, (lifetimes.idle * 1000) / 10);
    if (lastSeenAtMs - session.lastSeenAtMs < interval) return;
    await sessions.touch(session.id, lastSeenAtMs, this.#expiryOf({ ...session, lastSeenAtMs }));
  }
}

/** The `User-Agent` header, shortened. */
export function userAgentOf(c: Context): string {
  return (c.req.header('user-agent') ?? '').slice(0, MAX_USER_AGENT);
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
