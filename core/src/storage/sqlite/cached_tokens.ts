// A cache of access tokens in front of SQLite.
import {
  type CacheUse,
  DEFAULT_CACHED_TOKENS,
  frozen,
  PackedTable,
  type Packing,
  RecentlyUsed,
} from '../../platform/cache.ts';
import { PRINCIPALS } from '../../protocol/record_rules.ts';
import type { Principal, TokenRecord } from '../../protocol/records.ts';
import { repeatedIn, TOKENS } from '../columns.ts';
import { LARGE_NUMBERS } from '../statements.ts';
import type { Reads } from './connection.ts';
import type { Events, Position } from './events.ts';

/** A token that was not looked up for this many milliseconds leaves the cache, at the latest after twice as long. */
const UNUSED_MS = 5 * 60 * 1000;

/** Tokens with more characters of their own, or in common with others, are read each time: they need too much memory. */
const MAX_OWN_CHARACTERS = 1000;
const MAX_COMMON_CHARACTERS = 2000;

/** The maximum number of events to search at once. If there are more, the cache is cleared. */
const MAX_EVENTS = 1000;

/**
 * The cache remembers one revoked principal for this many tokens. If there are more, the cache is cleared: reading the
 * tokens again then costs less than the memory.
 */
const TOKENS_PER_ENDED = 40;

/** Its version is the number of the last event when it was read. */
type RememberedToken = TokenRecord & { readonly version: number };

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
    this.#ended.clear();
    this.#lastExpiry = 0;
  }

  get use(): CacheUse {
    return { ...this.#lookups, size: this.#tokens.size };
  }

  get(id: string): TokenRecord | undefined {
    this.#followState();
    const token = this.#current(id, this.#tokens.get(id));
    this.#lookups[token === undefined ? 'misses' : 'hits'] += 1;
    return token;
  }

  #current(id: string, remembered: RememberedToken | undefined): TokenRecord | undefined {
    if (remembered === undefined || this.#ended.hasEndedSince(remembered)) return undefined;
    if (remembered.expiresAt > this.#position.sweptUntil) return remembered;
    this.#tokens.delete(id);
    return undefined;
  }

  /** @returns the token, with its version if it is cached */
  add(token: TokenRecord): TokenRecord {
    if (this.#limit === 0) return token;
    const { lastEvent: version } = this.#followState();
    this.#forgetUnused();
    this.#lastExpiry = Math.max(this.#lastExpiry, token.expiresAt);
    const remembered = { ...token, version };
    this.#tokens.set(token.id, remembered);
    return remembered;
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
  new RecentlyUsed(most, () => new PackedTable(new TokenPacking()));

/** Maximum number of templates with values that tokens have in common. Each takes a few kB. */
const MAX_TEMPLATES = 2000;

type Member = keyof TokenRecord;

/** Members of which tokens often have the same value. */
const COMMON: readonly Member[] = repeatedIn(TOKENS).filter((member) => member !== 'keepUntil');

/** Claims that differ between the tokens that a client got without a user. */
const OWN_CLAIMS = ['iat', 'exp', 'jti'];

/** What tokens have in common: their members, and the values of some of them. */
interface Template {
  /** With `null` for what a token has for itself, so that members keep their order. */
  readonly record: TokenRecord;
  /** The token's own members, except `id` and a digest that equals it, as that of opaque tokens. */
  readonly members: readonly string[];
  /** The token's own claims, if it has the others in common. */
  readonly claims: readonly string[];
  /** The members of each standing. Their values are the token's own. */
  readonly standings: readonly (readonly [Principal, readonly string[]])[];
}

/**
 * Packs records of tokens. The tokens of a client differ in few values, so a record is kept as the number of a template
 * and a list of its own values.
 */
export class TokenPacking implements Packing<RememberedToken> {
  readonly #templates: Template[] = [];
  /** The number of each template, by its JSON text. */
  readonly #numbers = new Map<string, number>();

  pack({ version, ...token }: RememberedToken): string | undefined {
    const common = divided(token, COMMON);
    const hasRoom = this.#templates.length < MAX_TEMPLATES || this.#numbers.has(common.template);
    const { template, values } = hasRoom ? common : divided(token, []);
    const own = JSON.stringify([version, ...values]);
    if (own.length > MAX_OWN_CHARACTERS || template.length > MAX_COMMON_CHARACTERS) return undefined;
    return `[${this.#numberOf(template)},${own.slice(1)}`;
  }

  unpack(text: string, id: string): RememberedToken {
    const values = JSON.parse(text);
    const { record, members, claims, standings } = this.#templates[values[0]] as Template;
    let next = 2;
    const filled = (object: Record<string, unknown>, names: readonly string[]) => {
      for (const name of names) object[name] = values[next++];
      return object;
    };
    const token = filled({ ...record, id, digest: id }, members);
    if (claims.length > 0) token.claims = filled({ ...record.claims }, claims);
    const standing: Record<string, unknown> = {};
    for (const [principal, names] of standings) standing[principal] = filled({ ...LARGE_NUMBERS }, names);
    token.standing = standing;
    token.version = values[1];
    return token as unknown as RememberedToken;
  }

  #numberOf(template: string): number {
    const known = this.#numbers.get(template);
    if (known !== undefined) return known;
    const number = this.#templates.push(frozen(JSON.parse(template))) - 1;
    this.#numbers.set(template, number);
    return number;
  }
}

/**
 * Divides a record into the JSON text of a template, and the values that are the token's own.
 * @param common members whose values the template keeps. If there are any, it also keeps claims without a user.
 */
function divided(token: TokenRecord, common: readonly Member[]) {
  const { id, digest, claims: allClaims = {}, standing = {}, subject } = token;
  const keepsClaims = common.length > 0 && subject === undefined;
  const kept = ['id', 'standing', ...common, ...(keepsClaims ? ['claims'] : [])];
  if (digest === id) kept.push('digest');
  const members = Object.keys(token).filter((name) => !kept.includes(name));
  const claims = keepsClaims ? OWN_CLAIMS.filter((name) => Object.hasOwn(allClaims, name)) : [];
  const standings = Object.entries(standing).map(
    ([principal, one]) => [principal, Object.keys(one)] as const,
  );
  const record = {
    ...token,
    ...(claims.length > 0 && { claims: { ...allClaims, ...nullsFor(claims) } }),
    ...nullsFor([...members, 'id', 'digest', 'standing']),
  };
  const values = [
    ...members.map((name) => token[name as Member]),
    ...claims.map((name) => allClaims[name]),
    ...Object.values(standing).flatMap((one) => Object.values(one)),
  ];
  return { template: JSON.stringify({ record, members, claims, standings }), values };
}

function nullsFor(names: readonly string[]): Readonly<Record<string, null>> {
  return Object.fromEntries(names.map((name) => [name, null]));
}

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
  hasEndedSince(token: RememberedToken): boolean {
    return PRINCIPALS.some(
      (principal) => this.#lastOf(principal, token[MEMBER_OF[principal]]) > token.version,
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

/** The member of a token that names a principal. */
const MEMBER_OF = {
  client: 'clientId',
  subject: 'subject',
  session: 'sessionId',
  grant: 'grantId',
} as const satisfies Record<Principal, keyof TokenRecord>;
