import { StorageFault } from '../protocol/oauth_error.ts';
import {
  type AuthorizationCodeRecord,
  type ClientRecord,
  PRINCIPALS,
  type Principal,
  type Standing,
  type TokenKind,
  type TokenRecord,
} from '../protocol/records.ts';

/*
 * Clients, tokens and codes as everything above relies on them: plain data with the members of the contract and no
 * others. `null`, which many databases answer, is absence, of a record as of a member; instances of classes are
 * read member by member, getters included.
 */

/** Every member of a record, and whether it must be there. A member that is forgotten here does not compile. */
type Members<T> = { readonly [M in keyof Required<T>]: T extends Record<M, T[M]> ? 'required' : 'optional' };

const CLIENT: Members<ClientRecord> = {
  id: 'required',
  name: 'optional',
  secretHash: 'optional',
  grantTypes: 'required',
  scopes: 'required',
  redirectUris: 'required',
  resource: 'optional',
  rotateRefreshTokens: 'optional',
  accessTokenFormat: 'optional',
  accessTokenAlgorithm: 'optional',
  idTokenAlgorithm: 'optional',
  generation: 'optional',
  disabledAtMs: 'optional',
};

/** A token is of the kind by which it was found; whether an expiry or time of issue is there is a matter of its life. */
const TOKEN: Members<Omit<TokenRecord, 'kind' | 'standing' | 'expiresAt' | 'issuedAtMs'>> = {
  id: 'required',
  digest: 'optional',
  clientId: 'required',
  scopes: 'required',
  tokenType: 'optional',
  subject: 'optional',
  claims: 'optional',
  keyId: 'optional',
  pairId: 'optional',
  familyId: 'optional',
  grantId: 'optional',
  sessionId: 'optional',
  supersededAtMs: 'optional',
  successorId: 'optional',
  revokedAtMs: 'optional',
  notBeforeMs: 'optional',
};

const CODE: Members<Omit<AuthorizationCodeRecord, 'standing' | 'expiresAt' | 'issuedAtMs'>> = {
  id: 'required',
  clientId: 'required',
  redirectUri: 'required',
  redirectUriGiven: 'required',
  codeChallenge: 'optional',
  scopes: 'required',
  subject: 'required',
  grantId: 'required',
  sessionId: 'optional',
  nonce: 'optional',
  claims: 'required',
  redeemedAtMs: 'optional',
  revokedAtMs: 'optional',
  notBeforeMs: 'optional',
};

const STANDING: Members<Standing> = {
  copied: 'required',
  current: 'required',
  raisedAtMs: 'optional',
  disabledAtMs: 'optional',
};

/** @throws {StorageFault} a member that must be there is not */
export function clientRecord(found: ClientRecord | null | undefined): ClientRecord | undefined {
  return found ? read(found, CLIENT, 'client') : undefined;
}

/**
 * @param kind what was looked for
 * @throws {StorageFault} a member that must be there is not
 */
export function tokenRecord(found: TokenRecord, kind: TokenKind): TokenRecord {
  const { expiresAt, issuedAtMs } = found;
  return { ...read(found, TOKEN, 'token'), ...standing(found), kind, expiresAt, issuedAtMs };
}

/** @throws {StorageFault} a member that must be there is not */
export function authorizationCodeRecord(found: AuthorizationCodeRecord): AuthorizationCodeRecord {
  const { expiresAt, issuedAtMs } = found;
  return { ...read(found, CODE, 'authorization code'), ...standing(found), expiresAt, issuedAtMs };
}

function standing(found: Pick<TokenRecord, 'standing'>): Pick<TokenRecord, 'standing'> | undefined {
  if (!found.standing) return undefined;
  const standings: Partial<Record<Principal, Standing>> = {};
  for (const principal of PRINCIPALS) {
    const one = found.standing[principal];
    if (one) standings[principal] = read(one, STANDING, `standing of a ${principal}`);
  }
  return { standing: standings };
}

function read<T extends object>(source: T, members: Members<T>, what: string): T {
  const record: Partial<T> = {};
  for (const name in members) {
    const value = source[name];
    if (value !== undefined && value !== null) record[name] = value;
    else if (members[name] === 'required') throw new StorageFault(new TypeError(`a ${what} without ${name}`));
  }
  return record as T; // every required member was found
}
