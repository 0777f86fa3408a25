import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'hono';
import { METHODS } from '../../access/acr.ts';
import type { People, Person } from '../../data/people.ts';
import type { SessionLifetimes, Sessions, StoredSession } from '../../data/sessions.ts';
import { newIdentifier } from '../../data/tables.ts';
import type { SessionValidity } from '../../people/session_validity.ts';
import type { SessionEnd, SessionEnding } from '../../people/sessions.ts';
import type { Cookies } from './cookies.ts';
import { userAgentOf, type Visitors } from './request.ts';

export const SESSION_COOKIE = 'grantd_session';
const SECRET_BYTES = 32;

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

interface Needs {
  readonly cookies: Cookies;
  readonly sessions: Sessions;
  readonly validity: SessionValidity;
  readonly ending: SessionEnding;
  readonly people: Pick<People, 'bySubject'>;
  readonly lifetimes: Pick<SessionLifetimes, 'absolute'>;
  readonly visitors: Pick<Visitors, 'networkOf'>;
  readonly clock: () => number;
}

/**
 * Browser sessions. The browser stores a secret of 256 random bits, the database its digest and everything else. Each
 * use checks both the session and the state of its user.
 */
export class BrowserSessions {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
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
    const { cookies, sessions, validity, ending, lifetimes, visitors, clock } = this.#needs;
    const nowMs = clock();
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const signIn = {
      ...{ amr: how.amr, userAgent: userAgentOf(c), network: visitors.networkOf(c), lastSeenAtMs: nowMs },
      signedInAtMs: how.signedInAtMs ?? how.provedAtMs ?? nowMs,
    };
    const fresh: StoredSession = { id: newIdentifier(), subject: person.subject, ...signIn };

    const prior = await this.#stored(c);
    const continues =
      prior !== undefined &&
      prior.subject === person.subject &&
      (await validity.isValid(prior)) &&
      (await sessions.renew(
        prior.id,
        { from: digestOf(cookies.get(c, SESSION_COOKIE) ?? ''), to: digestOf(secret) },
        signIn,
        validity.expiryOf(fresh),
        person,
      ));
    // A further step belongs to a session, and does not outlive it.
    if (!continues && how.signedInAtMs !== undefined) return undefined;
    if (!continues) {
      const expiresAtMs = validity.expiryOf(fresh);
      if (!(await sessions.add(fresh, digestOf(secret), expiresAtMs, person))) return undefined;
    }
    const isOwnOver = prior?.subject === person.subject && validity.isExpired(prior); // its tokens expire on their own
    const ended = continues || prior === undefined || isOwnOver ? [] : await ending.end(prior);
    const { id } = continues ? prior : fresh;
    const session = { id, person, signedInAtMs: signIn.signedInAtMs, amr: signIn.amr };
    // Disabling the user at the same time either ends this session or is detected here.
    if (await validity.isVoid(person.subject, signIn.signedInAtMs)) {
      await ending.end({ id, subject: person.subject });
      return undefined;
    }
    await how.begun?.(id);
    cookies.set(c, SESSION_COOKIE, secret, lifetimes.absolute);
    c.set('user', person.subject);
    return { session, ended };
  }

  /**
   * @returns `undefined` if no user is signed in or the session is no longer valid. Revoking all tokens of a user also
   * ends their sessions.
   */
  async current(c: Context): Promise<BrowserSession | undefined> {
    const { people, validity } = this.#needs;
    const stored = await this.#stored(c);
    if (stored === undefined || !(await validity.isValid(stored))) return undefined;
    const person = await people.bySubject(stored.subject);
    if (person === undefined) return undefined;
    await validity.touch(stored);
    c.set('user', person.subject);
    return { id: stored.id, person, signedInAtMs: stored.signedInAtMs, amr: stored.amr };
  }

  /** Ends this browser’s session and revokes its tokens. */
  async end(c: Context, { id, person: { subject } }: BrowserSession): Promise<readonly SessionEnd[]> {
    const ends = await this.#needs.ending.end({ id, subject });
    this.#needs.cookies.remove(c, SESSION_COOKIE);
    return ends;
  }

  async #stored(c: Context): Promise<StoredSession | undefined> {
    const secret = this.#needs.cookies.get(c, SESSION_COOKIE);
    return secret === undefined ? undefined : this.#needs.sessions.bySecret(digestOf(secret));
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
