import {
  type AuthorizationCodeRecord,
  type ClientRecord,
  PRINCIPALS,
  type TokenKind,
  type TokenRecord,
} from '../protocol/records.ts';

/*
 * A host's records as everything above relies on them: plain data with the members of the contract and no others.
 * `null`, which many databases answer, is absence, of a record as of a member; instances of classes are read
 * member by member, getters included.
 */

type Host<T> = T | null | undefined;

const CLIENT_MEMBERS = [
  'id',
  'name',
  'secretHash',
  'grantTypes',
  'scopes',
  'redirectUris',
  'resource',
  'rotateRefreshTokens',
  'accessTokenFormat',
  'accessTokenAlgorithm',
  'idTokenAlgorithm',
  'generation',
  'disabledAtMs',
] as const satisfies readonly (keyof ClientRecord)[];

const TOKEN_MEMBERS = [
  'id',
  'digest',
  'clientId',
  'scopes',
  'tokenType',
  'subject',
  'claims',
  'issuedAtMs',
  'expiresAt',
  'keyId',
  'pairId',
  'familyId',
  'grantId',
  'sessionId',
  'supersededAtMs',
  'successorId',
  'revokedAtMs',
  'notBeforeMs',
] as const satisfies readonly (keyof TokenRecord)[];

const CODE_MEMBERS = [
  'id',
  'clientId',
  'redirectUri',
  'redirectUriGiven',
  'codeChallenge',
  'scopes',
  'subject',
  'grantId',
  'sessionId',
  'nonce',
  'claims',
  'issuedAtMs',
  'expiresAt',
  'redeemedAtMs',
  'revokedAtMs',
  'notBeforeMs',
] as const satisfies readonly (keyof AuthorizationCodeRecord)[];

const STANDING_MEMBERS = ['copied', 'current', 'raisedAtMs', 'disabledAtMs'] as const;

export function clientRecord(found: Host<ClientRecord>): ClientRecord | undefined {
  return found ? members<ClientRecord>(found, CLIENT_MEMBERS) : undefined;
}

/** @param kind what was looked for; a token is of no other kind than that by which it was found */
export function tokenRecord(found: Host<TokenRecord>, kind: TokenKind): TokenRecord | undefined {
  if (!found) return undefined;
  return { ...members<TokenRecord>(found, TOKEN_MEMBERS), ...standing(found), kind };
}

export function authorizationCodeRecord(
  found: Host<AuthorizationCodeRecord>,
): AuthorizationCodeRecord | undefined {
  return found ? { ...members<AuthorizationCodeRecord>(found, CODE_MEMBERS), ...standing(found) } : undefined;
}

function standing(found: Pick<TokenRecord, 'standing'>): Pick<TokenRecord, 'standing'> | undefined {
  if (!found.standing) return undefined;
  const read: {
    -readonly [P in keyof NonNullable<TokenRecord['standing']>]: NonNullable<TokenRecord['standing']>[P];
  } = {};
  for (const principal of PRINCIPALS) {
    const one = found.standing[principal];
    if (one) read[principal] = members(one, STANDING_MEMBERS);
  }
  return { standing: read };
}

function members<T extends object>(source: T, names: readonly (keyof T)[]): T {
  const read: Partial<T> = {};
  for (const name of names) {
    const value = source[name];
    if (value !== undefined && value !== null) read[name] = value;
  }
  return read as T;
}
