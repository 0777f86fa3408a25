import type { ClientRepository } from '@grantd/core';
import { askStorage } from '../instance/database/ask_storage.ts';
import type { Consents, KnownClient } from './consents.ts';

/** What is left to sweep counts no more and costs little, and looking for it reads a row of every client. */
const LOOK_EVERY_MS = 60 * 60 * 1000;

/** Removes consents with clients that were removed, or whose tokens have all been ended since. */
export class ConsentSweep {
  readonly #consents: Pick<Consents, 'clientAfter' | 'forget'>;
  readonly #clients: Pick<ClientRepository, 'get'>;
  readonly #clock: () => number;
  #nextLookAtMs = 0;
  /** The client up to which this look has come. */
  #after = '';

  constructor(parts: {
    readonly consents: Pick<Consents, 'clientAfter' | 'forget'>;
    readonly clients: Pick<ClientRepository, 'get'>;
    readonly clock?: () => number;
  }) {
    this.#consents = parts.consents;
    this.#clients = parts.clients;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Looks through all clients, or on from where the limit was reached, and then no more for an hour.
   * @returns how many consents were removed: at most `limit`
   */
  async sweep(limit: number): Promise<number> {
    if (this.#clock() < this.#nextLookAtMs) return 0;
    let swept = 0;
    while (swept < limit) {
      const client = await this.#consents.clientAfter(this.#after);
      if (client === undefined) {
        this.#after = '';
        this.#nextLookAtMs = this.#clock() + LOOK_EVERY_MS;
        break;
      }
      if (await this.#isCurrent(client)) this.#after = client.clientId;
      else swept += await this.#consents.forget(client, limit - swept);
    }
    return swept;
  }

  /** A client that is added again meanwhile has a greater generation than all that were swept as its own. */
  async #isCurrent({ clientId, clientGeneration }: KnownClient): Promise<boolean> {
    const client = await askStorage(() => this.#clients.get(clientId));
    return !!client && (client.generation ?? 0) <= clientGeneration;
  }
}
