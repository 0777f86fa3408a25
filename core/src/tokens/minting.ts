import { sha256 } from '#hashing';
import type { Claims } from '../protocol/claims.ts';
import type { ClientRecord, NewToken, TokenFormat } from '../protocol/records.ts';
import type { SignedJwt } from './jwt_service.ts';

/** A token as the client gets it, and its record as storage keeps it. Minting stores nothing. */
export interface MintedToken {
  readonly token: string;
  readonly record: NewToken;
}

/** What a token is for. */
export interface TokenPurpose {
  readonly client: ClientRecord;
  readonly scopes: readonly string[];
  /** The server's own identifier of the person; absent where the client acts for itself. */
  readonly subject?: string;
  /** Claims besides the token's own: `username`, `auth_time`, `acr`, `amr`. */
  readonly claims?: Claims;
  readonly pairId?: string;
  readonly familyId?: string;
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
  subject,
  pairId,
  familyId,
  grantId,
  sessionId,
}: TokenPurpose) {
  return {
    clientId: client.id,
    scopes,
    ...(subject !== undefined && { subject }),
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
