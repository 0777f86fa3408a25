// Reads the records of a host's tables, with values as drivers return them. Other values are storage faults.
import { StorageFault } from '../http/errors.ts';
import { isScopeToken } from '../http/form.ts';
import { isJsonObject } from '../http/http.ts';
import type { Claims, Confirmation } from '../protocol/claims.ts';
import { AUTHENTICATION_METHODS } from '../protocol/client_metadata.ts';
import type { PendingRow } from '../protocol/pending.ts';
import { isTokenKind, PRINCIPALS } from '../protocol/record_rules.ts';
import type {
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  ClientSecretRecord,
  Principal,
  Standing,
  TokenKind,
  TokenRecord,
} from '../protocol/records.ts';
import { AUTHORIZATION_CODES, CLIENTS, columnsWithout, PENDING, type StoreType, TOKENS } from './columns.ts';
import type { HostClient, HostToken, ReadTokenName } from './contract.ts';
import { asFault } from './faults.ts';

// Records are read member by member into plain data. `null` counts as absence, because many databases return it. Class
// instances work too, including getters.

/** The members of a record and the types of their values. The type requires that all are listed. */
type Members<T> = {
  readonly [M in keyof Required<T>]: { readonly type: StoreType } & (T extends Record<M, T[M]>
    ? { readonly optional?: never }
    : { readonly optional: true });
};

const OPTIONAL_TEXT = { type: 'text', optional: true } as const;
const OPTIONAL_INTEGER = { type: 'integer', optional: true } as const;
const OPTIONAL_LIST = { type: 'json', optional: true } as const;

/** A minimal host keeps neither grants nor redirect URIs. */
const CLIENT: Members<Omit<ClientRecord, 'id' | HostedList> & Partial<Pick<ClientRecord, HostedList>>> = {
  ...columnsWithout(CLIENTS, 'id'),
  grantTypes: OPTIONAL_LIST,
  scopes: OPTIONAL_LIST,
  redirectUris: OPTIONAL_LIST,
};

type HostedList = 'grantTypes' | 'scopes' | 'redirectUris';

const CLIENT_SECRET: Members<ClientSecretRecord> = {
  hash: { type: 'text' },
  sealed: OPTIONAL_TEXT,
  serverSecret: OPTIONAL_TEXT,
  createdAtMs: OPTIONAL_INTEGER,
  expiresAt: OPTIONAL_INTEGER,
  lastUsedAtMs: OPTIONAL_INTEGER,
};

const API: Members<ApiRecord> = {
  clientId: { type: 'text' },
  resource: { type: 'text' },
  scopes: { type: 'json' },
};

/** The lookup determines identifier and kind of a token. */
type HostedToken = Omit<TokenRecord, 'id' | 'kind' | 'clientId' | 'standing' | 'issuedAtMs' | 'version'> &
  Partial<Pick<TokenRecord, 'issuedAtMs'>>;

const TOKEN: Members<HostedToken> = {
  ...columnsWithout(TOKENS, 'id', 'kind', 'clientId', 'keepUntil'),
  digest: OPTIONAL_TEXT,
  issuedAtMs: OPTIONAL_INTEGER,
  notBeforeMs: OPTIONAL_INTEGER,
};

const CODE: Members<Omit<AuthorizationCodeRecord, 'standing'>> = {
  ...columnsWithout(AUTHORIZATION_CODES, 'keepUntil'),
  notBeforeMs: OPTIONAL_INTEGER,
};

const STANDING: Members<Standing> = {
  copied: { type: 'integer' },
  current: { type: 'integer' },
  raisedAtMs: OPTIONAL_INTEGER,
  disabledAtMs: OPTIONAL_INTEGER,
};

type Check = (value: unknown) => boolean;
const isInteger: Check = Number.isSafeInteger;
const isText: Check = (value) => typeof value === 'string';
const isTextList: Check = (value) => Array.isArray(value) && value.every(isText);

/** Claims that introspection returns as stored (RFC 7662 §2.2), and their types. */
const CLAIMS: readonly (readonly [names: readonly string[], isOfType: Check, expected: string])[] = [
  [['exp', 'iat', 'nbf', 'auth_time'], isInteger, 'an integer'],
  [['username', 'sub', 'iss', 'jti', 'sid', 'acr'], isText, 'a text'],
  [['aud'], (value) => isText(value) || isTextList(value), 'a text or a list of texts'],
  [['amr'], isTextList, 'a list of texts'],
];

/** @throws {StorageFault} a member is missing or has a wrong type */
export function clientRecord(found: HostClient): ClientRecord {
  const id = idIn(found, 'a client', 'id');
  const client = read(found, CLIENT, 'a client');
  const metadata = metadataOf(found);
  return {
    grantTypes: [],
    scopes: [],
    redirectUris: [],
    ...client,
    id,
    ...(client.secrets && {
      secrets: client.secrets.map((secret) => read(secret, CLIENT_SECRET, 'a client secret')),
    }),
    ...(metadata && { metadata }),
  };
}

/** A host names the method beside the other members, or in the metadata. */
function metadataOf({ metadata, tokenEndpointAuthMethod: method }: HostClient): ClientRecord['metadata'] {
  if (method === undefined || method === null) return metadata ?? undefined;
  if (!AUTHENTICATION_METHODS.includes(method))
    throw wrong('a client', 'tokenEndpointAuthMethod', `one of ${AUTHENTICATION_METHODS.join(', ')}`, method);
  return { ...metadata, token_endpoint_auth_method: method };
}

/** @throws {StorageFault} a member is missing or has a wrong type */
export function apiRecord(found: ApiRecord): ApiRecord {
  return read(found, API, 'an API');
}

/** @throws {StorageFault} the host names the JWT otherwise than `identify` says */
export function tokenName(found: unknown): ReadTokenName | undefined {
  if (found === undefined || found === null) return undefined;
  if (!isJsonObject(found)) throw fault('identify must return { kind, key }, or undefined');
  const { kind, key } = found;
  return isTokenKind(kind) && typeof key === 'string' && key !== '' ? { kind, key } : undefined;
}

/** A host's record of a token, as far as it can be read. */
export interface ReadToken {
  readonly record: TokenRecord;
  /** Why the rest cannot be read. The record then has only what is needed to revoke the token. */
  readonly fault?: StorageFault;
}

/**
 * Reads a token, its owner first, so that a fault in the rest stays hidden from other clients.
 * @param kind that was looked up
 * @param id `jti` of a JWT or digest of an opaque token
 * @throws {StorageFault} the owner is missing
 */
export function readToken(found: HostToken, kind: TokenKind, id: string): ReadToken {
  const what = kind === 'access_token' ? 'an access token' : 'a refresh token';
  const owned = { id, kind, clientId: idIn(found, what, 'clientId') };
  try {
    requireClaimTypes(found.claims, what);
    const { claims, confirmation, ...members } = read(found as object, TOKEN, what);
    return {
      record: {
        issuedAtMs: Number.NaN, // a cutoff ends the token
        ...members,
        ...(claims && { claims: withoutNulls(claims) }),
        ...(confirmation && { confirmation: readBinding(confirmation) }),
        ...standing(found),
        ...owned,
      },
    };
  } catch (error) {
    // A getter of the host can throw anything.
    const record = { ...owned, scopes: [], issuedAtMs: Number.NaN, expiresAt: 0 };
    return { record, fault: asFault(error) };
  }
}

/** @throws {StorageFault} a member is missing or has a wrong type */
export function tokenRecord(found: HostToken, kind: TokenKind, id: string): TokenRecord {
  const { record, fault } = readToken(found, kind, id);
  if (fault !== undefined) throw fault;
  return record;
}

/** @throws {StorageFault} a member is missing, or a member or claim has a wrong type */
export function authorizationCodeRecord(found: AuthorizationCodeRecord): AuthorizationCodeRecord {
  const what = 'an authorization code';
  requireClaimTypes(found.claims, what);
  const record = read(found, CODE, what);
  if (!isText(record.claims.sub)) throw fault('the record of an authorization code has no claim sub');
  const { confirmation } = record;
  return {
    ...record,
    claims: withoutNulls(record.claims),
    ...(confirmation && { confirmation: readBinding(confirmation) }),
    ...standing(found),
  };
}

/** Members that are `null` are absent. Without members, no client could prove possession. */
function readBinding(confirmation: Confirmation): Confirmation {
  const members = withoutNulls(confirmation);
  if (Object.keys(members).length > 0) return members;
  throw fault('confirmation in the record of a token: expected jkt or x5t#S256, or null, found neither');
}

function withoutNulls<T extends object>(members: T): T {
  const entries = Object.entries(members);
  if (!entries.some(([, value]) => value === null)) return members;
  return Object.fromEntries(entries.filter(([, value]) => value !== null)) as T;
}

/** @throws {StorageFault} a member is missing or has a wrong type */
export function pendingRow(found: PendingRow): PendingRow {
  return read<PendingRow>(found, PENDING, 'a pending row');
}

function standing(found: Pick<HostToken, 'standing'>): Pick<TokenRecord, 'standing'> | undefined {
  if (!found.standing) return undefined;
  const standings: Partial<Record<Principal, Standing>> = {};
  for (const principal of PRINCIPALS) {
    const one = found.standing[principal];
    if (one) standings[principal] = read(one, STANDING, `a standing of a ${principal}`);
  }
  return { standing: standings };
}

/** A claim of the wrong type is a fault. Without the claim, introspection would return less than was issued. */
function requireClaimTypes(claims: Claims | null | undefined, what: string): void {
  if (claims === undefined || claims === null) return;
  if (!isJsonObject(claims)) throw wrong(what, 'claims', 'an object', claims);
  for (const [names, isOfType, expected] of CLAIMS)
    for (const name of names) {
      const value = claims[name] ?? undefined;
      if (value !== undefined && !isOfType(value)) throw wrong(what, `claims.${name}`, expected, value);
    }
}

function read<T extends object>(source: object, members: Members<T>, what: string): T {
  const record: Partial<Record<keyof T, unknown>> = {};
  for (const name in members) {
    const { type, optional } = members[name] as { readonly type: StoreType; readonly optional?: true };
    const value: unknown = Reflect.get(source, name) ?? endOf(source, name, what);
    if (value !== undefined && value !== null)
      record[name] = name === 'scopes' ? scopesOf(value, what) : READERS[type](value, what, name);
    else if (optional === undefined) throw fault(`the record of ${what} has no ${name}`);
  }
  return record as T; // every required member was found
}

/** Many tables call these times so. A revoked token or disabled client must not pass for another because of a name. */
function endOf(source: object, name: string, what: string): number | undefined {
  const other = name === 'revokedAtMs' ? 'revokedAt' : name === 'disabledAtMs' ? 'disabledAt' : undefined;
  const value: unknown = other && Reflect.get(source, other);
  if (other === undefined || value === undefined || value === null) return undefined;
  return integerOf(value, what, other) * 1000;
}

type Reader = (value: unknown, what: string, member: string) => unknown;

const READERS: Readonly<Record<StoreType, Reader>> = {
  text(value, what, member) {
    if (typeof value === 'string') return value;
    if (IDENTIFIER.test(member)) return idOf(value, what, member);
    throw wrong(what, member, 'a text', value);
  },
  integer: integerOf,
  flag(value, what, member) {
    if (typeof value === 'boolean') return value;
    if (value === 0 || value === 0n || value === 1 || value === 1n) return value > 0;
    throw wrong(what, member, 'true, false, 0 or 1', value);
  },
  json(value, what, member) {
    if (typeof value === 'object') return value;
    throw wrong(what, member, 'an object or a list', value);
  },
};

const IDENTIFIER = /^subject$|Id$/;

/** Reads the first member of a record. A list of rows is a common mistake. */
function idIn(found: object, what: string, member: string): string {
  if (isJsonObject(found)) return idOf(found[member], what, member);
  throw fault(`the record of ${what}: expected an object, found ${describe(found)}`);
}

/** Identifiers of many tables are integers. */
function idOf(value: unknown, what: string, member: string): string {
  if (typeof value === 'string') return value;
  if (isInteger(value) || typeof value === 'bigint') return String(value);
  if (value === undefined || value === null) throw fault(`the record of ${what} has no ${member}`);
  throw wrong(what, member, 'a text or an integer', value);
}

const INTEGER = /^-?\d{1,16}$/;

/** As seconds, this is the year 2001. As milliseconds, it is January 1970. */
const FIRST_SECONDS = 10 ** 9;

/** As seconds, this is the year 5138. As milliseconds, it is 1973. */
const FIRST_MILLISECONDS = 10 ** 11;

/** Reads a time or a counter. By their names, times are in milliseconds (`…Ms`) or seconds (`…At`). */
function integerOf(value: unknown, what: string, member: string): number {
  const isMs = member.endsWith('Ms');
  const isSeconds = member.endsWith('At');
  const number = numberOf(value, isMs || isSeconds, isSeconds);
  const expected =
    isMs || isSeconds ? `${isMs ? 'milli' : ''}seconds since 1970 as an integer, or a Date` : 'an integer';
  if (number === undefined) throw wrong(what, member, expected, value);
  const isMilliseconds = number >= FIRST_MILLISECONDS;
  if (isMs ? isMilliseconds || number < FIRST_SECONDS : !isSeconds || !isMilliseconds) return number;
  throw wrong(what, member, `${expected}. Is it in ${isMs ? '' : 'milli'}seconds?`, value);
}

function numberOf(value: unknown, isTime: boolean, isSeconds: boolean): number | undefined {
  if (value instanceof Date && isTime)
    return integer(isSeconds ? Math.floor(value.getTime() / 1000) : value.getTime());
  if (typeof value === 'bigint') return integer(Number(value));
  if (typeof value === 'string') return INTEGER.test(value) ? integer(Number(value)) : undefined;
  return typeof value === 'number' ? integer(value) : undefined;
}

function integer(value: number): number | undefined {
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Reads a list, or the text of the `scope` parameter (RFC 6749 §3.3). */
function scopesOf(value: unknown, what: string): readonly string[] {
  const scopes = typeof value === 'string' ? value.split(' ').filter((scope) => scope !== '') : value;
  if (isTextList(scopes) && (scopes as readonly string[]).every(isScopeToken))
    return scopes as readonly string[];
  throw wrong(what, 'scopes', 'a list of scopes, or their text with spaces in between', value);
}

function fault(message: string): StorageFault {
  return new StorageFault(new TypeError(message));
}

function wrong(what: string, member: string, expected: string, found: unknown): StorageFault {
  return fault(`${member} in the record of ${what}: expected ${expected}, found ${describe(found)}`);
}

/** The error of a host's method that must return true or false. */
export function noBoolean(method: string, found: unknown): TypeError {
  return new TypeError(`${method}: expected true or false, found ${describe(found)}`);
}

/** A text can be a secret in the wrong column. */
function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value instanceof Date)
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : `the Date ${value.toISOString()}`;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
    return `the ${typeof value} ${value}`;
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return /^[\d .:+\-TZ]{1,40}$/.test(value) ? `the text ${value}` : 'a text';
  return isJsonObject(value) ? 'an object' : `a ${typeof value}`;
}
