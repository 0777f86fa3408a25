import type { Clock, RandomSource } from '../environment.ts';
import type { InactiveReason } from '../http/errors.ts';
import type { Claims, ClaimsByScope } from '../protocol/claims.ts';
import type { SigningAlgorithm, TokenFormat } from '../protocol/client_metadata.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import type { DeclaredClaims } from './application_claims.ts';
import type { JwtType } from './jwt.ts';
import type { JwtService } from './jwt_service.ts';
import type { ServerSecret } from './server_secret.ts';

/** A token with its record and its verified claims; it may still be dead. */
export interface FoundToken {
  readonly record: TokenRecord;
  readonly claims: Claims;
  /** Whether its `typ` is `JWT`: it is for one API alone (`apisWithPlainJwts`). */
  readonly isPlainJwt?: boolean;
}

/** Or why there is none; `kind` and `claims` where the signature has verified. */
export interface NoToken {
  readonly reason: InactiveReason;
  readonly kind?: TokenKind;
  readonly claims?: Claims;
  /** What it is, if it is another JWT of this server. */
  readonly type?: JwtType;
  readonly isPlainJwt?: boolean;
}

/** How a person stands; `undefined` where the host knows no such person (any more). */
export type SubjectState = 'active' | 'disabled' | undefined;

/** The attributes of a person by the server's own identifier; `undefined` where there is no such person. */
export type GetUserClaims = (subject: string) => Awaitable<Claims | undefined | null>;

/** OpenID Connect, where it is on. */
export interface OidcContext {
  readonly getUserClaims: GetUserClaims;
  readonly claimsByScope: ClaimsByScope;
}

/** Lifetimes in seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly refreshToken: number;
  /** Of a refresh token with all its successors; 0 is without end. */
  readonly refreshFamily: number;
  readonly idToken: number;
  readonly authorizationCode: number;
  readonly pushedRequest: number;
  /** How long the immediate predecessor of a rotated refresh token may be retried. */
  readonly refreshGrace: number;
}

/** What finding, judging and issuing tokens needs. */
export interface TokenContext {
  readonly issuer: string;
  readonly storage: ReadableStorage;
  readonly jwt: JwtService;
  readonly secret: ServerSecret;
  /** Of pairwise subject identifiers; without it there are none. */
  readonly pairwiseSecret: ServerSecret | undefined;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly lifetimes: Lifetimes;
  readonly defaultAudience: string | readonly string[];
  readonly accessTokenFormat: TokenFormat;
  /** Resource URIs of APIs whose access tokens have the `typ` of any JWT. */
  readonly apisWithPlainJwts: readonly string[];
  readonly accessTokenAlgorithm: SigningAlgorithm;
  readonly idTokenAlgorithm: SigningAlgorithm;
  readonly useOpaqueRefreshTokens: boolean;
  /** `undefined` if OpenID Connect is off. */
  readonly oidc: OidcContext | undefined;
  readonly getSubjectState: ((subject: string) => Awaitable<SubjectState>) | undefined;
  /** `undefined` if the application adds no claims. */
  readonly applicationClaims: DeclaredClaims | undefined;
  /** Finds a JWT that a former server signed. Resolves to `undefined` if no key of that server is named. */
  readonly findFormerToken: ((token: string) => Promise<FoundToken | NoToken | undefined>) | undefined;
}
