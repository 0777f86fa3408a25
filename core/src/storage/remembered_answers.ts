// Answers about access tokens that a store remembers, each with what it rests on (ADR 203).
import { sha256 } from '#crypto';
import { type HttpRequest, jsonResponse } from '../http/http.ts';
import {
  type CacheUse,
  DEFAULT_CACHED_TOKENS,
  PackedTable,
  type Packing,
  RecentlyUsed,
} from '../platform/cache.ts';
import { type Clock, systemRandom } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { PERSONAL } from '../protocol/record_rules.ts';
import type { TokenRecord } from '../protocol/records.ts';
import type {
  AnswerDeciders,
  AnswerMemories,
  AnswerMemory,
  AnswerPlace,
  ClientRegistry,
  IssuingTokenRepository,
  NewAnswer,
  RecordVersions,
} from './contract.ts';

/** There are half as many answers as cached tokens, because each takes four times as much memory. */
const TOKENS_PER_ANSWER = 2;

/** Longer answers need too much memory. */
const MAX_CHARACTERS = 2000;

/** Most tokens that an API has seen once it never sees again. Each leaves four bytes, in one of so many places. */
const PLACES_OF_SEEN = 2 ** 18;

/** An answer that was not given for this many milliseconds is forgotten, at the latest after twice as long. */
const UNUSED_MS = 5 * 60 * 1000;

/** What all answers have in common. */
const RESPONSE = jsonResponse({});

/** An answer, with the records that it rests on. */
interface Entry {
  readonly body: string;
  readonly callerId: string | undefined;
  readonly tokenId: string;
  readonly version: string;
  /** Milliseconds since 1970. Before this time, the answer may be another. */
  readonly fromMs: number;
  /** Milliseconds since 1970. From this time on, the answer may be another. */
  readonly untilMs: number;
}

/** No member contains a tab or a line feed: JSON escapes them in the body. */
const PACKING: Packing<Entry> = {
  pack: ({ body, callerId = '', tokenId, version, fromMs, untilMs }) =>
    [callerId, tokenId, version, fromMs, untilMs, body].join('\t'),
  unpack(text) {
    const [callerId, tokenId = '', version = '', fromMs, untilMs, body = ''] = text.split('\t');
    const times = { fromMs: Number(fromMs), untilMs: Number(untilMs) };
    return { body, callerId: callerId || undefined, tokenId, version, ...times };
  },
};

/**
 * Remembers answers. One is given again only after a read has shown that both records still have the version of which it
 * was made, so a commit forgets nothing. It is kept from the second time on.
 */
export class RememberedAnswers implements AnswerMemories {
  readonly #clients: ClientRegistry;
  readonly #tokens: IssuingTokenRepository;
  readonly #versions: RecordVersions;
  readonly #lookups = { hits: 0, misses: 0 };
  #answers = newTable(DEFAULT_CACHED_TOKENS / TOKENS_PER_ANSWER);
  #seenOnce = new SeenOnce();
  #usedSinceMs = 0;

  constructor(clients: ClientRegistry, tokens: IssuingTokenRepository, versions: RecordVersions) {
    this.#clients = clients;
    this.#tokens = tokens;
    this.#versions = versions;
  }

  /** @param tokens that are cached; 0 turns the memory off */
  limitTo(tokens: number): void {
    this.#answers = newTable(tokens / TOKENS_PER_ANSWER);
    this.#seenOnce = new SeenOnce();
  }

  clear(): void {
    this.#answers.clear();
  }

  get use(): CacheUse {
    return { ...this.#lookups, size: this.#answers.size };
  }

  /** A host may decide by functions of its own, or put them around the lookups of the store. */
  for({ storage: { clients, tokens }, ...options }: AnswerDeciders): AnswerMemory | undefined {
    const { getSubjectState, applicationClaims, jwtService, previousServer } = options;
    const isHosted = getSubjectState ?? applicationClaims ?? jwtService ?? previousServer;
    const isAround =
      clients.get !== this.#clients.get ||
      tokens.getByAccessToken !== this.#tokens.getByAccessToken ||
      tokens.isAccessTokenRevoked;
    if (isHosted || isAround) return undefined;
    // Outside of this process, no secret can be found by the digest of a request. Other servers have other options.
    const ofServer = systemRandom()(32).join();
    return {
      find: (request, clock) => this.#find(ofServer, request, clock),
      remember: (key, answer, nowMs) => this.#remember(key, answer, nowMs),
    };
  }

  async #find(ofServer: string, request: HttpRequest, clock: Clock): Promise<AnswerPlace | undefined> {
    const text = textOf(request);
    if (text === undefined) return undefined;
    const key = await sha256(`${ofServer}${text}`);
    const entry = this.#answers.get(key);
    const isCurrent = entry !== undefined && (await this.#isCurrent(entry, clock));
    this.#lookups[isCurrent ? 'hits' : 'misses'] += 1;
    if (isCurrent) return { key, callerId: entry.callerId, response: { ...RESPONSE, body: entry.body } };
    if (entry !== undefined) this.#seenOnce.add(key);
    return { key };
  }

  async #isCurrent({ callerId, tokenId, version, fromMs, untilMs }: Entry, clock: Clock): Promise<boolean> {
    const isSame = (await this.#versions.now(tokenId, callerId)) === version;
    const nowMs = clock();
    return isSame && fromMs <= nowMs && nowMs < untilMs;
  }

  #remember(
    key: string,
    { response: { body }, caller, found: { record, claims }, untilMs }: NewAnswer,
    nowMs: number,
  ): void {
    const { id: tokenId, expiresAt } = record;
    if (untilMs === undefined || body.length > MAX_CHARACTERS || !restsOnTwoRecords(record, claims)) return;
    const version = this.#versions.of(record, caller);
    if (version === undefined || !isOneField(tokenId, version, caller?.id)) return;
    if (!this.#seenOnce.add(key)) return;
    if (Math.abs(nowMs - this.#usedSinceMs) >= UNUSED_MS) {
      this.#answers.forgetUnused();
      this.#usedSinceMs = nowMs;
    }
    this.#answers.set(key, {
      ...{ body, callerId: caller?.id, tokenId, version },
      fromMs: Number(claims.nbf ?? 0) * 1000,
      untilMs: Math.min(untilMs, expiresAt * 1000, Number(claims.exp ?? expiresAt) * 1000),
    });
  }
}

/** Digests that were seen. One that falls on the place of another takes it, and two may pass for the same. */
class SeenOnce {
  readonly #marks = new Uint32Array(PLACES_OF_SEEN);

  /** @returns whether the digest was seen before */
  add(digest: string): boolean {
    const [place, mark] = [numberIn(digest, 0) % PLACES_OF_SEEN, numberIn(digest, 8)];
    const isKnown = this.#marks[place] === mark;
    this.#marks[place] = mark;
    return isKnown;
  }
}

/** A number of 32 bits from eight characters. */
function numberIn(digest: string, from: number): number {
  let number = 0;
  for (let at = from; at < from + 8; at += 1) number = Math.imul(number, 101) + digest.charCodeAt(at);
  return number >>> 0;
}

const newTable = (most: number) => new RecentlyUsed<Entry>(most, () => new PackedTable(PACKING));

/** Whether an answer depends on nothing but the token's record and its reader's, and has no other effect. */
function restsOnTwoRecords(record: TokenRecord, claims: Claims): boolean {
  const { kind, ancestors, standing, subject, claims: stored, digest, id } = record;
  // The subject of an opaque token may be derived from its client, as it is now.
  const hasSubject = subject === undefined || digest !== id || stored?.sub !== undefined;
  // What was obtained by an exchange dies with other tokens. Each use of a personal token is noted.
  return (
    kind === 'access_token' && !ancestors && !claims[PERSONAL] && standing?.client !== undefined && hasSubject
  );
}

const isOneField = (...identifiers: readonly (string | undefined)[]) =>
  !identifiers.some((identifier) => identifier && /[\t\n]/.test(identifier));

/**
 * Everything of a request that its answer depends on, as one text.
 * @returns `undefined` if it has more than that: a certificate, or a form that the host has parsed
 */
function textOf({ url, headers, body, clientCertificate }: HttpRequest): string | undefined {
  const read = [
    headers.authorization,
    headers['content-type'],
    headers['content-encoding'],
    headers.accept,
    headers.dpop,
  ];
  if (typeof body !== 'string' || clientCertificate !== undefined) return undefined;
  return JSON.stringify([url, ...read]) + body;
}
