import { RecentlyUsed } from '@grantd/core/internal/cache';
import type { Clock } from '@grantd/core/internal/environment';
import { DocumentError } from '@grantd/core/internal/http/fetch_document';
import { isJsonObject, type JsonObject, parseJson } from '@grantd/core/internal/http/http';
import {
  anyFunction,
  anyText,
  anyTexts,
  anyValue,
  type KindsOf,
  requireKinds,
  trueOrFalse,
} from '@grantd/core/internal/option_kinds';
import type { Claims } from '@grantd/core/internal/protocol/claims';
import { sha256 } from '#crypto';
import {
  type Authentication,
  authenticationBy,
  type IntrospectionCredentials,
} from './introspection_credentials.ts';
import {
  ASKING_OPTIONS,
  type Ask,
  type AskingOptions,
  documentsBy,
  guarded,
  IssuerMetadata,
  requireAskableUrl,
  requireAudience,
  requireBetween,
  requireIssuer,
  requireTolerance,
} from './issuer_metadata.ts';
import {
  type AccessTokens,
  answerOf,
  isMeantFor,
  refusedToken,
  requireTokenLength,
  type VerifiedAccessToken,
  verifiedAccessToken,
} from './verified_access_token.ts';

/** Questions that an API may have under way at most. */
const MOST_QUESTIONS = 65_536;

export interface AccessTokenIntrospectorOptions extends AskingOptions {
  /** As tokens and metadata name it. */
  readonly issuer: string;
  /** What tokens for this API have in `aud`. Left out, the authorization server alone decides whom a token is for. */
  readonly audience?: string | readonly string[];
  readonly credentials: IntrospectionCredentials;
  /** Default: the `introspection_endpoint` of the issuer's metadata (RFC 8414). */
  readonly introspectionEndpoint?: string;
  /**
   * Whether an answer without `token_type` is believed to be about an access token. grantd leaves it out for refresh
   * tokens; a server that leaves it out always wants `true` here. Default: `false`.
   */
  readonly allowMissingTokenType?: boolean;
  /** Seconds by which the clocks of API and issuer may differ, 300 at most. Default: 0. */
  readonly clockTolerance?: number;
  /** Default: none, so that a revocation is seen by the next request. */
  readonly cache?: CacheOptions;
  /**
   * How many tokens are asked about at the same time, from 1 to 65536. Beyond that a token is a fault at once: whoever
   * sends many that nobody knows shall not have a connection for each. Default: 256.
   */
  readonly maxQuestions?: number;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: Clock;
}

const INTROSPECTOR_OPTIONS: KindsOf<AccessTokenIntrospectorOptions> = {
  ...ASKING_OPTIONS,
  issuer: anyText,
  audience: anyTexts,
  credentials: anyValue,
  introspectionEndpoint: anyText,
  allowMissingTokenType: trueOrFalse,
  clockTolerance: anyValue,
  cache: anyValue,
  maxQuestions: anyValue,
  clock: anyFunction,
};

/**
 * Checks access tokens of any format by asking the authorization server (RFC 7662). Requests with the same token that
 * come together share one question, which never began before they came.
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
  readonly #questions = new SingleFlight<JsonObject>();
  readonly #limit: QuestionLimit;

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: AccessTokenIntrospectorOptions) {
    requireKinds(options, INTROSPECTOR_OPTIONS);
    const { audience, cache, clock = Date.now, introspectionEndpoint: endpoint } = options;
    const { maxQuestions = 256 } = options;
    const policy = requireIssuer(options);
    this.#issuer = policy.issuer;
    this.#audience = audience === undefined ? undefined : requireAudience(audience);
    this.#allowMissingTokenType = options.allowMissingTokenType ?? false;
    this.#clockTolerance = requireTolerance(options.clockTolerance);
    this.#clock = clock;
    this.#ask = guarded(options);
    this.#authenticate = authenticationBy(options.credentials, this.#issuer, clock);
    this.#limit = new QuestionLimit(requireBetween('maxQuestions', maxQuestions, 1, MOST_QUESTIONS));
    this.#remembered = cache && new ActiveTokens(cache);
    const metadata = new IssuerMetadata({ policy, fetchDocument: documentsBy(this.#ask), clock });
    const known =
      endpoint === undefined ? undefined : requireAskableUrl('introspectionEndpoint', endpoint, policy);
    this.#endpoint = async () => known ?? metadata.url('introspection_endpoint');
  }

  async verify(token: string): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
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
   * RFC 7662 §2.1, §2.2
   * @throws {DocumentError} the endpoint cannot be asked, refuses the API itself, or answers something else
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
    if (status !== 200) throw new DocumentError('failed', `introspection was answered with ${status}`);
    const answer = parseJson(body);
    if (isJsonObject(answer) && isReadable(answer)) return answer;
    throw new DocumentError('refused', 'the answer of introspection is not as RFC 7662 has it');
  }

  /** What an active token may still lack to be one for this API. */
  #judge({ iss, aud, exp, token_type: type, cnf }: Claims): void {
    if (iss !== undefined && iss !== this.#issuer) throw refusedToken('wrong_issuer');
    if (this.#audience !== undefined && !isMeantFor(this.#audience, aud))
      throw refusedToken('audience_wrong');
    const isOver = typeof exp === 'number' && this.#clock() / 1000 >= exp + this.#clockTolerance;
    if (isOver) throw refusedToken('expired');
    const isBearer = typeof type === 'string' ? type.toLowerCase() === 'bearer' : this.#allowMissingTokenType;
    // One that is bound to a key is not for whoever merely bears it.
    if (!isBearer || cnf !== undefined) throw refusedToken('wrong_type');
  }
}

function isReadable({ active, exp, scope, token_type: type }: JsonObject): boolean {
  if (typeof active !== 'boolean') return false;
  const isTime = exp === undefined || (typeof exp === 'number' && Number.isFinite(exp));
  return isTime && [scope, type].every((one) => one === undefined || typeof one === 'string');
}

export interface CacheOptions {
  /** Seconds for which an active token is believed without asking, 3600 at most: so long a revocation may go unseen. */
  readonly maxSeconds: number;
  /** How many tokens are remembered at most, within a factor of two; a million at most. Default: 10000. */
  readonly maxTokens?: number;
}

const CACHE_OPTIONS: KindsOf<CacheOptions> = { maxSeconds: anyValue, maxTokens: anyValue };

interface Remembered {
  readonly token: VerifiedAccessToken;
  /** Milliseconds. */
  readonly untilMs: number;
}

/** Tokens that introspection has called active, by their digest; never those that it has not, and no outage. */
class ActiveTokens {
  readonly #maxMs: number;
  readonly #tokens: RecentlyUsed<Remembered>;

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: CacheOptions) {
    requireKinds(options, CACHE_OPTIONS, 'cache');
    const { maxSeconds, maxTokens = 10_000 } = options;
    this.#maxMs = requireBetween('cache.maxSeconds', maxSeconds, 0, 3600) * 1000;
    this.#tokens = new RecentlyUsed(
      Math.ceil(requireBetween('cache.maxTokens', maxTokens, 1, 1_000_000) / 2),
    );
  }

  async find(token: string, nowMs: number): Promise<VerifiedAccessToken | undefined> {
    const remembered = this.#tokens.get(await sha256(token));
    return remembered !== undefined && nowMs < remembered.untilMs ? remembered.token : undefined;
  }

  /** @param askedAtMs milliseconds; when the question went out: what has happened since may not be in the answer */
  async remember(token: string, verified: VerifiedAccessToken, askedAtMs: number): Promise<void> {
    const expiresAtMs = (verified.expiresAt ?? Infinity) * 1000;
    const untilMs = Math.min(askedAtMs + this.#maxMs, expiresAtMs);
    this.#tokens.set(await sha256(token), { token: verified, untilMs });
  }
}

/** Questions that are under way at once. One too many is not asked, and does not wait either. */
class QuestionLimit {
  readonly #most: number;
  #underWay = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {DocumentError} as many as may be are under way */
  async within<T>(question: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.#most)
      throw new DocumentError('failed', 'too many questions are under way at once');
    this.#underWay += 1;
    try {
      return await question();
    } finally {
      this.#underWay -= 1;
    }
  }
}

/**
 * One question at a time for each key. Who asks while a question is under way shares the next one with all who come
 * until then, whatever becomes of the first: what they are told, an answer or a failure, is never older than the asking.
 */
class SingleFlight<T> {
  readonly #gathering = new Map<string, Promise<T>>();
  readonly #underWay = new Map<string, Promise<T>>();

  share(key: string, ask: () => Promise<T>): Promise<T> {
    const gathered = this.#gathering.get(key);
    if (gathered !== undefined) return gathered;
    const flight = this.#depart(key, ask);
    this.#gathering.set(key, flight);
    return flight;
  }

  async #depart(key: string, ask: () => Promise<T>): Promise<T> {
    // Its failure is that of those who asked it. Where there is none, those of this turn gather all the same.
    await Promise.allSettled([this.#underWay.get(key)]);
    this.#gathering.delete(key);
    const asked = ask();
    this.#underWay.set(key, asked);
    try {
      return await asked;
    } finally {
      if (this.#underWay.get(key) === asked) this.#underWay.delete(key);
    }
  }
}
