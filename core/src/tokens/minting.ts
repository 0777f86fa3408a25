import { sha256 } from '#hashing';
import type { Claims } from '../protocol/claims.ts';
import type { ClaimsRequest } from '../protocol/claims_request.ts';
import type { ClientRecord, NewToken, TokenFormat } from '../protocol/records.ts';
import type { SignedJwt } from './jwt_service.ts';

/** A token as the client gets it, and its record as storage keeps it. Minting stores nothing. */
export interface MintedToken {
  readonly token: string;
  readonly record: NewToken;
}

export interface MintedAccessToken extends MintedToken {
  /** `aud` of the token. */
  readonly audience: string | readonly string[];
}

/** Whom a token is about. */
export interface Person {
  /** The server's own identifier. */
  readonly subject: string;
  /** The identifier that the client is told. */
  readonly sub: string;
}

/** What a token is for. */
export interface TokenPurpose {
  readonly client: ClientRecord;
  readonly scopes: readonly string[];
  /** Absent where the client acts for itself. */
  readonly person?: Person;
  /** Claims besides the token's own: `username`, `auth_time`, `acr`, `amr`, `sid`. */
  readonly claims?: Claims;
  /** What the authorization request asked for claim by claim. */
  readonly claimsRequest?: ClaimsRequest;
  /** `aud` of an access token; instead of the server's own. */
  readonly audience?: string | readonly string[];
  /** What access tokens of the grant may be for; a refresh token remembers it. */
  readonly resources?: readonly string[];
  readonly pairId?: string;
  readonly familyId?: string;
  /** Seconds at which the family of a refresh token ends; absent if it begins with this token. */
  readonly familyEnd?: number;
  readonly grantId?: string;
  readonly sessionId?: string;
  /** Seconds; instead of the server's own. */
  readonly lifetime?: number;
  /** Instead of the client's or the server's own. */
  readonly format?: TokenFormat;
}

/** The part of a record that says what the token is for. */
export function purposeOfRecord({
  client,
  scopes,
  person,
  pairId,
  familyId,
  grantId,
  sessionId,
}: TokenPurpose) {
  return {
    clientId: client.id,
    scopes,
    ...(person !== undefined && { subject: person.subject }),
    ...(pairId !== undefined && { pairId }),
    ...(familyId !== undefined && { familyId }),
    ...(grantId !== undefined && { grantId }),
    ...(sessionId !== undefined && { sessionId }),
  };
}

/** The part of a record by which an opaque token is found and recognised. */
export async function opaqueIdentity(token: string) {
  const digest = await sha256(token);
  return { id: digest, digest };
}

/** The part of a record by which a JWT is found and recognised. */
export async function jwtIdentity(jti: string, { token, keyId }: SignedJwt) {
  return { id: jti, digest: await sha256(token), keyId };
}
