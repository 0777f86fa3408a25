import type { NewToken, Standing, TokenKind, TokenRecord } from '../protocol/records.ts';
import type { PrincipalState } from './contract.ts';
import { tokenRecord } from './host_records.ts';

/** A token of a former server, as its tables know it. */
export interface FormerToken {
  readonly clientId: string;
  /** The server's own identifier of the person; absent where the client acts for itself. */
  readonly subject?: string | null | undefined;
  readonly scopes: readonly string[];
  /** Milliseconds. */
  readonly issuedAtMs: number;
  /** Milliseconds, rounded up to a second. Zero is a revoked token. Where the token has an `exp`, that holds as well. */
  readonly expiresAtMs: number;
  /** Access tokens: `id` of the refresh token that they came with, where there was one. */
  readonly refreshTokenId?: string | null | undefined;
}

/** `keyId` of their records, which no key of the server's has. */
const KEY_ID = 'of a former server';

/** How the families begin that a former refresh token and whatever it is exchanged for are of; no others do. */
const FAMILY_PREFIX = 'former:';

/** The form of a digest (43 characters of base64url), and no token's: a copy is never found from one that we signed. */
const NO_TOKENS_DIGEST = 'A'.repeat(43);

/** @throws {StorageFault} a member that must be there is not */
export function formerRecord(kind: TokenKind, id: string, found: FormerToken): TokenRecord {
  const { clientId, subject, scopes, issuedAtMs, expiresAtMs, refreshTokenId } = found;
  const refreshId = kind === 'refresh_token' ? id : refreshTokenId;
  const familyId = `${FAMILY_PREFIX}${refreshId}`;
  return tokenRecord(
    {
      ...{ id, kind, keyId: KEY_ID, clientId, scopes, issuedAtMs },
      ...(kind === 'access_token' && { tokenType: 'Bearer' }),
      ...(subject != null && { subject }),
      ...(refreshId != null && { familyId, grantId: familyId }),
      expiresAt: Math.ceil(expiresAtMs / 1000),
    },
    kind,
  );
}

export function isFormer({ keyId }: TokenRecord): boolean {
  return keyId === KEY_ID;
}

/** `id` of the former refresh token that a token came with, or descends from. */
export function refreshTokenIdOf({ familyId }: TokenRecord): string | undefined {
  return familyId?.startsWith(FAMILY_PREFIX) ? familyId.slice(FAMILY_PREFIX.length) : undefined;
}

/** A former refresh token for the server's own storage, kept as long as it could be used. */
export function copyOfFormer({ standing: _, ...record }: TokenRecord): NewToken {
  return { ...record, digest: NO_TOKENS_DIGEST, keepUntil: record.expiresAt };
}

/**
 * A former token copied no generation: it is behind where all was ended at the time of its issue or later, in the same
 * millisecond too.
 */
export function standingOf(
  state: PrincipalState | null | undefined,
  issuedAtMs: number,
): Standing | undefined {
  if (!state) return undefined;
  const { raisedAtMs, disabledAtMs } = state;
  return {
    copied: 0,
    current: raisedAtMs == null || issuedAtMs > raisedAtMs ? 0 : 1,
    ...(raisedAtMs != null && { raisedAtMs }),
    ...(disabledAtMs != null && { disabledAtMs }),
  };
}
