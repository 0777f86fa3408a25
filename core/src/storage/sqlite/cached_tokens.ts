import { frozen, InternedValues, RecentlyUsed, TextTable } from '../../cache.ts';
import type { Principal, TokenRecord } from '../../protocol/records.ts';
import { repeatedIn, TOKENS } from '../columns.ts';
import type { TokenExtent } from '../statements.ts';
import type { Reads } from './connection.ts';
import type { Events, Position } from './events.ts';

type Standings = NonNullable<TokenRecord['standing']>;

/** Tokens that are cached by default. */
export const DEFAULT_CACHED_TOKENS = 200_000;

/** Milliseconds after which a token that was not looked up leaves the cache; after twice as many it has left. */
const UNUSED_MS = 5 * 60 * 1000;

/** Tokens of more characters or parts are read each time: so many would not fit into memory. */
const LONGEST_TEXTS = 512;
const MOST_PARTS = 24;

/** Events that are read at a look; where more have happened since the last one, everything is forgotten. */
const MOST_EVENTS = 100;

/** Principals whose end is kept in mind; where there are more, everything is forgotten. */
const MOST_ENDED = 5000;

/** Members of which one copy is enough for all tokens that have the same value. */
const REPEATED = repeatedIn(TOKENS).filter((member) => member !== 'keepUntil');

interface RememberedToken {
  readonly token: TokenRecord;
  /** The last event when it was read. */
  readonly lastEvent: number;
}

/**
 * A cache of access tokens. A token may be answered from it while a lookup would find the same:
 * - Whatever ends a token before its time writes an event in the same transaction. If the event tells whose tokens
 *   ended, those leave the cache; otherwise the whole cache is cleared.
 * - A sweep deletes tokens that have expired, and stores its time in the same transaction. A token that expired by then
 *   is read again, even if the clock was set back since.
 */
export class RememberedTokens {
  readonly #reads: Pick<Reads, 'stateNumber'>;
  readonly #events: Pick<Events, 'position' | 'endings'>;
  readonly #clock: () => number;
  readonly #limit: number;
  readonly #tokens: RecentlyUsed<RememberedToken>;
  readonly #values = new InternedValues();
  readonly #ended = new EndedPrincipals();
  #stateNumber: number | undefined;
  #position: Position = { lastEvent: 0, sweptUntil: 0 };
  /** Seconds: when the last of all cached tokens expires. */
  #lastExpiry = 0;
  #usedSinceMs: number;

  /** @param limit tokens at most; 0 turns the cache off */
  constructor(
    reads: Pick<Reads, 'stateNumber'>,
    events: Pick<Events, 'position' | 'endings'>,
    { clock, limit }: { readonly clock: () => number; readonly limit: number },
  ) {
    this.#reads = reads;
    this.#events = events;
    this.#clock = clock;
    this.#limit = limit;
    this.#tokens = new RecentlyUsed(Math.ceil(limit / 2), () => new TextTable());
    this.#usedSinceMs = clock();
  }

  get(id: string): TokenRecord | undefined {
    this.#followState();
    const remembered = this.#tokens.get(id);
    if (remembered === undefined) return undefined;
    const { token, lastEvent } = remembered;
    if (token.expiresAt <= this.#position.sweptUntil) {
      this.#tokens.delete(id);
      return undefined;
    }
    return this.#ended.hasEndedSince(lastEvent, token) ? undefined : token;
  }

  /**
   * @param id of the token, which is kept instead of its equal in the record
   * @param extent of the row that it was read from
   */
  add(id: string, token: TokenRecord, extent: TokenExtent): void {
    if (this.#limit === 0 || extent.length > LONGEST_TEXTS || extent.parts > MOST_PARTS) return;
    const { lastEvent } = this.#followState();
    this.#forgetUnused();
    this.#lastExpiry = Math.max(this.#lastExpiry, token.expiresAt);
    const { standing } = token;
    const kept = { ...token, id, ...(standing !== undefined && { standing: this.#kept(standing) }) };
    for (const member of REPEATED) this.#share(kept, member);
    this.#tokens.set(id, { token: frozen(kept), lastEvent });
  }

  #share<M extends keyof TokenRecord>(token: { -readonly [N in M]?: TokenRecord[N] }, member: M): void {
    const value = token[member];
    if (value !== undefined) token[member] = this.#values.of(value);
  }

  /** What tokens of a client have in common; how they stand to a person, a session and a grant is hardly ever alike. */
  #kept(standing: Standings): Standings {
    const { client, ...others } = standing;
    if (client === undefined || Object.keys(others).length === 0) return this.#values.of(standing);
    return { ...others, client: this.#values.of(client) };
  }

  /** @returns the position of the state that is read */
  #followState(): Position {
    const { stateNumber } = this.#reads;
    if (stateNumber === this.#stateNumber) return this.#position;
    const position = this.#events.position();
    if (position.lastEvent !== this.#position.lastEvent) this.#forgetEnded(position.lastEvent);
    if (this.#lastExpiry > 0 && this.#lastExpiry <= position.sweptUntil) this.#clear();
    this.#forgetUnused();
    this.#stateNumber = stateNumber;
    this.#position = position;
    return position;
  }

  #forgetEnded(lastEvent: number): void {
    const isFirstLook = this.#stateNumber === undefined;
    const former = this.#position.lastEvent;
    const endings =
      isFirstLook || lastEvent - former > MOST_EVENTS ? undefined : this.#events.endings(former, lastEvent);
    for (const { of, id, sequence } of endings ?? []) {
      if (of === 'token') this.#tokens.delete(id);
      else if (of !== 'nothing') this.#ended.add(of, id, sequence);
    }
    if (endings === undefined || this.#ended.size > MOST_ENDED) this.#clear();
  }

  /** A token that is in use all the time stays; one that has expired is asked for no more. */
  #forgetUnused(): void {
    const nowMs = this.#clock();
    if (Math.abs(nowMs - this.#usedSinceMs) < UNUSED_MS) return;
    this.#tokens.forgetUnused();
    this.#usedSinceMs = nowMs;
  }

  #clear(): void {
    this.#tokens.clear();
    this.#ended.clear();
    this.#lastExpiry = 0;
  }
}

/** Each is some hundred bytes; twice as many at most. */
const MOST_ROWS = 1000;

/**
 * What was read of a database, under a name for each look-up, for as long as nothing has been committed since, by
 * whichever process. Asked and told while something is looked up.
 */
export class RememberedRows<T> {
  readonly #reads: Pick<Reads, 'stateNumber'>;
  readonly #rows = new RecentlyUsed<T>(MOST_ROWS);
  #stateNumber: number | undefined;

  /** @param reads of the connection that looks up */
  constructor(reads: Pick<Reads, 'stateNumber'>) {
    this.#reads = reads;
  }

  get(name: string): T | undefined {
    this.#followState();
    return this.#rows.get(name);
  }

  /** @returns the same, which nobody can change from now on */
  add(name: string, row: T): T {
    this.#followState();
    this.#rows.set(name, frozen(row));
    return row;
  }

  #followState(): void {
    const { stateNumber } = this.#reads;
    if (stateNumber === this.#stateNumber) return;
    this.#rows.clear();
    this.#stateNumber = stateNumber;
  }
}

/** Principals whose tokens have ended, or stand otherwise than before, and the last event that tells so. */
class EndedPrincipals {
  readonly #events: Readonly<Record<Principal, Map<string, number>>> = {
    client: new Map(),
    subject: new Map(),
    session: new Map(),
    grant: new Map(),
  };

  get size(): number {
    const { client, subject, session, grant } = this.#events;
    return client.size + subject.size + session.size + grant.size;
  }

  /** @param event its number */
  add(principal: Principal, id: string, event: number): void {
    this.#events[principal].set(id, event);
  }

  clear(): void {
    for (const ended of Object.values(this.#events)) ended.clear();
  }

  /** Whether a token depends on one of which an event tells that came after this one. */
  hasEndedSince(event: number, { clientId, subject, sessionId, grantId }: TokenRecord): boolean {
    return (
      this.#lastOf('client', clientId) > event ||
      this.#lastOf('subject', subject) > event ||
      this.#lastOf('session', sessionId) > event ||
      this.#lastOf('grant', grantId) > event
    );
  }

  /** @returns 0 where there was none */
  #lastOf(principal: Principal, id: string | undefined): number {
    const ended = this.#events[principal];
    // Without the look-up where there is nothing to be found: it costs more than all the rest here.
    if (id === undefined || ended.size === 0) return 0;
    return ended.get(id) ?? 0;
  }
}
