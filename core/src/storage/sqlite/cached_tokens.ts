// A cache of access tokens in front of SQLite.
import {
  type CacheUse,
  DEFAULT_CACHED_TOKENS,
  frozen,
  InternedValues,
  RecentlyUsed,
  TextTable,
} from '../../cache.ts';
import type { Principal, TokenRecord } from '../../protocol/records.ts';
import { repeatedIn, TOKENS } from '../columns.ts';
import type { TokenExtent } from '../statements.ts';
import type { Reads } from './connection.ts';
import type { Events, Position } from './events.ts';

type Standings = NonNullable<TokenRecord['standing']>;

/** A token that was not looked up for this many milliseconds leaves the cache, at the latest after twice as long. */
const UNUSED_MS = 5 * 60 * 1000;

/** Tokens with more characters or parts are read each time: so many would not fit into memory. */
const MAX_TEXT_LENGTH = 512;
const MAX_PARTS = 24;

/** The maximum number of events to search at once. If there are more, the cache is cleared. */
const MAX_EVENTS = 1000;

/**
 * The cache remembers one revoked principal for this many tokens. If there are more, the cache is cleared: reading the
 * tokens again then costs less than the memory.
 */
const TOKENS_PER_ENDED = 40;

/** Members of which tokens with the same value share one copy. */
const REPEATED = repeatedIn(TOKENS).filter((member) => member !== 'keepUntil');

interface RememberedToken {
  readonly token: TokenRecord;
  /** The number of the last event when it was read. */
  readonly lastEvent: number;
}

/**
 * A cache of access tokens that always returns what a lookup would return:
 * - Every revocation writes an event in the same transaction. If the event names the ended tokens, they leave the
 *   cache. Otherwise the whole cache is cleared.
 * - A sweep deletes expired tokens, and stores its time in the same transaction. A token that had expired by then is
 *   read again, even if the clock has been set back.
 */
export class CachedTokens {
  readonly #reads: Pick<Reads, 'stateNumber'>;
  readonly #events: Pick<Events, 'position' | 'endings'>;
  readonly #clock: () => number;
  readonly #lookups = { hits: 0, misses: 0 };
  #limit = DEFAULT_CACHED_TOKENS;
  #tokens = newTable(DEFAULT_CACHED_TOKENS);
  #values = new InternedValues();
  readonly #ended = new EndedPrincipals();
  #stateNumber: number | undefined;
  #position: Position = { lastEvent: 0, sweptUntil: 0 };
  /** Seconds since 1970 at which the last cached token expires. */
  #lastExpiry = 0;
  #usedSinceMs: number;

  constructor(
    reads: Pick<Reads, 'stateNumber'>,
    events: Pick<Events, 'position' | 'endings'>,
    clock: () => number,
  ) {
    this.#reads = reads;
    this.#events = events;
    this.#clock = clock;
    this.#usedSinceMs = clock();
  }

  /** @param most tokens; 0 turns the cache off */
  limitTo(most: number): void {
    this.#limit = most;
    this.clear();
  }

  clear(): void {
    this.#tokens = newTable(this.#limit);
    this.#values = new InternedValues();
    this.#ended.clear();
    this.#lastExpiry = 0;
  }

  get use(): CacheUse {
    return { ...this.#lookups, size: this.#tokens.size };
  }

  get(id: string): TokenRecord | undefined {
    const token = this.#find(id);
    this.#lookups[token === undefined ? 'misses' : 'hits'] += 1;
    return token;
  }

  #find(id: string): TokenRecord | undefined {
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
    if (this.#limit === 0 || extent.length > MAX_TEXT_LENGTH || extent.parts > MAX_PARTS) return;
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

  /** Shares what the tokens of a client have in common. Standings to a user, session and grant are rarely equal. */
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
    if (this.#lastExpiry > 0 && this.#lastExpiry <= position.sweptUntil) this.clear();
    this.#forgetUnused();
    this.#stateNumber = stateNumber;
    this.#position = position;
    return position;
  }

  #forgetEnded(lastEvent: number): void {
    const isFirstLook = this.#stateNumber === undefined;
    const previous = this.#position.lastEvent;
    const endings =
      isFirstLook || lastEvent - previous > MAX_EVENTS
        ? undefined
        : this.#events.endings(previous, lastEvent);
    for (const { of, id, sequence } of endings ?? []) {
      if (of === 'token') this.#tokens.delete(id);
      else this.#ended.add(of, id, sequence);
    }
    if (endings === undefined || this.#ended.size * TOKENS_PER_ENDED > this.#limit) this.clear();
  }

  /** Tokens in constant use stay; expired ones are no longer looked up. */
  #forgetUnused(): void {
    const nowMs = this.#clock();
    if (Math.abs(nowMs - this.#usedSinceMs) < UNUSED_MS) return;
    this.#tokens.forgetUnused();
    this.#usedSinceMs = nowMs;
  }
}

const newTable = (most: number): RecentlyUsed<RememberedToken> =>
  new RecentlyUsed(most, () => new TextTable());

/** Principals whose tokens were revoked or whose state changed, and the last event about each. */
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

  /** Whether a token depends on a principal with a later event. */
  hasEndedSince(event: number, { clientId, subject, sessionId, grantId }: TokenRecord): boolean {
    return (
      this.#lastOf('client', clientId) > event ||
      this.#lastOf('subject', subject) > event ||
      this.#lastOf('session', sessionId) > event ||
      this.#lastOf('grant', grantId) > event
    );
  }

  /** @returns 0 if there was none */
  #lastOf(principal: Principal, id: string | undefined): number {
    const ended = this.#events[principal];
    // Skip the lookup in an empty map: it costs more than everything else here.
    if (id === undefined || ended.size === 0) return 0;
    return ended.get(id) ?? 0;
  }
}
