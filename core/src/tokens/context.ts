import type { Clock, RandomSource } from '../protocol/environment.ts';
import type { TokenFormat } from '../protocol/records.ts';
import type { SigningAlgorithm } from '../protocol/signing_algorithm.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { FindFormerToken } from '../storage/former_tokens.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import type { DeclaredClaims } from './application_claims.ts';
import type { FormerJwts } from './former_jwts.ts';
import type { JwtService } from './jwt_service.ts';
import type { ServerSecret } from './server_secret.ts';

/** How a person stands; `undefined` where the host knows no such person (any more). */
export type SubjectState = 'active' | 'disabled' | undefined;

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
  readonly getSubjectState: ((subject: string) => Awaitable<SubjectState>) | undefined;
  /** `undefined` if the application adds no claims. */
  readonly applicationClaims: DeclaredClaims | undefined;
  /** What another server signed, and where it is kept; absent where there was none. */
  readonly formerTokens: { readonly jwts: FormerJwts; readonly find: FindFormerToken } | undefined;
}
