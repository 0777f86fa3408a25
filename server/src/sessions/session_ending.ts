import type { AdministrableStorage } from '@grantd/core';
import { askStorage } from '../instance/database/ask_storage.ts';
import type { EndedSession, Sessions, SessionsOfPerson, SessionsToEnd } from './sessions.ts';

/** After which whoever has begun to end a session is taken for dead. */
const LONGEST_END_MS = 30_000;

const MOST_AT_ONCE = 50;

/**
 * Ends sessions: first they count no more, then every token that rests upon them is revoked, then the clients that know
 * of them are to be told. In this order nothing that is issued at the same time outlives a session: it was issued
 * before the revocation, or sees afterwards that the session has ended. What a process leaves half-done when it dies is
 * finished by the next one.
 */
export class SessionEnding {
  readonly #sessions: Sessions;
  readonly #storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly sessions: Sessions;
    readonly storage: Pick<AdministrableStorage, 'revokeAll' | 'grantsOf'>;
    readonly clock?: () => number;
  }) {
    this.#sessions = parts.sessions;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @returns those that were ended, with the clients that are to be told; empty where they had ended before
   * @throws {StorageFault} some may not have ended; they count no more in any case
   */
  async end(of: SessionsToEnd): Promise<readonly SessionEnd[]> {
    const begun = await this.#sessions.beginEnd(of, this.#clock());
    const ends: SessionEnd[] = [];
    for (const session of begun) ends.push(await this.#finish(session));
    return 'id' in of ? ends : [...ends, ...(await this.#endOver(of))];
  }

  /** Ends what others have begun to end, and never finished. */
  async finishHalfEnded(): Promise<readonly SessionEnd[]> {
    const halfEnded = await this.#sessions.halfEnded(this.#clock() - LONGEST_END_MS, MOST_AT_ONCE);
    const ends: SessionEnd[] = [];
    for (const session of halfEnded) ends.push(await this.#finish(session));
    return ends;
  }

  /** Ends what rests upon sessions of a person that were over by time: their rows are gone, and nobody is to be told. */
  async #endOver({ subject, except }: SessionsOfPerson): Promise<readonly SessionEnd[]> {
    const grants = await askStorage(() => this.#storage.grantsOf(subject));
    const ends: SessionEnd[] = [];
    for (const id of new Set(grants.map(({ sessionId }) => sessionId))) {
      if (id === undefined || id === except || (await this.#sessions.isOpen(id))) continue;
      await askStorage(() => this.#storage.revokeAll({ principal: 'session', id }));
      ends.push({ id, subject, clientIds: [] });
    }
    return ends;
  }

  async #finish(session: EndedSession): Promise<SessionEnd> {
    await askStorage(() => this.#storage.revokeAll({ principal: 'session', id: session.id }));
    return { ...session, clientIds: await this.#sessions.finishEnd(session.id, this.#clock()) };
  }
}

/** Tells the clients of sessions that have ended; resolves when they were told, or it takes too long to wait for. */
export type TellClients = (ends: readonly SessionEnd[]) => Promise<LogoutAnswers>;

/** What clients have answered so far, by identifier; the others are still being told, or never are. */
export type LogoutAnswers = ReadonlyMap<string, 'delivered' | 'refused'>;

/** A session that has ended. */
export interface SessionEnd extends EndedSession {
  /** Who is to be told. */
  readonly clientIds: readonly string[];
}
