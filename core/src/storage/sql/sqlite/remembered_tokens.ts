import { CommonValues } from '../../../protocol/common_values.ts';
import { frozen } from '../../../protocol/frozen.ts';
import { RecentlyUsed } from '../../../protocol/recently_used.ts';
import type { TokenRecord } from '../../../protocol/records.ts';
import type { Reads } from './connection.ts';
import type { Events } from './events.ts';

/** Each is some 300 bytes; twice as many at most. */
const MOST_TOKENS = 100_000;

/** Tokens that are forgotten one by one; more at a time are forgotten with all others. */
const MOST_FORGOTTEN = 100;

/**
 * Access tokens as they were read, for as long as nothing has ended their life since: whatever does writes an event in
 * the same transaction, and nothing else changes what a look-up says of an access token but its deletion after it has
 * expired. What has ended by itself alone is forgotten alone; otherwise everything is.
 */
export class RememberedTokens {
  readonly #reads: Pick<Reads, 'state'>;
  readonly #events: Pick<Events, 'lastNumber' | 'endedAlone'>;
  readonly #tokens = new RecentlyUsed<TokenRecord>(MOST_TOKENS);
  readonly #values = new CommonValues();
  #state: number | undefined;
  #lastEvent = 0;

  constructor(reads: Pick<Reads, 'state'>, events: Pick<Events, 'lastNumber' | 'endedAlone'>) {
    this.#reads = reads;
    this.#events = events;
  }

  get(id: string): TokenRecord | undefined {
    return this.#isOfNow() ? this.#tokens.get(id) : undefined;
  }

  /** @param id of the token, which is kept instead of its equal in the record */
  add(id: string, token: TokenRecord): void {
    if (!this.#isOfNow()) return;
    const { kind, clientId, scopes, tokenType, keyId, standing } = token;
    const kept: TokenRecord = {
      ...token,
      id,
      kind: this.#values.of(kind),
      clientId: this.#values.of(clientId),
      scopes: this.#values.of(scopes),
      ...(tokenType !== undefined && { tokenType: this.#values.of(tokenType) }),
      ...(keyId !== undefined && { keyId: this.#values.of(keyId) }),
      ...(standing !== undefined && { standing: this.#values.of(standing) }),
    };
    this.#tokens.set(id, frozen(kept));
  }

  /** Forgets what may have ended. @returns whether it is known what is read now */
  #isOfNow(): boolean {
    const { state } = this.#reads;
    if (state === undefined) return false;
    if (state === this.#state) return true;
    const lastEvent = this.#events.lastNumber();
    if (lastEvent !== this.#lastEvent) this.#forgetEnded();
    this.#state = state;
    this.#lastEvent = lastEvent;
    return true;
  }

  #forgetEnded(): void {
    const ended = this.#events.endedAlone(this.#lastEvent, MOST_FORGOTTEN);
    if (ended === undefined) this.#tokens.clear();
    else for (const id of ended) this.#tokens.forget(id);
  }
}
