import type { AdministrableStorage } from '@grantd/core';
import { askStorage } from '../instance/database/ask_storage.ts';
import type { Consents, Parties } from './consents.ts';

/** After which whoever has begun a withdrawal is taken for dead. */
const LONGEST_WITHDRAWAL_MS = 30_000;

const MOST_AT_ONCE = 50;

/**
 * Ends what a person lets a client have: first the consent counts no more, then all that was granted is revoked, then
 * the consent goes. In this order nothing that is issued at the same time stays alive: it was issued before the
 * revocation, or sees afterwards that the consent is gone. What a process leaves half-done when it dies is finished by
 * the next one.
 */
export class ConsentWithdrawal {
  readonly #consents: Consents;
  readonly #storage: Pick<AdministrableStorage, 'revokeGrants'>;
  readonly #clock: () => number;

  constructor(parts: {
    readonly consents: Consents;
    readonly storage: Pick<AdministrableStorage, 'revokeGrants'>;
    readonly clock?: () => number;
  }) {
    this.#consents = parts.consents;
    this.#storage = parts.storage;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * @returns how many grants were ended
   * @throws {StorageFault} the tokens may or may not be revoked
   */
  async withdraw(parties: Parties): Promise<number> {
    await this.#consents.beginWithdrawal(parties, this.#clock());
    return this.#finish(parties);
  }

  /** Finishes what others have begun, and never finished. @returns how many withdrawals those were */
  async finishHalfWithdrawn(): Promise<number> {
    const beforeMs = this.#clock() - LONGEST_WITHDRAWAL_MS;
    const half = await this.#consents.halfWithdrawn(beforeMs, MOST_AT_ONCE);
    for (const parties of half) await this.#finish(parties);
    return half.length;
  }

  async #finish(parties: Parties): Promise<number> {
    const { subject, clientId } = parties;
    const grants = await askStorage(() => this.#storage.revokeGrants(subject, clientId));
    await this.#consents.finishWithdrawal(parties);
    return grants;
  }
}
