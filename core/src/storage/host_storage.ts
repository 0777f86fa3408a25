import type { AuthorizationCodeRecord, ClientRecord, TokenRecord } from '../protocol/records.ts';
import type { AuthorizationCodeRepository, ClientRepository, Storage, TokenRepository } from './contract.ts';
import { guarded } from './guarded.ts';
import { authorizationCodeRecord, clientRecord, tokenRecord } from './host_records.ts';

/** A host's storage as endpoints use it: failures are `StorageFault`s, and look-ups answer plain records or `undefined`. */
export interface ReadableStorage {
  readonly clients: Reading<ClientRepository, 'get', ClientRecord>;
  readonly tokens: Reading<TokenRepository, 'getByAccessToken' | 'getByRefreshToken', TokenRecord>;
  readonly authorizationCodes: Reading<AuthorizationCodeRepository, 'get', AuthorizationCodeRecord>;
}

type Reading<R, Lookup extends keyof R, T> = Omit<R, Lookup> & {
  readonly [L in Lookup]: (id: string) => Promise<T | undefined>;
};

export function hostStorage(storage: Storage): ReadableStorage {
  const clients = guarded(storage.clients);
  const tokens = guarded(storage.tokens);
  const codes = guarded(storage.authorizationCodes);
  return {
    clients: over(clients, { get: async (id: string) => clientRecord(await clients.get(id)) }),
    tokens: over(tokens, {
      getByAccessToken: async (id: string) => tokenRecord(await tokens.getByAccessToken(id), 'access_token'),
      getByRefreshToken: async (id: string) =>
        tokenRecord(await tokens.getByRefreshToken(id), 'refresh_token'),
    }),
    authorizationCodes: over(codes, {
      get: async (id: string) => authorizationCodeRecord(await codes.get(id)),
    }),
  };
}

/** The repository with some of its methods replaced; the others stay where they are. */
function over<R extends object, O extends object>(repository: R, replaced: O): Omit<R, keyof O> & O {
  return Object.setPrototypeOf(replaced, repository);
}
