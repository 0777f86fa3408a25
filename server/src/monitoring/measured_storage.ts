import { type AdministrableStorage, unguarded } from '@grantd/core';
import type { OpenDatabase } from '../data/database.ts';

/** Receives each operation when it ends. */
type OnOperation = (operation: string, seconds: number, isFault: boolean) => void;

/** Repositories of the program’s own tables. */
const OWN = [
  'people',
  'sessions',
  'consents',
  'scopeTexts',
  'attempts',
  'logoutDeliveries',
] as const satisfies (keyof OpenDatabase)[];

/** The same database, which reports how long each operation takes. */
export function measuredDatabase(opened: OpenDatabase, onOperation: OnOperation): OpenDatabase {
  const own = Object.fromEntries(OWN.map((name) => [name, measured(name, opened[name], onOperation)]));
  return { ...opened, ...own, storage: measuredStorage(opened.storage, onOperation) };
}

function measuredStorage(storage: AdministrableStorage, onOperation: OnOperation): AdministrableStorage {
  const { statistics, close, clients, keys, tokens, authorizationCodes, ...others } = storage;
  const { oneTimeIdentifiers, pushedRequests, ...acts } = others;
  const measuredClients = measured('clients', clients, onOperation);
  return {
    ...measured('storage', acts, onOperation),
    clients: measuredClients,
    keys: measured('keys', keys, onOperation),
    // The same repository as above, so that the server does not look clients up again.
    tokens: unguarded({ ...measured('tokens', tokens, onOperation), joinedClients: measuredClients }, tokens),
    authorizationCodes: measured('authorizationCodes', authorizationCodes, onOperation),
    oneTimeIdentifiers: measured('oneTimeIdentifiers', oneTimeIdentifiers, onOperation),
    pushedRequests: measured('pushedRequests', pushedRequests, onOperation),
    ...(statistics !== undefined && { statistics: () => statistics.call(storage) }),
    close: () => close.call(storage),
  };
}

/** A repository with the same members, whose methods are measured. */
function measured<R extends object>(name: string, repository: R, onOperation: OnOperation): R {
  const members = Object.entries(repository).map(([member, value]) => [
    member,
    typeof value === 'function' ? timed(`${name}.${member}`, repository, value, onOperation) : value,
  ]);
  return unguarded(Object.fromEntries(members) as R, repository);
}

function timed(
  operation: string,
  owner: object,
  method: (...given: unknown[]) => unknown,
  onOperation: OnOperation,
): (...given: unknown[]) => unknown {
  return (...given) => {
    const startedAtMs = performance.now();
    const ended = (isFault: boolean) =>
      onOperation(operation, (performance.now() - startedAtMs) / 1000, isFault);
    try {
      const result = Reflect.apply(method, owner, given);
      // The caller gets the original promise, so that it does not wait longer.
      if (result instanceof Promise)
        result.then(
          () => ended(false),
          () => ended(true),
        );
      else ended(false);
      return result;
    } catch (error) {
      ended(true);
      throw error;
    }
  };
}
