// Adapts a host's storage: checks its methods and reads its records.
import { ConfigurationError, StorageFault } from '../http/errors.ts';
import { isJsonObject } from '../http/http.ts';
import type { Claims } from '../protocol/claims.ts';
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
import { AUTHORIZATION_CODES, CLIENTS, PUSHED_REQUESTS, presenceIn, TOKENS } from './columns.ts';
import type {
  AuthorizationCodeRepository,
  Awaitable,
  ClientRegistry,
  ClientRepository,
  Found,
  KeyRepository,
  OneTimeIdentifiers,
  PushedRequestRepository,
  Storage,
  TokenRepository,
} from './contract.ts';
import { guarded, guardedCall, isUnguarded } from './faults.ts';

/**
 * A host's storage as endpoints use it. Failures are `StorageFault`s, and lookups return plain records or
 * `undefined`. A record that is handed back to the host is the very object that the host returned.
 */
export interface ReadableStorage {
  /** Whether `standing.client` of token records comes from another repository than `clients`. */
  readonly hasOtherClients: boolean;
  /** Whether methods that store tokens upon a refresh token or code take `once`. */
  readonly takesOnce: boolean;
  readonly clients: Reading<ClientRepository, 'get', ClientRecord>;
  readonly tokens: Reading<TokenRepository, 'getByAccessToken' | 'getByRefreshToken', TokenRecord>;
  readonly authorizationCodes: Reading<AuthorizationCodeRepository, 'get', AuthorizationCodeRecord>;
  readonly oneTimeIdentifiers?: OneTimeIdentifiers;
  /** Only with `oneTimeIdentifiers`: without them, a pushed request would never end. */
  readonly pushedRequests?: Reading<PushedRequestRepository, 'get', PushedRequest>;
}

type Reading<R, Lookup extends keyof R, T> = Omit<R, Lookup | 'joinedClients' | 'takesOnce'> & {
  readonly [L in Lookup]: (id: string) => Awaitable<T | undefined>;
};

export function hostStorage(storage: Storage): ReadableStorage {
  const { oneTimeIdentifiers, pushedRequests, answersPlainRecords: isPlain = false } = storage;
  const { joinedClients = storage.clients } = storage.tokens;
  return {
    // By the lookup alone: the program records who changes a client around the store's own methods.
    hasOtherClients: joinedClients.get !== storage.clients.get,
    takesOnce: storage.tokens.takesOnce === true && storage.authorizationCodes.takesOnce === true,
    clients: isUnguarded(storage.clients)
      ? (storage.clients as ReadableStorage['clients'])
      : hostClients(guarded(storage.clients), isPlain),
    tokens: isUnguarded(storage.tokens)
      ? (storage.tokens as ReadableStorage['tokens'])
      : hostTokens(guarded(storage.tokens), isPlain),
    authorizationCodes: isUnguarded(storage.authorizationCodes)
      ? (storage.authorizationCodes as ReadableStorage['authorizationCodes'])
      : hostCodes(guarded(storage.authorizationCodes), isPlain),
    ...(oneTimeIdentifiers && { oneTimeIdentifiers: guarded(oneTimeIdentifiers) }),
    ...(pushedRequests &&
      oneTimeIdentifiers && { pushedRequests: hostPushedRequests(guarded(pushedRequests)) }),
  };
}

/** Only changes the type, because such a store never returns `null`. */
function plain<T>(lookUp: (id: string) => Found<T>): (id: string) => Awaitable<T | undefined> {
  return lookUp as (id: string) => Awaitable<T | undefined>;
}

function hostClients(clients: ClientRepository, isPlain: boolean): ReadableStorage['clients'] {
  const { get, findApis, replaceSecrets, noteUse } = clients;
  return {
    get: isPlain ? plain(get) : guardedCall(async (id) => clientRecord(await get(id))),
    hasRedirectOrigin: (origin) => clients.hasRedirectOrigin(origin),
    ...(findApis && {
      findApis: isPlain ? findApis : guardedCall(async (named) => apiRecords(await findApis(named))),
    }),
    ...(replaceSecrets && { replaceSecrets: (id, secrets, basis) => replaceSecrets(id, secrets, basis) }),
    ...(noteUse && { noteUse: (id, until) => noteUse(id, until) }),
  };
}

function hostTokens(tokens: TokenRepository, isPlain: boolean): ReadableStorage['tokens'] {
  const own = new OwnObjects<TokenRecord>();
  const { getByAccessToken, getByRefreshToken, isAccessTokenRevoked } = tokens;
  return {
    getByAccessToken: isPlain
      ? plain(getByAccessToken)
      : guardedCall(async (id) =>
          own.remember(await getByAccessToken(id), (found) => tokenRecord(found, 'access_token')),
        ),
    getByRefreshToken: isPlain
      ? plain(getByRefreshToken)
      : guardedCall(async (id) =>
          own.remember(await getByRefreshToken(id), (found) => tokenRecord(found, 'refresh_token')),
        ),
    isRefreshTokenRevoked: (record) => tokens.isRefreshTokenRevoked(own.of(record)),
    ...(isAccessTokenRevoked && { isAccessTokenRevoked: (record) => isAccessTokenRevoked(own.of(record)) }),
    revoke: (record) => tokens.revoke(own.of(record)),
    revokeFamily: (record) => tokens.revokeFamily(own.of(record)),
    issue: (issued, basis) => tokens.issue(issued, basis),
    rotate: (record, successor, issued, once) => tokens.rotate(own.of(record), successor, issued, once),
    issueFrom: (record, issued, once) => tokens.issueFrom(own.of(record), issued, once),
  };
}

function hostCodes(
  codes: AuthorizationCodeRepository,
  isPlain: boolean,
): ReadableStorage['authorizationCodes'] {
  const own = new OwnObjects<AuthorizationCodeRecord>();
  return {
    get: isPlain
      ? plain(codes.get)
      : guardedCall(async (id) => own.remember(await codes.get(id), authorizationCodeRecord)),
    issue: (code, basis) => codes.issue(code, basis),
    redeem: (record, issued, once) => codes.redeem(own.of(record), issued, once),
    revoke: (record) => codes.revoke(own.of(record)),
  };
}

function hostPushedRequests(
  requests: PushedRequestRepository,
): NonNullable<ReadableStorage['pushedRequests']> {
  return {
    add: (request) => requests.add(request),
    get: guardedCall(async (id) => pushedRequest(await requests.get(id))),
    remove: (id) => requests.remove(id),
  };
}

/** The objects that a host returned, by the plain records that were read from them. */
class OwnObjects<T extends object> {
  readonly #own = new WeakMap<T, T>();

  remember(found: T | null | undefined, read: (found: T) => T): T | undefined {
    if (!found) return undefined;
    const record = read(found);
    this.#own.set(record, found);
    return record;
  }

  of(record: T): T {
    return this.#own.get(record) ?? record;
  }
}

// Records are read member by member into plain data. `null` counts as absence, because many databases return it. Class
// instances work too, including getters.

/** Every member of a record, and whether it is required. The type requires that all are listed. */
type Members<T> = { readonly [M in keyof Required<T>]: T extends Record<M, T[M]> ? 'required' : 'optional' };

const CLIENT: Members<ClientRecord> = presenceIn(CLIENTS);

const CLIENT_SECRET: Members<ClientSecretRecord> = {
  hash: 'required',
  sealed: 'optional',
  serverSecret: 'optional',
  createdAtMs: 'optional',
  expiresAt: 'optional',
  lastUsedAtMs: 'optional',
};

const API: Members<ApiRecord> = { clientId: 'required', resource: 'required', scopes: 'required' };

/** The lookup determines the kind of a token. `storedLife` checks its expiry and time of issue. */
const TOKEN: Members<Omit<TokenRecord, 'kind' | 'standing' | 'expiresAt' | 'issuedAtMs'>> = {
  ...presenceIn(TOKENS, 'kind', 'expiresAt', 'issuedAtMs', 'keepUntil'),
  digest: 'optional',
  notBeforeMs: 'optional',
};

const CODE: Members<Omit<AuthorizationCodeRecord, 'standing' | 'expiresAt' | 'issuedAtMs'>> = {
  ...presenceIn(AUTHORIZATION_CODES, 'expiresAt', 'issuedAtMs', 'keepUntil'),
  notBeforeMs: 'optional',
};

const PUSHED_REQUEST: Members<PushedRequest> = presenceIn(PUSHED_REQUESTS);

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

/** Claims that introspection returns as stored (RFC 7662 §2.2), and their types. */
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

/** @throws {StorageFault} a required member is missing */
export function clientRecord(found: ClientRecord | null | undefined): ClientRecord | undefined {
  if (!found) return undefined;
  const client = read(found, CLIENT, 'client');
  if (client.secrets === undefined) return client;
  return { ...client, secrets: client.secrets.map((one) => read(one, CLIENT_SECRET, 'client secret')) };
}

/** @throws {StorageFault} a required member is missing */
function apiRecords(found: readonly ApiRecord[] | null | undefined): readonly ApiRecord[] {
  return (found ?? []).map((api) => read(api, API, 'API'));
}

/**
 * @param kind the kind that was looked up
 * @throws {StorageFault} a required member is missing, or a claim has a wrong type
 */
export function tokenRecord(found: TokenRecord, kind: TokenKind): TokenRecord {
  const { expiresAt, issuedAtMs } = found;
  requireClaimTypes(found.claims);
  return { ...read(found, TOKEN, 'token'), ...standing(found), kind, expiresAt, issuedAtMs };
}

/** @throws {StorageFault} a required member is missing, or a claim is missing or has a wrong type */
export function authorizationCodeRecord(found: AuthorizationCodeRecord): AuthorizationCodeRecord {
  const { expiresAt, issuedAtMs } = found;
  requireClaimTypes(found.claims);
  const record = read(found, CODE, 'authorization code');
  if (!isText(record.claims.sub))
    throw new StorageFault(new TypeError('the record of an authorization code has no claim sub'));
  return { ...record, ...standing(found), expiresAt, issuedAtMs };
}

/** @throws {StorageFault} a required member is missing */
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

/** A claim of the wrong type is a fault. Without the claim, introspection would return less than was issued. */
function requireClaimTypes(claims: Claims | null | undefined): void {
  if (claims === undefined || claims === null) return;
  if (typeof claims !== 'object') throw new StorageFault(new TypeError('expected claims to be an object'));
  for (const [name, isOfType] of CLAIMS) {
    const value = claims[name];
    if (value === undefined || value === null || isOfType(value)) continue;
    throw new StorageFault(new TypeError(`the claim ${name} has a wrong type`));
  }
}

function read<T extends object>(source: T, members: Members<T>, what: string): T {
  const record: Partial<T> = {};
  for (const name in members) {
    const value = source[name];
    if (value !== undefined && value !== null) record[name] = value;
    else if (members[name] === 'required')
      throw new StorageFault(new TypeError(`the record of a ${what} has no ${name}`));
  }
  return record as T; // every required member was found
}

/** Names of a repository's methods; the type requires each one that is not optional. */
type MethodsOf<R> = Readonly<Record<RequiredKeys<R>, true>>;

type RequiredKeys<R> = { [K in keyof R]-?: undefined extends R[K] ? never : K }[keyof R];

const REPOSITORIES: {
  readonly clients: MethodsOf<ClientRepository>;
  readonly tokens: MethodsOf<TokenRepository>;
  readonly authorizationCodes: MethodsOf<AuthorizationCodeRepository>;
  readonly keys: MethodsOf<KeyRepository>;
  readonly oneTimeIdentifiers: MethodsOf<OneTimeIdentifiers>;
  readonly pushedRequests: MethodsOf<PushedRequestRepository>;
} = {
  clients: { get: true, hasRedirectOrigin: true },
  tokens: {
    getByAccessToken: true,
    getByRefreshToken: true,
    isRefreshTokenRevoked: true,
    revoke: true,
    issue: true,
    rotate: true,
    issueFrom: true,
    revokeFamily: true,
  },
  authorizationCodes: { issue: true, get: true, redeem: true, revoke: true },
  keys: { get: true, list: true, currentKeyId: true, initialize: true, rotate: true },
  oneTimeIdentifiers: { take: true },
  pushedRequests: { add: true, get: true, remove: true },
};

type RepositoryName = keyof typeof REPOSITORIES;

/** The methods that registration needs. */
export type RegistrableClients = Pick<ClientRegistry, 'add' | 'replace' | 'remove'>;

const REGISTRATION: Readonly<Record<keyof RegistrableClients, true>> = {
  add: true,
  replace: true,
  remove: true,
};

/** What the other options require of storage. */
interface StorageNeeds {
  /** Whether the server signs with keys of the storage. */
  readonly keys: boolean;
  readonly pushedRequests: boolean;
  readonly registration: boolean;
}

/**
 * Checks that storage has every method that requests will call, so that a missing one is an error at startup.
 * @throws {ConfigurationError} names the repository or the method, such as `storage.tokens.revoke`
 */
export function requireMethods(storage: Storage, needs: StorageNeeds): void {
  for (const [name, methods] of Object.entries(REPOSITORIES)) {
    const reason = reasonFor(name as RepositoryName, needs);
    const repository: unknown = Reflect.get(storage, name);
    if (repository === undefined && reason === undefined) continue;
    if (!isJsonObject(repository))
      throw new ConfigurationError(`storage.${name}`, `a repository${reason ?? ''}`);
    requireEach(repository, `storage.${name}`, methods, '');
    if (Reflect.get(repository, 'takesOnce') === true) requireOnce(repository, `storage.${name}`);
  }
}

/** The methods that take `once`, and how many parameters they have with it. */
const TAKING: Readonly<Record<string, number>> = { rotate: 4, issueFrom: 3, redeem: 3 };

/**
 * Checks that no method drops `once`, such as one that replaces a method of another store. Identifiers would then never
 * be taken. A method without declared parameters, such as a proxy's, passes.
 */
function requireOnce(repository: object, path: string): void {
  for (const [method, parameters] of Object.entries(TAKING)) {
    const { length = 0 }: { readonly length?: number } = Reflect.get(repository, method) ?? {};
    if (length > 0 && length < parameters)
      throw new ConfigurationError(`${path}.${method}`, 'the parameter once, because takesOnce is set');
  }
}

/**
 * Checks that clients can register themselves.
 * @throws {ConfigurationError} names the missing method
 */
export function requireRegistrable(clients: ClientRepository): RegistrableClients {
  requireEach(clients, 'storage.clients', REGISTRATION, ', because registration is on');
  return clients as ClientRepository & RegistrableClients;
}

/** Returns why a repository is required, or `undefined` if it is optional. */
function reasonFor(name: RepositoryName, needs: StorageNeeds): string | undefined {
  switch (name) {
    case 'keys':
      return needs.keys ? ' of signing keys, unless jwtService is set' : undefined;
    case 'pushedRequests':
      return needs.pushedRequests ? PUSHED : undefined;
    case 'oneTimeIdentifiers':
      if (needs.pushedRequests) return PUSHED;
      return needs.registration ? ', because registered clients can authenticate with assertions' : undefined;
    default:
      return '';
  }
}

const PUSHED = ', because authorization requests must be pushed';

function requireEach(owner: object, path: string, methods: object, reason: string): void {
  for (const method of Object.keys(methods)) {
    if (typeof Reflect.get(owner, method) !== 'function')
      throw new ConfigurationError(`${path}.${method}`, `a method${reason}`);
  }
}
