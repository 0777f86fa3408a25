// Checks access tokens in the API, and follows what the authorization server ends.
import type { TokenScheme } from '@grantd/core/internal/http/bearer';
import { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
import { RecentlyUsed } from '@grantd/core/internal/platform/cache';
import { defined, observe } from '@grantd/core/internal/platform/environment';
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
import { AccessTokenIntrospector, type AccessTokenIntrospectorOptions } from './access_token_introspector.ts';
import { AccessTokenVerifier, type AccessTokenVerifierOptions } from './access_token_verifier.ts';
import { EndingFeed, keysOf } from './ending_feed.ts';
import { authenticationBy, type IntrospectionCredentials } from './introspection_credentials.ts';
import {
  guarded,
  REQUEST_OPTIONS,
  type RequestOptions,
  requireBetween,
  requireIssuer,
  requireRequestUrl,
} from './issuer_metadata.ts';
import {
  type AccessTokens,
  refusedToken,
  requireBinding,
  requireTokenLength,
  type VerifiedAccessToken,
} from './verified_access_token.ts';

export interface AccessTokenFollowerOptions
  extends RequestOptions,
    Pick<
      AccessTokenIntrospectorOptions,
      'introspectionEndpoint' | 'clockTolerance' | 'maxConcurrentRequests' | 'clock'
    >,
    Pick<AccessTokenVerifierOptions, 'jwksUri' | 'jwks' | 'algorithms'> {
  /** URL of the authorization server, exactly as in its tokens and metadata. */
  readonly issuer: string;
  /** Audience (`aud`) of this API. If there are several, a token needs one of them. */
  readonly audience: string | readonly string[];
  /**
   * Of a client that an operator has added to the authorization server as an API: its `resource` is the audience, or it
   * has `follow_all`.
   */
  readonly credentials: IntrospectionCredentials;
  /** URL of the feed of endings. Default: `/token/follow` below the issuer. */
  readonly followEndpoint?: string;
  /**
   * Seconds, from 2 to 60. If the last proof of contact is older, each token is introspected, and if that fails too, the
   * answer is 503. Default: 3.
   */
  readonly maxSilence?: number;
  /**
   * Whether a JWT is introspected once, when it is first seen. Without that, a thief of a signing key can make
   * tokens that were never issued. Default: `false`.
   */
  readonly checkIssued?: boolean;
  /** Tokens whose check is remembered, from 2 to 1000000. Default: 100000. */
  readonly cachedTokens?: number;
  /**
   * Called when contact begins, when it has been lost for longer than `maxSilence`, and if it cannot begin.
   * @example
   * onContact: ({ isInContact, fault }) => log.info({ isInContact, fault }),
   */
  readonly onContact?: (status: FollowerStatus) => unknown;
}

const FOLLOWER_OPTIONS: KindsOf<AccessTokenFollowerOptions> = {
  ...REQUEST_OPTIONS,
  issuer: anyText,
  audience: anyTexts,
  credentials: anyValue,
  introspectionEndpoint: anyText,
  clockTolerance: anyValue,
  maxConcurrentRequests: anyValue,
  clock: anyFunction,
  jwksUri: anyText,
  jwks: anyValue,
  algorithms: anyTexts,
  followEndpoint: anyText,
  maxSilence: anyValue,
  checkIssued: trueOrFalse,
  cachedTokens: anyValue,
  onContact: anyFunction,
};

/** Milliseconds after which the signature of a remembered JWT is verified again, because its key may be gone. */
const VERIFIED_FOR_MS = 60_000;

/** Milliseconds for which an inactive token is refused without asking again. */
const INACTIVE_FOR_MS = 60_000;

/** What is known about a token. */
interface Known {
  /** `undefined` if it is not active. */
  readonly token: VerifiedAccessToken | undefined;
  readonly keys: readonly number[];
  /** Later endings under one of the keys may have ended it. */
  readonly position: number;
  readonly era: number;
  /** Milliseconds since 1970. After `verifiedUntilMs`, the signature of a JWT is verified again. */
  readonly verifiedUntilMs: number;
  readonly untilMs: number;
}

/**
 * Checks access tokens without a request per token, and notices revocations within milliseconds: it follows a feed that
 * tells about whose tokens it has to ask again. JWTs are verified here. A token of another format is introspected once.
 * Without contact to the feed, each token is introspected, and if that fails too, the answer is 503.
 *
 * One follower serves all routes of a process. It connects at the first token, or with `ready()`. Call `close()` before
 * the process ends.
 * @example
 * const tokens = new AccessTokenFollower({
 *   issuer: 'https://login.example',
 *   audience: 'https://api.example',
 *   credentials: { clientId: 'api', clientSecret },
 * });
 * await tokens.ready();
 * app.use(protect({ tokens, scopes: ['read'] }));
 */
export class AccessTokenFollower implements AccessTokens {
  readonly #verifier: AccessTokenVerifier;
  readonly #introspector: AccessTokenIntrospector;
  readonly #feed: EndingFeed;
  readonly #known: RecentlyUsed<Known>;
  readonly #checksIssued: boolean;
  readonly #maxSilenceMs: number;
  readonly #clock: () => number;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: AccessTokenFollowerOptions) {
    requireKinds(options, FOLLOWER_OPTIONS);
    const { issuer, audience, credentials, followEndpoint, maxSilence = 3, cachedTokens = 100_000 } = options;
    const { introspectionEndpoint, maxConcurrentRequests, jwksUri, jwks, algorithms } = options;
    const {
      fetch = (url, init) => globalThis.fetch(url, init),
      timeoutMs = 5000,
      clock = Date.now,
    } = options;
    const { allowInsecureRequests, clockTolerance, onContact = () => undefined } = options;
    const requests = defined({ fetch, timeoutMs, allowInsecureRequests, clockTolerance, clock });
    if (audience === undefined) throw new ConfigurationError('audience', 'one or more audiences, none empty');
    this.#verifier = new AccessTokenVerifier({
      ...{ issuer, audience },
      ...requests,
      ...defined({ jwksUri, jwks, algorithms }),
    });
    this.#introspector = new AccessTokenIntrospector({
      ...{ issuer, audience, credentials },
      ...requests,
      ...defined({ introspectionEndpoint, maxConcurrentRequests }),
    });
    const policy = requireIssuer(options);
    this.#maxSilenceMs = requireBetween('maxSilence', maxSilence, 2, 60) * 1000;
    this.#known = new RecentlyUsed(requireBetween('cachedTokens', cachedTokens, 2, 1_000_000));
    this.#checksIssued = options.checkIssued ?? false;
    this.#clock = clock;
    this.#feed = new EndingFeed({
      ...{ fetch, timeoutMs, clock, maxSilenceMs: this.#maxSilenceMs },
      onContact: () => observe('onContact', onContact, this.status()),
      ask: guarded({ fetch, timeoutMs }),
      endpoint: requireRequestUrl(
        'followEndpoint',
        followEndpoint ?? `${issuer.replace(/\/$/, '')}/token/follow`,
        policy,
      ),
      authenticate: authenticationBy(credentials, issuer, clock),
      audiences: [audience].flat(),
    });
  }

  get accepts(): NonNullable<AccessTokens['accepts']> {
    return this.#verifier.accepts;
  }

  /**
   * Connects, and resolves at the first contact.
   * @throws {Error} the server refuses the credentials, the client or the URL; or the follower was closed before
   */
  async ready(): Promise<void> {
    this.#feed.start();
    // The feed alone does not keep a process alive.
    const alive = setInterval(() => {}, 60_000);
    try {
      await this.#feed.ready;
    } finally {
      clearInterval(alive);
    }
  }

  /** Ends the connection. Later tokens are introspected. */
  close(): Promise<void> {
    return this.#feed.close();
  }

  /** For health checks and metrics. */
  status(): FollowerStatus {
    const { size: endings, fault } = this.#feed;
    return { isInContact: this.#isInContact(), ageMs: this.#feed.ageMs(), endings, fault };
  }

  async verify(
    token: string,
    scheme: TokenScheme = 'Bearer',
    certificate?: string,
  ): Promise<VerifiedAccessToken> {
    requireTokenLength(token);
    this.#feed.start();
    if (!this.#isInContact()) return this.#introspector.verify(token, scheme, certificate);

    const digest = await sha256(token);
    const known = this.#known.get(digest);
    if (this.#isCurrent(known) && this.#clock() < known.verifiedUntilMs)
      return requireBinding(activeIn(known), scheme, certificate);

    const { position, era } = this.#feed;
    const jwt = isJwt(token) ? await this.#verifier.verify(token, scheme, certificate) : undefined;
    if (this.#isCurrent(known)) {
      this.#known.set(digest, { ...known, verifiedUntilMs: this.#clock() + VERIFIED_FOR_MS });
      return requireBinding(activeIn(known), scheme, certificate);
    }
    if (jwt !== undefined && !this.#checksIssued) {
      const keys = await keysIn(jwt);
      // Without another turn of the event loop, so that nothing ends between this look and the answer.
      if (
        keys !== undefined &&
        this.#isShort(jwt) &&
        this.#isInContact() &&
        this.#feed.lastOf(keys) === 0 &&
        era === this.#feed.era
      ) {
        this.#remember(digest, { token: jwt, keys, position, era });
        return jwt;
      }
    }
    return this.#ask(token, { digest, jwt, scheme, certificate });
  }

  /** Asked again after each wait, because keys may take long to come. */
  #isInContact(): boolean {
    return this.#feed.ageMs() <= this.#maxSilenceMs;
  }

  /** Whether nothing has happened since that could have changed what is known. */
  #isCurrent(known: Known | undefined): known is Known {
    if (known === undefined || this.#clock() >= known.untilMs || known.era !== this.#feed.era) return false;
    return this.#isInContact() && this.#feed.lastOf(known.keys) <= known.position;
  }

  async #ask(token: string, { digest, jwt, scheme, certificate }: Question): Promise<VerifiedAccessToken> {
    // What ends while the question is under way has a later position.
    const { position, era } = this.#feed;
    const keysOfJwt = jwt && (await keysIn(jwt));
    try {
      const answer = await this.#introspector.verify(token, scheme, certificate);
      const active = jwt ?? answer;
      const keys = keysOfJwt ?? (await keysIn(active));
      if (keys !== undefined) this.#remember(digest, { token: active, keys, position, era });
      return active;
    } catch (error) {
      const isInactive = error instanceof OAuthError && error.reason === 'not_active';
      if (isInactive && jwt !== undefined && keysOfJwt !== undefined)
        this.#remember(digest, { token: undefined, keys: keysOfJwt, position, era });
      throw error;
    }
  }

  #remember(digest: string, known: Omit<Known, 'verifiedUntilMs' | 'untilMs'>): void {
    if (known.era !== this.#feed.era) return;
    const nowMs = this.#clock();
    // A later ending is kept at least as long.
    const forMs = known.token === undefined ? INACTIVE_FOR_MS : this.#feed.keptForSeconds * 1000;
    const expiresAtMs = (known.token?.expiresAt ?? Infinity) * 1000;
    const untilMs = Math.min(nowMs + forMs, expiresAtMs);
    this.#known.set(digest, { ...known, verifiedUntilMs: nowMs + VERIFIED_FOR_MS, untilMs });
  }

  /** Whether the memory of an ending outlives the token. */
  #isShort({ claims: { iat, exp } }: VerifiedAccessToken): boolean {
    return typeof iat === 'number' && typeof exp === 'number' && exp - iat <= this.#feed.keptForSeconds;
  }
}

export interface FollowerStatus {
  readonly isInContact: boolean;
  /** Milliseconds since the moment up to which all endings are known. `Infinity` without contact. */
  readonly ageMs: number;
  /** Endings that are kept. */
  readonly endings: number;
  /** The last failure of the feed, if there is one. */
  readonly fault: unknown;
}

/** A token to ask about. */
interface Question {
  readonly digest: string;
  /** Its claims, if it is a JWT, whose signature is right. */
  readonly jwt: VerifiedAccessToken | undefined;
  readonly scheme: TokenScheme;
  readonly certificate: string | undefined;
}

/** @throws {OAuthError} `invalid_token`: it is not active */
function activeIn({ token }: Known): VerifiedAccessToken {
  if (token === undefined) throw refusedToken('not_active');
  return token;
}

/** @returns `undefined` for a token whose endings cannot be recognized */
async function keysIn({
  clientId,
  sub,
  claims,
}: VerifiedAccessToken): Promise<readonly number[] | undefined> {
  return clientId === undefined || sub === undefined ? undefined : keysOf(clientId, sub, claims.ending_keys);
}

function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}
