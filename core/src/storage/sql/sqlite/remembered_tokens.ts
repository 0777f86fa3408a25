import { InternedValues } from '../../../memories/interned_values.ts';
import { RecentlyUsed } from '../../../memories/recently_used.ts';
import { TextTable } from '../../../memories/text_table.ts';
import { frozen } from '../../../protocol/frozen.ts';
import type { TokenRecord } from '../../../protocol/records.ts';
import type { TokenExtent } from '../token_rows.ts';
import type { Reads } from './connection.ts';
import { EndedPrincipals } from './ended_principals.ts';
import type { Events } from './events.ts';

type Standings = NonNullable<TokenRecord['standing']>;

/** Each is some 250 bytes beside its texts; twice as many at most. */
const MOST_TOKENS = 100_000;

/** Tokens of more characters or parts are read each time: so many would not fit into memory. */
const LONGEST_TEXTS = 512;
const MOST_PARTS = 24;

/** Events that are read at a look; where more have happened since the last one, everything is forgotten. */
const MOST_EVENTS = 100;

/** Principals whose end is kept in mind; where there are more, everything is forgotten. */
const MOST_ENDED = 5000;

interface RememberedToken {
  readonly token: TokenRecord;
  /** The last event when it was read. */
  readonly lastEvent: number;
}

/**
 * Access tokens as they were read, for as long as nothing has ended their life since: whatever does writes an event in
 * the same transaction, and nothing else changes what a look-up says of an access token but its deletion after it has
 * expired. Where events tell whose tokens have ended, those are forgotten; otherwise everything is.
 */
export class RememberedTokens {
  readonly #reads: Pick<Reads, 'stateNumber'>;
  readonly #events: Pick<Events, 'lastNumber' | 'endings'>;
  readonly #tokens = new RecentlyUsed<RememberedToken>(MOST_TOKENS, () => new TextTable());
  readonly #values = new InternedValues();
  readonly #ended = new EndedPrincipals();
  #stateNumber: number | undefined;
  #lastEvent = 0;

  constructor(reads: Pick<Reads, 'stateNumber'>, events: Pick<Events, 'lastNumber' | 'endings'>) {
    this.#reads = reads;
    this.#events = events;
  }

  get(id: string): TokenRecord | undefined {
    this.#followState();
    const remembered = this.#tokens.get(id);
    if (remembered === undefined) return undefined;
    const { token, lastEvent } = remembered;
    return this.#ended.hasEndedSince(lastEvent, token) ? undefined : token;
  }

  /**
   * @param id of the token, which is kept instead of its equal in the record
   * @param extent of the row that it was read from
   */
  add(id: string, token: TokenRecord, extent: TokenExtent): void {
    if (extent.length > LONGEST_TEXTS || extent.parts > MOST_PARTS) return;
    const lastEvent = this.#followState();
    const { kind, clientId, scopes, tokenType, keyId, standing } = token;
    const kept: TokenRecord = {
      ...token,
      id,
      kind: this.#values.of(kind),
      clientId: this.#values.of(clientId),
      scopes: this.#values.of(scopes),
      ...(tokenType !== undefined && { tokenType: this.#values.of(tokenType) }),
      ...(keyId !== undefined && { keyId: this.#values.of(keyId) }),
      ...(standing !== undefined && { standing: this.#kept(standing) }),
    };
    this.#tokens.set(id, { token: frozen(kept), lastEvent });
  }

  /** What tokens of a client have in common; how they stand to a person, a session and a grant is hardly ever alike. */
  #kept(standing: Standings): Standings {
    const { client, ...others } = standing;
    if (client === undefined || Object.keys(others).length === 0) return this.#values.of(standing);
    return { ...others, client: this.#values.of(client) };
  }

  /** @returns the last event of the state that is read */
  #followState(): number {
    const { stateNumber } = this.#reads;
    if (stateNumber === this.#stateNumber) return this.#lastEvent;
    const lastEvent = this.#events.lastNumber();
    if (lastEvent !== this.#lastEvent) this.#forgetEnded(lastEvent);
    this.#stateNumber = stateNumber;
    this.#lastEvent = lastEvent;
    return lastEvent;
  }

  #forgetEnded(lastEvent: number): void {
    const isFirstLook = this.#stateNumber === undefined;
    const endings =
      isFirstLook || lastEvent - this.#lastEvent > MOST_EVENTS
        ? undefined
        : this.#events.endings(this.#lastEvent, lastEvent);
    for (const { of, id, sequence } of endings ?? []) {
      if (of === 'token') this.#tokens.delete(id);
      else this.#ended.add(of, id, sequence);
    }
    if (endings !== undefined && this.#ended.size <= MOST_ENDED) return;
    this.#tokens.clear();
    this.#ended.clear();
  }
}
