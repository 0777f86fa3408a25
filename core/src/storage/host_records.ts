import type { Claims } from '../protocol/claims.ts';
import { StorageFault } from '../protocol/oauth_error.ts';
import {
  type ApiRecord,
  type AuthorizationCodeRecord,
  type ClientRecord,
  type ClientSecretRecord,
  PRINCIPALS,
  type Principal,
  type PushedRequest,
  type Standing,
  type TokenKind,
  type TokenRecord,
} from '../protocol/records.ts';

/*
 * Clients, tokens, codes and pushed requests as everything above relies on them: plain data with the members of the contract and no
 * others. `null`, which many databases answer, is absence, of a record as of a member; instances of classes are
 * read member by member, getters included.
 */

/** Every member of a record, and whether it must be there. A member that is forgotten here does not compile. */
type Members<T> = { readonly [M in keyof Required<T>]: T extends Record<M, T[M]> ? 'required' : 'optional' };

const CLIENT: Members<ClientRecord> = {
  id: 'required',
  name: 'optional',
  secrets: 'optional',
  grantTypes: 'required',
  scopes: 'required',
  redirectUris: 'required',
  resource: 'optional',
  rotateRefreshTokens: 'optional',
  accessTokenFormat: 'optional',
  accessTokenAlgorithm: 'optional',
  idTokenAlgorithm: 'optional',
  metadata: 'optional',
  registrationTokenDigest: 'optional',
  registeredAt: 'optional',
  generation: 'optional',
  revision: 'optional',
  registrationRevision: 'optional',
  disabledAtMs: 'optional',
};

const CLIENT_SECRET: Members<ClientSecretRecord> = {
  hash: 'required',
  serverSecret: 'optional',
  createdAtMs: 'optional',
  expiresAt: 'optional',
  lastUsedAtMs: 'optional',
};

const API: Members<ApiRecord> = { clientId: 'required', resource: 'required', scopes: 'required' };

/** A token is of the kind by which it was found; whether an expiry or time of issue is there is a matter of its life. */
const TOKEN: Members<Omit<TokenRecord, 'kind' | 'standing' | 'expiresAt' | 'issuedAtMs'>> = {
  id: 'required',
  digest: 'optional',
  clientId: 'required',
  scopes: 'required',
  tokenType: 'optional',
  subject: 'optional',
  claims: 'optional',
  claimsRequest: 'optional',
  resources: 'optional',
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
  claimsRequest: 'optional',
  resources: 'optional',
  redeemedAtMs: 'optional',
  revokedAtMs: 'optional',
  notBeforeMs: 'optional',
};

const PUSHED_REQUEST: Members<PushedRequest> = {
  id: 'required',
  clientId: 'required',
  parameters: 'required',
  expiresAt: 'required',
};

const STANDING: Members<Standing> = {
  copied: 'required',
  current: 'required',
  raisedAtMs: 'optional',
  disabledAtMs: 'optional',
};

type Check = (value: unknown) => boolean;
const isInteger: Check = Number.isSafeInteger;
const isText: Check = (value) => typeof value === 'string';
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);

/** Claims that go out as they are kept (RFC 7662 §2.2), and what each must be. */
const CLAIMS: readonly (readonly [name: string, isOfType: Check])[] = [
  ['exp', isInteger],
  ['iat', isInteger],
  ['nbf', isInteger],
  ['username', isText],
  ['sub', isText],
  ['iss', isText],
  ['jti', isText],
  ['aud', (value) => isText(value) || isTextList(value)],
  ['sid', isText],
  ['auth_time', isInteger],
  ['acr', isText],
  ['amr', isTextList],
];

/** @throws {StorageFault} a member that must be there is not */
export function clientRecord(found: ClientRecord | null | undefined): ClientRecord | undefined {
  if (!found) return undefined;
  const client = read(found, CLIENT, 'client');
  if (client.secrets === undefined) return client;
  return { ...client, secrets: client.secrets.map((one) => read(one, CLIENT_SECRET, 'client secret')) };
}

/** @throws {StorageFault} a member that must be there is not */
export function apiRecords(found: readonly ApiRecord[] | null | undefined): readonly ApiRecord[] {
  return (found ?? []).map((api) => read(api, API, 'API'));
}

/**
 * @param kind what was looked for
 * @throws {StorageFault} a member that must be there is not, or a claim is of the wrong type
 */
export function tokenRecord(found: TokenRecord, kind: TokenKind): TokenRecord {
  const { expiresAt, issuedAtMs } = found;
  requireClaimTypes(found.claims);
  return { ...read(found, TOKEN, 'token'), ...standing(found), kind, expiresAt, issuedAtMs };
}

/** @throws {StorageFault} a member that must be there is not, or a claim is of the wrong type */
export function authorizationCodeRecord(found: AuthorizationCodeRecord): AuthorizationCodeRecord {
  const { expiresAt, issuedAtMs } = found;
  requireClaimTypes(found.claims);
  return { ...read(found, CODE, 'authorization code'), ...standing(found), expiresAt, issuedAtMs };
}

/** @throws {StorageFault} a member that must be there is not */
export function pushedRequest(found: PushedRequest | null | undefined): PushedRequest | undefined {
  return found ? read(found, PUSHED_REQUEST, 'pushed request') : undefined;
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

/** A wrong claim is no absent one: without it, an answer would say less than was issued. */
function requireClaimTypes(claims: Claims | null | undefined): void {
  if (claims === undefined || claims === null) return;
  if (typeof claims !== 'object') throw new StorageFault(new TypeError('claims that are no object'));
  for (const [name, isOfType] of CLAIMS) {
    const value = claims[name];
    if (value === undefined || value === null || isOfType(value)) continue;
    throw new StorageFault(new TypeError(`a claim ${name} of the wrong type`));
  }
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
