import type { AdministrableStorage } from '@grantd/core';
import type { Consents } from '../data/consents.ts';
import type { People } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import type { SessionEnding } from './sessions.ts';

/** After which nothing is under way any more that began before a removal. */
const LONGEST_REMOVAL_MS = 30_000;

const MOST_AT_ONCE = 50;

/**
 * Removes people: first it is remembered that the subject identifier was given, then every token and code of the person
 * is dead and none is issued any more, then their data goes. In this order nothing that is issued at the same time
 * survives: it was issued before the person was disabled, or is refused. Each removal is done once more by a server
 * after a while, which finishes what a dead process left half-done, and takes away what was written at the same time.
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
   * @returns how many sessions were ended
   * @throws {StorageFault} the person may be removed in part; a server finishes it
   */
  async remove(subject: string): Promise<number> {
    await this.#people.beginRemoval(subject, this.#clock());
    return this.#erase(subject);
  }

  /** Finishes removals that began a while ago. @returns whose those were */
  async finishHalfRemoved(): Promise<readonly string[]> {
    const half = await this.#people.halfRemoved(this.#clock() - LONGEST_REMOVAL_MS, MOST_AT_ONCE);
    for (const subject of half) {
      await this.#erase(subject);
      await this.#people.finishRemoval(subject, this.#clock());
    }
    return half;
  }

  async #erase(subject: string): Promise<number> {
    await askStorage(() => this.#storage.setDisabled('subject', subject, true));
    // Before the sessions: none begins for a person who is not there.
    await this.#people.erase(subject);
    const ended = await this.#ending.end({ subject });
    await this.#consents.forgetPerson(subject);
    return ended.length;
  }
}
