// Which sessions sign a user in: the rules of their lifetimes, and of the state of their user.
import type { AdministrableStorage, PrincipalState } from '@grantd/core';
import type { SessionLifetimes, Sessions, StoredSession } from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';

/** The sessions that sign a user in, last used first: what browsers, operators and users see. */
export async function validSessions(
  {
    sessions,
    storage,
  }: {
    readonly sessions: Pick<Sessions, 'ofSubject'>;
    readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  },
  subject: string,
  nowMs: number,
): Promise<readonly StoredSession[]> {
  const [stored, state] = await Promise.all([
    sessions.ofSubject(subject, nowMs),
    askStorage(() => storage.getPrincipalState('subject', subject)),
  ]);
  return stored.filter(({ signedInAtMs }) => !isVoid(state, signedInAtMs));
}

/** Whether a user was disabled, or all their tokens were revoked, after a sign-in. */
export function isVoid(state: PrincipalState | null | undefined, signedInAtMs: number): boolean {
  if (state?.disabledAtMs !== undefined) return true;
  return state?.raisedAtMs !== undefined && state.raisedAtMs >= signedInAtMs;
}

/** Minimum time between two updates of the last use. */
const TOUCH_INTERVAL_MS = 60_000;

interface Needs {
  readonly sessions: Pick<Sessions, 'ofSubject' | 'isOpen' | 'touch'>;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly lifetimes: SessionLifetimes;
  readonly clock: () => number;
}

/** A session, as far as its validity depends on it. */
interface Known {
  readonly id: string;
  readonly person: { readonly subject: string };
  readonly signedInAtMs: number;
}

/** The rules of a server with its lifetimes. Each use checks both the session and the state of its user. */
export class SessionValidity {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** When a session ends unless it is used. Milliseconds. */
  expiryOf({ signedInAtMs, lastSeenAtMs }: Pick<StoredSession, 'signedInAtMs' | 'lastSeenAtMs'>): number {
    const { idle, absolute } = this.#needs.lifetimes;
    return Math.min(signedInAtMs + absolute * 1000, lastSeenAtMs + idle * 1000);
  }

  isExpired(session: StoredSession): boolean {
    return this.expiryOf(session) <= this.#needs.clock();
  }

  async isValid(session: StoredSession): Promise<boolean> {
    return !this.isExpired(session) && !(await this.isVoid(session.subject, session.signedInAtMs));
  }

  /** Whether the user was disabled, or all their tokens were revoked, after a sign-in. */
  async isVoid(subject: string, signedInAtMs: number): Promise<boolean> {
    return isVoid(await this.#needs.storage.getPrincipalState('subject', subject), signedInAtMs);
  }

  /** Whether a session that was valid a moment ago has ended. */
  async isOver({ id, person: { subject }, signedInAtMs }: Known): Promise<boolean> {
    if (!(await this.#needs.sessions.isOpen(id))) return true;
    return this.isVoid(subject, signedInAtMs);
  }

  /** Whether a session can begin with a sign-in of this time. */
  async canBeginWith(subject: string, signedInAtMs: number): Promise<boolean> {
    const { lifetimes, clock } = this.#needs;
    if (signedInAtMs + lifetimes.absolute * 1000 <= clock()) return false;
    return !(await this.isVoid(subject, signedInAtMs));
  }

  /** All valid sessions of a user, last used first. */
  async ofSubject(subject: string): Promise<readonly StoredSession[]> {
    const valid = await validSessions(this.#needs, subject, this.#needs.clock());
    // Another process may have extended one by its own, longer lifetimes.
    return valid.filter((session) => !this.isExpired(session));
  }

  /** Records the use of a session, from time to time. */
  async touch(session: StoredSession): Promise<void> {
    const { sessions, lifetimes, clock } = this.#needs;
    const lastSeenAtMs = clock();
    // A short idle lifetime needs more precision.
    const interval = Math.min(TOUCH_INTERVAL_MS, (lifetimes.idle * 1000) / 10);
    if (lastSeenAtMs - session.lastSeenAtMs < interval) return;
    await sessions.touch(session.id, lastSeenAtMs, this.expiryOf({ ...session, lastSeenAtMs }));
  }
}
