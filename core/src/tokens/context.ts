// What finding, checking and issuing tokens depends on.

import type { InactiveReason } from '../http/errors.ts';
import type { Clock, RandomSource } from '../platform/environment.ts';
import type { Claims, ClaimsByScope } from '../protocol/claims.ts';
import type { ProfileName, SigningAlgorithm, TokenFormat } from '../protocol/client_metadata.ts';
import type { TokenKind, TokenRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { ReadableStorage } from '../storage/host_storage.ts';
import type { DeclaredClaims } from './application_claims.ts';
import type { DetailsTypes } from './authorization_details.ts';
import type { JwtType } from './jwt.ts';
import type { JwtService } from './jwt_service.ts';
import type { ServerSecret } from './server_secret.ts';

/** A token with record and verified claims. It may be inactive. */
export interface FoundToken {
  readonly record: TokenRecord;
  readonly claims: Claims;
  /** Whether `typ` is `JWT` or absent. Such a token is for one API only (`apisWithPlainJwts`), or a host's own. */
  readonly hasGenericType?: boolean;
}

/** The user that a token is about. */
export interface Person {
  /** The server's own identifier. */
  readonly subject: string;
  /** The identifier by which the client knows the user. */
  readonly sub: string;
}

/** Why no token was found. `kind` and `claims` are present if the signature has verified. */
export interface NoToken {
  readonly reason: InactiveReason;
  readonly kind?: TokenKind;
  readonly claims?: Claims;
  /** The type, if the text is another JWT of this server. */
  readonly type?: JwtType;
  /** What a host's verifier rejected with, for events alone. */
  readonly cause?: unknown;
  readonly hasGenericType?: boolean;
}

/** The host's state of a user; `undefined` if the user does not exist. */
export type SubjectState = 'active' | 'disabled' | undefined;

/** Returns a user's claims, or `undefined` if the user does not exist. */
export type GetUserClaims = (subject: string) => Awaitable<Claims | undefined | null>;

/** The option `oidc` with defaults. */
export interface OidcContext {
  readonly getUserClaims: GetUserClaims;
  readonly claimsByScope: ClaimsByScope;
}

/** Lifetimes in seconds. */
export interface Lifetimes {
  readonly accessToken: number;
  readonly refreshToken: number;
  /** Maximum lifetime of a refresh token with all its successors; 0 means no limit. */
  readonly refreshFamily: number;
  readonly idToken: number;
  readonly authorizationCode: number;
  readonly pushedRequest: number;
  /** Time in which a rotated refresh token can be retried. */
  readonly refreshGrace: number;
}

export interface TokenContext {
  readonly issuer: string;
  /** The security profile of every client. `undefined`: each client may have its own. */
  readonly profile: ProfileName | undefined;
  readonly storage: ReadableStorage;
  readonly jwt: JwtService;
  readonly secret: ServerSecret;
  /** Secret of pairwise subject identifiers. Without it, no client can have them. */
  readonly pairwiseSecret: ServerSecret | undefined;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly lifetimes: Lifetimes;
  readonly defaultAudience: string | readonly string[];
  readonly accessTokenFormat: TokenFormat;
  /** Resource URIs of APIs whose access tokens have `typ: JWT`. */
  readonly apisWithPlainJwts: readonly string[];
  readonly accessTokenAlgorithm: SigningAlgorithm;
  readonly idTokenAlgorithm: SigningAlgorithm;
  readonly useOpaqueRefreshTokens: boolean;
  /** Whether UserInfo accepts access tokens whose `typ` is not `at+jwt`. */
  readonly insecureAllowGenericJwts: boolean;
  /** `undefined` if OpenID Connect is off. */
  readonly oidc: OidcContext | undefined;
  readonly getSubjectState: ((subject: string) => Awaitable<SubjectState>) | undefined;
  /** `undefined` if the application adds no claims. */
  readonly applicationClaims: DeclaredClaims | undefined;
  /** `undefined` if the server knows no types of authorization details. */
  readonly authorizationDetails: DetailsTypes | undefined;
  /** Finds a previous server's token. Resolves to `undefined` if the token names no key of that server. */
  readonly findPreviousToken: ((token: string) => Promise<FoundToken | NoToken | undefined>) | undefined;
}
