import type { AdministrableStorage } from '@grantd/core';
import type { Consents } from '../data/consents.ts';
import type { People } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import type { SessionEnding } from './sessions.ts';

/** After this time, no operation from before the removal is still running. */
const MAX_REMOVAL_MS = 30_000;

const BATCH_SIZE = 50;

/**
 * Removes users in this order: reserve the subject identifier, revoke all tokens and codes and block new ones, delete
 * the data. Nothing issued concurrently survives: it is either issued before the user was disabled, or refused. A
 * server repeats each removal later, which finishes the work of dead processes and deletes concurrent writes.
 */
export class PersonRemoval {
  readonly #people: Pick<People, 'beginRemoval' | 'erase' | 'finishRemoval' | 'halfRemoved'>;
  readonly #consents: Pick<Consents, 'forgetPerson'>;
  readonly #ending: Pick<SessionEnding, 'end'>;
  readonly #storage: Pick<AdministrableStorage, 'setDisabled'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly people: Pick<People, 'beginRemoval' | 'erase' | 'finishRemoval' | 'halfRemoved'>;
    readonly consents: Pick<Consents, 'forgetPerson'>;
    readonly ending: Pick<SessionEnding, 'end'>;
    readonly storage: Pick<AdministrableStorage, 'setDisabled'>;
    readonly clock?: () => number;
  }) {
    this.#people = parts.people;
    this.#consents = parts.consents;
    this.#ending = parts.ending;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @param begin makes the write with which the removal begins, if that depends on something. The rest follows from it
   * @returns the number of ended sessions
   * @throws {StorageFault} the user may be partly removed; a server finishes the removal
   */
  async remove(
    subject: string,
    begin: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
  ): Promise<number> {
    await begin(() => this.#people.beginRemoval(subject, this.#clock()));
    return this.#erase(subject);
  }

  /** Finishes removals that started a while ago. @returns the subjects */
  async finishHalfRemoved(): Promise<readonly string[]> {
    const half = await this.#people.halfRemoved(this.#clock() - MAX_REMOVAL_MS, BATCH_SIZE);
    for (const subject of half) {
      await this.#erase(subject);
      await this.#people.finishRemoval(subject, this.#clock());
    }
    return half;
  }

  async #erase(subject: string): Promise<number> {
    await askStorage(() => this.#storage.setDisabled('subject', subject, true));
    // Comes before the sessions, because no session can start without a user.
    await this.#people.erase(subject);
    const ended = await this.#ending.end({ subject }, 'person_removed');
    await this.#consents.forgetPerson(subject);
    return ended.length;
  }
}
