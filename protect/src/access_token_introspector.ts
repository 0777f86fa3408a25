// Checks access tokens by asking the authorization server.

import type { TokenScheme } from '@grantd/core/internal/http/bearer';
import { DocumentError } from '@grantd/core/internal/http/fetch_document';
import { isJsonObject, type JsonObject, parseJson } from '@grantd/core/internal/http/http';
import { RecentlyUsed } from '@grantd/core/internal/platform/cache';
import type { Clock } from '@grantd/core/internal/platform/environment';
import { type Claims, dpopKeyOf } from '@grantd/core/internal/protocol/claims';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
  trueOrFalse,
} from '@grantd/core/internal/protocol/option_kinds';
import { sha256 } from '#crypto';
import {
  type Authentication,
  authenticationBy,
  type IntrospectionCredentials,
} from './introspection_credentials.ts';
import {
  type Ask,
  documentsBy,
  guarded,
  IssuerMetadata,
  REQUEST_OPTIONS,
  type RequestOptions,
  requireAudience,
  requireBetween,
  requireIssuer,
  requireRequestUrl,
  requireTolerance,
} from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireBinding,
  requireTokenLength,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

const MAX_CONCURRENT_REQUESTS = 65_536;

export interface AccessTokenIntrospectorOptions extends RequestOptions {
  /** URL of the authorization server, exactly as in its tokens and metadata. */
  readonly issuer: string;
  /** Audience (`aud`) of this API. Default: not checked, so the authorization server alone decides. */
  readonly audience?: string | readonly string[];
  readonly credentials: IntrospectionCredentials;
  /** URL of the introspection endpoint. Default: `introspection_endpoint` of the issuer's metadata (RFC 8414). */
  readonly introspectionEndpoint?: string;
  /**
   * Whether a response without `token_type` may describe an access token. grantd omits it for refresh tokens. Set this
   * to `true` for a server that always omits it. Default: `false`.
   */
  readonly allowMissingTokenType?: boolean;
  /** Seconds by which the clocks of the API and the issuer may differ, from 0 to 300. Default: 0. */
  readonly clockTolerance?: number;
  /** Caches active tokens. Default: no cache, so that the next request sees a revocation. */
  readonly cache?: CacheOptions;
  /**
   * Maximum concurrent introspection requests, from 1 to 65536. Further tokens get a 503 at once, so that a flood of
   * unknown tokens cannot use up all connections. Default: 256.
   */
  readonly maxConcurrentRequests?: number;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: Clock;
}

const INTROSPECTOR_OPTIONS: KindsOf<AccessTokenIntrospectorOptions> = {
  ...REQUEST_OPTIONS,
  issuer: anyText,
  audience: anyTexts,
  credentials: anyValue,
  introspectionEndpoint: anyText,
  allowMissingTokenType: trueOrFalse,
  clockTolerance: anyValue,
  cache: anyValue,
  maxConcurrentRequests: anyValue,
  clock: anyFunction,
};

/**
 * Checks access tokens of any format by introspection (RFC 7662). Concurrent requests with the same token share one
 * introspection, but never one that started before them (ADR 35).
 * @example
 * const tokens = new AccessTokenIntrospector({
 *   issuer: 'https://login.example',
 *   credentials: { clientId: 'api', clientSecret },
 * });
 * app.use(protect({ tokens, scopes: ['read'] }));
 */
export class AccessTokenIntrospector implements AccessTokens {
  readonly #issuer: string;
  readonly #audience: readonly string[] | undefined;
  readonly #allowMissingTokenType: boolean;
  readonly #clockTolerance: number;
  readonly #clock: Clock;
  readonly #ask: Ask;
  readonly #authenticate: () => Promise<Authentication>;
  readonly #endpoint: () => Promise<string>;
  readonly #remembered: ActiveTokens | undefined;
  readonly #questions = new SharedWork<JsonObject>();
  readonly #limit: RequestLimit;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: AccessTokenIntrospectorOptions) {
    requireKinds(options, INTROSPECTOR_OPTIONS);
    const { audience, cache, clock = Date.now, introspectionEndpoint: endpoint } = options;
    const { maxConcurrentRequests = 256 } = options;
    const policy = requireIssuer(options);
    this.#issuer = policy.issuer;
    this.#audience = audience === undefined ? undefined : requireAudience(audience);
    this.#allowMissingTokenType = options.allowMissingTokenType ?? false;
    this.#clockTolerance = requireTolerance(options.clockTolerance);
    this.#clock = clock;
    this.#ask = guarded(options);
    this.#authenticate = authenticationBy(options.credentials, this.#issuer, clock);
    this.#limit = new RequestLimit(
      requireBetween('maxConcurrentRequests', maxConcurrentRequests, 1, MAX_CONCURRENT_REQUESTS),
    );
    this.#remembered = cache && new ActiveTokens(cache);
    const metadata = new IssuerMetadata({ policy, fetchDocument: documentsBy(this.#ask), clock });
    const known =
      endpoint === undefined ? undefined : requireRequestUrl('introspectionEndpoint', endpoint, policy);
    this.#endpoint = async () => known ?? metadata.url('introspection_endpoint');
  }

  get accepts(): NonNullable<AccessTokens['accepts']> {
    return { issuer: this.#issuer, audience: this.#audience };
  }

  async verify(
    token: string,
    scheme: TokenScheme = 'Bearer',
    certificate?: string,
  ): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    return requireBinding(await this.#find(token), scheme, certificate);
  }

  /** Finds an active token for this API, bound or not. */
  async #find(token: string): Promise<VerifiedAccessToken> {
    const remembered = await this.#remembered?.find(token, this.#clock());
    if (remembered !== undefined) return remembered;

    const askedAtMs = this.#clock();
    const ask = () => this.#limit.within(() => this.#introspect(token));
    const answer = await answerOf(this.#questions.share(token, ask));
    if (answer.active !== true) throw refusedToken('not_active');
    this.#judge(answer);
    const verified = verifiedAccessToken(answer);
    await this.#remembered?.remember(token, verified, askedAtMs);
    return verified;
  }

  /**
   * Sends one introspection request (RFC 7662 §2.1, §2.2).
   * @throws {DocumentError} the endpoint is unavailable, rejects the API's credentials, or sends an invalid response
   */
  async #introspect(token: string): Promise<JsonObject> {
    const { headers, parameters } = await this.#authenticate();
    const { status, body } = await this.#ask(await this.#endpoint(), {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...headers,
      },
      body: new URLSearchParams({ token, token_type_hint: 'access_token', ...parameters }).toString(),
    });
    if (status !== 200)
      throw new DocumentError('failed', `the introspection endpoint answered with status ${status}`);
    const answer = parseJson(body);
    if (isJsonObject(answer) && isReadable(answer)) return answer;
    throw new DocumentError('refused', 'the introspection response does not follow RFC 7662');
  }

  /** Checks that an active token is an access token for this API. */
  #judge({ iss, aud, exp, token_type: type, cnf }: Claims): void {
    if (iss !== undefined && iss !== this.#issuer) throw refusedToken('wrong_issuer');
    if (this.#audience !== undefined && !isMeantFor(this.#audience, aud))
      throw refusedToken('audience_wrong');
    const isOver = typeof exp === 'number' && this.#clock() / 1000 >= exp + this.#clockTolerance;
    if (isOver) throw refusedToken('expired');
    // RFC 9449 §6.2: the type of a token that is bound to a key. One of another type needs no such proof.
    const expected = dpopKeyOf(cnf) === undefined ? 'bearer' : 'dpop';
    const isExpected =
      typeof type === 'string' ? type.toLowerCase() === expected : this.#allowMissingTokenType;
    if (!isExpected) throw refusedToken('wrong_type');
  }
}

function isReadable({ active, exp, scope, token_type: type }: JsonObject): boolean {
  if (typeof active !== 'boolean') return false;
  const isTime = exp === undefined || (typeof exp === 'number' && Number.isFinite(exp));
  return isTime && [scope, type].every((item) => item === undefined || typeof item === 'string');
}

export interface CacheOptions {
  /**
   * Seconds for which an active token is trusted without asking, from 0 to 3600. Revocations can go unnoticed so long.
   */
  readonly maxSeconds: number;
  /** Limit for cached tokens, from 1 to 1000000. The half that was used last stays. Default: 10000. */
  readonly maxTokens?: number;
}

const CACHE_OPTIONS: KindsOf<CacheOptions> = { maxSeconds: anyValue, maxTokens: anyValue };

interface Remembered {
  readonly token: VerifiedAccessToken;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
}

/** Caches active tokens by digest. Inactive tokens and outages are never cached. */
class ActiveTokens {
  readonly #maxMs: number;
  readonly #tokens: RecentlyUsed<Remembered>;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: CacheOptions) {
    requireKinds(options, CACHE_OPTIONS, 'cache');
    const { maxSeconds, maxTokens = 10_000 } = options;
    this.#maxMs = requireBetween('cache.maxSeconds', maxSeconds, 0, 3600) * 1000;
    this.#tokens = new RecentlyUsed(requireBetween('cache.maxTokens', maxTokens, 1, 1_000_000));
  }

  async find(token: string, nowMs: number): Promise<VerifiedAccessToken | undefined> {
    const remembered = this.#tokens.get(await sha256(token));
    return remembered !== undefined && nowMs < remembered.untilMs ? remembered.token : undefined;
  }

  /** @param askedAtMs milliseconds since 1970 of the request, because the response may not contain later revocations */
  async remember(token: string, verified: VerifiedAccessToken, askedAtMs: number): Promise<void> {
    const expiresAtMs = (verified.expiresAt ?? Infinity) * 1000;
    const untilMs = Math.min(askedAtMs + this.#maxMs, expiresAtMs);
    this.#tokens.set(await sha256(token), { token: verified, untilMs });
  }
}

/** Limits concurrent introspection requests. Further ones fail at once instead of waiting. */
class RequestLimit {
  readonly #max: number;
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws {DocumentError} the limit is reached */
  async within<T>(question: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#max)
      throw new DocumentError('failed', 'too many introspection requests at once: see maxConcurrentRequests');
    this.#running += 1;
    try {
      return await question();
    } finally {
      this.#running -= 1;
    }
  }
}

/**
 * Shares work between callers with the same key. Later callers wait for the running request and then share the next
 * one, so that no caller gets a result that was requested before its call.
 */
class SharedWork<T> {
  readonly #next = new Map<string, Promise<T>>();
  readonly #running = new Map<string, Promise<T>>();

  share(key: string, ask: () => Promise<T>): Promise<T> {
    const next = this.#next.get(key);
    if (next !== undefined) return next;
    const started = this.#start(key, ask);
    this.#next.set(key, started);
    return started;
  }

  async #start(key: string, ask: () => Promise<T>): Promise<T> {
    // The failure belongs to its own callers. Without a running request, this still waits for others of the same tick.
    await Promise.allSettled([this.#running.get(key)]);
    this.#next.delete(key);
    const answer = ask();
    this.#running.set(key, answer);
    try {
      return await answer;
    } finally {
      if (this.#running.get(key) === answer) this.#running.delete(key);
    }
  }
}
