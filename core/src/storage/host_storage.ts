// Adapts a host's storage: endpoints get plain records, and the host gets its own objects back.
import type { StorageFault } from '../http/errors.ts';
import type { Claims } from '../protocol/claims.ts';
import type { NewPendingRow, PENDING_KINDS, PendingKind, PendingRow } from '../protocol/pending.ts';
import type { AuthorizationCodeRecord, ClientRecord, TokenKind, TokenRecord } from '../protocol/records.ts';
import type {
  AuthorizationCodeRepository,
  Awaitable,
  ClientRegistry,
  ClientRepository,
  Found,
  HostClient,
  HostToken,
  IssuingTokenRepository,
  OneTimeIdentifiers,
  PendingRepository,
  ReadTokenName,
  Storage,
  TokenRepository,
} from './contract.ts';
import { guarded, guardedCall, guardedWith, isUnguarded } from './faults.ts';
import { groupsOf, MissingGroup, type StorageGroup } from './groups.ts';
import {
  apiRecord,
  authorizationCodeRecord,
  clientRecord,
  noBoolean,
  pendingRow,
  readToken,
  tokenName,
} from './host_records.ts';

/**
 * A host's storage as endpoints use it. Failures are `StorageFault`s, and lookups return plain records or
 * `undefined`. A record that is handed back to the host is the very object that the host returned.
 */
export interface ReadableStorage {
  /** The groups of methods that the host has. Methods of other groups throw. */
  readonly groups: ReadonlySet<StorageGroup>;
  /** Whether `standing.client` of token records comes from another repository than `clients`. */
  readonly hasOtherClients: boolean;
  /** Whether methods that store tokens upon a refresh token or code take `once`. */
  readonly takesOnce: boolean;
  readonly keepsAncestors: boolean;
  readonly clients: ReadableClients;
  readonly tokens: ReadableTokens;
  readonly authorizationCodes: Reading<AuthorizationCodeRepository, 'get', AuthorizationCodeRecord>;
  readonly oneTimeIdentifiers?: OneTimeIdentifiers;
  readonly pending?: ReadablePending;
  readonly getPrincipalState?: NonNullable<Storage['getPrincipalState']>;
}

type Reading<R, Lookup extends keyof R, T> = Omit<R, Lookup | 'takesOnce' | 'keepsAncestors'> & {
  readonly [L in Lookup]: (id: string) => Awaitable<T | undefined>;
};

/** Pending rows with the data of their kind. */
interface ReadablePending {
  add<K extends PendingKind>(row: NewPendingRow<K> & OtherId<K>): Awaitable<boolean>;
  get: LookUpOfKind;
  getByOtherId: LookUpOfKind;
  take: LookUpOfKind;
  change<K extends PendingKind>(row: PendingRow<K>): Awaitable<boolean>;
}

type LookUpOfKind = <K extends PendingKind>(kind: K, id: string) => Awaitable<PendingRow<K> | undefined>;

/** A kind either finds all of its rows by a second identifier, or none. */
type OtherId<K extends PendingKind> = (typeof PENDING_KINDS)[K]['hasOtherId'] extends true
  ? { readonly otherId: string }
  : { readonly otherId?: never };

interface ReadableClients extends Omit<ClientRepository, 'get' | 'verifySecret'> {
  get(id: string): Awaitable<ClientRecord | undefined>;
  /** @param client as `get` returned it */
  verifySecret?(client: ClientRecord | undefined, secret: string): Awaitable<boolean>;
}

export interface ReadableTokens
  extends Omit<
    IssuingTokenRepository,
    'joinedClients' | 'takesOnce' | 'keepsAncestors' | 'identify' | 'getByAccessToken' | 'getByRefreshToken'
  > {
  /** @returns `undefined` if the JWT is no token */
  identify?(claims: Claims, token: string): Awaitable<ReadTokenName | undefined>;
  /**
   * @param key of the lookup
   * @param id of the record, if it differs from the key
   */
  getByAccessToken(key: string, id?: string): Awaitable<TokenRecord | undefined>;
  getByRefreshToken(key: string, id?: string): Awaitable<TokenRecord | undefined>;
  /** Reads a record that the host returned elsewhere than by a lookup. Stores with plain records have no such method. */
  read?(found: HostToken, kind: TokenKind, id: string): TokenRecord | undefined;
  /**
   * Stores with plain records have no such method.
   * @throws {StorageFault} the record of a lookup cannot be read, except what is needed to revoke it
   */
  requireReadable?(record: TokenRecord): void;
}

export function hostStorage(storage: Storage): ReadableStorage {
  const { authorizationCodes, oneTimeIdentifiers, pending, answersPlainRecords: isPlain = false } = storage;
  const {
    joinedClients = storage.clients,
    takesOnce,
    keepsAncestors,
  } = storage.tokens as IssuingTokenRepository;
  return {
    groups: groupsOf(storage),
    // By the lookup alone: the program records who changes a client around the store's own methods.
    hasOtherClients: joinedClients.get !== storage.clients.get,
    takesOnce: takesOnce === true && authorizationCodes?.takesOnce === true,
    keepsAncestors: keepsAncestors === true,
    clients: isUnguarded(storage.clients)
      ? (storage.clients as ReadableClients)
      : hostClients(guarded(storage.clients), isPlain),
    tokens: isUnguarded(storage.tokens)
      ? (storage.tokens as ReadableTokens)
      : hostTokens(guarded(storage.tokens), isPlain),
    authorizationCodes: codesOf(authorizationCodes, isPlain),
    ...(oneTimeIdentifiers && { oneTimeIdentifiers: guarded(oneTimeIdentifiers) }),
    ...(pending && {
      pending: isUnguarded(pending) ? (pending as ReadablePending) : hostPending(guarded(pending)),
    }),
    ...(storage.getPrincipalState && {
      getPrincipalState: guardedCall(storage.getPrincipalState.bind(storage), 'getPrincipalState'),
    }),
  };
}

/** Only changes the type, because such a store never returns `null`. */
function plain<T>(lookUp: (id: string) => Found<unknown>): (id: string) => Awaitable<T | undefined> {
  return lookUp as (id: string) => Awaitable<T | undefined>;
}

function hostClients(clients: ClientRepository, isPlain: boolean): ReadableClients {
  const own = new OwnObjects<ClientRecord, HostClient>();
  const { get, verifySecret, hasRedirectOrigin, findApis, replaceSecrets, noteUse } = clients;
  return {
    get: isPlain
      ? plain(get)
      : guardedCall(async (id) => own.remember(await get(id), (found) => clientRecord(found))),
    ...(verifySecret && {
      verifySecret: (client, secret) =>
        guardedWith([secret], () => verifySecret(client && own.of(client), secret)),
    }),
    ...(hasRedirectOrigin && {
      hasRedirectOrigin: async (origin) => (await hasRedirectOrigin(origin)) === true,
    }),
    ...(findApis && {
      findApis: isPlain
        ? findApis
        : guardedCall(async (named) => ((await findApis(named)) ?? []).map((api) => apiRecord(api))),
    }),
    ...(replaceSecrets && { replaceSecrets: (id, secrets, basis) => replaceSecrets(id, secrets, basis) }),
    ...(noteUse && { noteUse: (id, until) => noteUse(id, until) }),
  };
}

function hostTokens(given: TokenRepository, isPlain: boolean): ReadableTokens {
  const own = new OwnObjects<TokenRecord, HostToken>();
  const faults = new WeakMap<TokenRecord, StorageFault>();
  const keys = new WeakMap<TokenRecord, string>();
  const tokens = given as IssuingTokenRepository; // methods of missing groups are replaced below
  const recordOf = (found: HostToken | null | undefined, kind: TokenKind, id: string, key = id) =>
    own.remember(found, (one) => {
      const { record, fault } = readToken(one, kind, id);
      if (fault !== undefined) faults.set(record, fault);
      keys.set(record, key);
      return record;
    });
  /** Calls a method with the record of a token, whose key can be the token itself. */
  const about = <R>(record: TokenRecord, call: (own: HostToken) => Awaitable<R>): Promise<R> =>
    guardedWith([keys.get(record) ?? ''], () => call(own.of(record)));
  const lookUp = (kind: TokenKind, find: TokenRepository['getByAccessToken'] | undefined) =>
    find === undefined
      ? () => undefined
      : isPlain
        ? plain<TokenRecord>(find)
        : (key: string, id: string = key) =>
            guardedWith([key], async () => recordOf(await find(key), kind, id, key));
  const { keyedBy, identify, isAccessTokenRevoked, isRefreshTokenRevoked } = given;
  const mine = (record: TokenRecord) => own.of(record) as TokenRecord;
  return {
    ...(keyedBy && { keyedBy }),
    ...(identify && {
      identify: (claims, token) => guardedWith([token], async () => tokenName(await identify(claims, token))),
    }),
    getByAccessToken: lookUp('access_token', given.getByAccessToken),
    getByRefreshToken: lookUp('refresh_token', given.getByRefreshToken),
    ...(!isPlain && {
      read: (found, kind, id) => recordOf(found, kind, id),
      requireReadable(record) {
        const fault = faults.get(record);
        if (fault !== undefined) throw fault;
      },
    }),
    isRefreshTokenRevoked: isRefreshTokenRevoked
      ? (record) => about(record, (mine) => isRefreshTokenRevoked(mine))
      : () => false,
    ...(isAccessTokenRevoked && {
      isAccessTokenRevoked: (record) => about(record, (mine) => isAccessTokenRevoked(mine)),
    }),
    revoke: (record) => about(record, (mine) => given.revoke(mine)),
    revokeFamily: (record, reason) => tokens.revokeFamily(mine(record), reason),
    issue: (issued, basis) => tokens.issue(issued, basis),
    rotate: (record, successor, issued, once) => tokens.rotate(mine(record), successor, issued, once),
    issueFrom: (record, issued, once) => tokens.issueFrom(mine(record), issued, once),
  };
}

function codesOf(
  codes: AuthorizationCodeRepository | undefined,
  isPlain: boolean,
): ReadableStorage['authorizationCodes'] {
  if (codes === undefined) return NO_CODES;
  return isUnguarded(codes)
    ? (codes as ReadableStorage['authorizationCodes'])
    : hostCodes(guarded(codes), isPlain);
}

/** For a server whose operations with codes are never called. */
const NO_CODES: ReadableStorage['authorizationCodes'] = {
  get: noCodes,
  issue: noCodes,
  redeem: noCodes,
  revoke: noCodes,
};

function noCodes(): never {
  throw new MissingGroup('authorizationCodes', 'an authorization code');
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
    revoke: (record, reason) => codes.revoke(own.of(record), reason),
  };
}

function hostPending(pending: PendingRepository): ReadablePending {
  const reading = (find: 'get' | 'getByOtherId' | 'take') =>
    guardedCall(async (kind: PendingKind, id: string) => {
      const found = await pending[find](kind, id);
      return found ? pendingRow(found) : undefined;
    }) as LookUpOfKind;
  const writing = (write: 'add' | 'change') =>
    guardedCall(async (row: NewPendingRow) => {
      const isWritten: unknown = await pending[write](row as PendingRow);
      if (typeof isWritten === 'boolean') return isWritten;
      throw noBoolean(`storage.pending.${write}`, isWritten);
    });
  return {
    add: writing('add'),
    get: reading('get'),
    getByOtherId: reading('getByOtherId'),
    take: reading('take'),
    change: writing('change'),
  };
}

/** The objects that a host returned, by the plain records that were read from them. */
class OwnObjects<T extends Own & object, Own extends object = T> {
  readonly #own = new WeakMap<T, Own>();

  remember(found: Own | null | undefined, read: (found: Own) => T): T | undefined {
    if (!found) return undefined;
    const record = read(found);
    this.#own.set(record, found);
    return record;
  }

  of(record: T): Own {
    return this.#own.get(record) ?? record;
  }
}

/** The methods that registration needs. */
export type RegistrableClients = Pick<ClientRegistry, 'add' | 'replace' | 'remove'> &
  Partial<Pick<ClientRegistry, 'noteDocument'>>;
