import type {
  AuthorizationCodeRecord,
  ClientRecord,
  PushedRequest,
  TokenRecord,
} from '../protocol/records.ts';
import type {
  AuthorizationCodeRepository,
  Awaitable,
  ClientRepository,
  Found,
  OneTimeIdentifiers,
  PushedRequestRepository,
  Storage,
  TokenRepository,
} from './contract.ts';
import { guarded, guardedCall } from './guarded.ts';
import {
  apiRecords,
  authorizationCodeRecord,
  clientRecord,
  pushedRequest,
  tokenRecord,
} from './host_records.ts';

/**
 * A host's storage as endpoints use it: failures are `StorageFault`s, and look-ups answer plain records or
 * `undefined`. A record that is handed back reaches the host as the very object that it answered.
 */
export interface ReadableStorage {
  readonly clients: Reading<ClientRepository, 'get', ClientRecord>;
  readonly tokens: Reading<TokenRepository, 'getByAccessToken' | 'getByRefreshToken', TokenRecord>;
  readonly authorizationCodes: Reading<AuthorizationCodeRepository, 'get', AuthorizationCodeRecord>;
  readonly oneTimeIdentifiers?: OneTimeIdentifiers;
  /** Only with `oneTimeIdentifiers`: without them, a pushed request would never end. */
  readonly pushedRequests?: Reading<PushedRequestRepository, 'get', PushedRequest>;
}

type Reading<R, Lookup extends keyof R, T> = Omit<R, Lookup> & {
  readonly [L in Lookup]: (id: string) => Awaitable<T | undefined>;
};

export function hostStorage(storage: Storage): ReadableStorage {
  const { oneTimeIdentifiers, pushedRequests, answersPlainRecords: isPlain = false } = storage;
  return {
    clients: hostClients(guarded(storage.clients), isPlain),
    tokens: hostTokens(guarded(storage.tokens), isPlain),
    authorizationCodes: hostCodes(guarded(storage.authorizationCodes), isPlain),
    ...(oneTimeIdentifiers && { oneTimeIdentifiers: guarded(oneTimeIdentifiers) }),
    ...(pushedRequests &&
      oneTimeIdentifiers && { pushedRequests: hostPushedRequests(guarded(pushedRequests)) }),
  };
}

/** A look-up whose answers are taken as they are: its store never says `null`. */
function plain<T>(lookUp: (id: string) => Found<T>): (id: string) => Awaitable<T | undefined> {
  return lookUp as (id: string) => Awaitable<T | undefined>;
}

function hostClients(clients: ClientRepository, isPlain: boolean): ReadableStorage['clients'] {
  const { get, findApis, replaceSecrets } = clients;
  return {
    get: isPlain ? plain(get) : guardedCall(async (id) => clientRecord(await get(id))),
    hasRedirectOrigin: (origin) => clients.hasRedirectOrigin(origin),
    ...(findApis && {
      findApis: isPlain ? findApis : guardedCall(async (named) => apiRecords(await findApis(named))),
    }),
    ...(replaceSecrets && { replaceSecrets: (id, secrets, basis) => replaceSecrets(id, secrets, basis) }),
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
    rotate: (record, successor, issued) => tokens.rotate(own.of(record), successor, issued),
    issueBeside: (record, issued) => tokens.issueBeside(own.of(record), issued),
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
    redeem: (record, issued) => codes.redeem(own.of(record), issued),
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

/** The objects that a host answered, by the plain records that were read from them. */
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
