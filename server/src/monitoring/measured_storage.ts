import { type AdministrableStorage, unguarded } from '@grantd/core';
import type { OpenDatabase } from '../data/database.ts';

/** Names an operation. @returns what receives each call of it when it ends */
type Measuring = (operation: string) => (seconds: number, isFault: boolean) => void;

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
export function measuredDatabase(opened: OpenDatabase, measuring: Measuring): OpenDatabase {
  const own = Object.fromEntries(OWN.map((name) => [name, measured(name, opened[name], measuring)]));
  return { ...opened, ...own, storage: measuredStorage(opened.storage, measuring) };
}

function measuredStorage(storage: AdministrableStorage, measuring: Measuring): AdministrableStorage {
  const { statistics, close, clients, keys, tokens, authorizationCodes, cache, ...others } = storage;
  const { oneTimeIdentifiers, pending, ...acts } = others;
  const measuredClients = measured('clients', clients, measuring);
  // The same repository as above, so that the server does not look clients up again.
  const joined = { ...measured('tokens', tokens, measuring), joinedClients: measuredClients };
  const lookups = { clients: measuredClients, tokens: unguarded(joined, tokens) };
  return {
    ...measured('storage', acts, measuring),
    ...lookups,
    keys: measured('keys', keys, measuring),
    authorizationCodes: measured('authorizationCodes', authorizationCodes, measuring),
    oneTimeIdentifiers: measured('oneTimeIdentifiers', oneTimeIdentifiers, measuring),
    pending: measured('pending', pending, measuring),
    ...(cache !== undefined && { cache: { ...cache, ...measuredAnswers(storage, lookups, measuring) } }),
    ...(statistics !== undefined && { statistics: () => statistics.call(storage) }),
    close: () => close.call(storage),
  };
}

/**
 * The store remembers no answers if something is put around its lookups, except if that only measures them.
 * @param measuredLookups are put around those of the store
 */
function measuredAnswers(
  storage: AdministrableStorage,
  measuredLookups: Pick<AdministrableStorage, 'clients' | 'tokens'>,
  measuring: Measuring,
): Pick<NonNullable<AdministrableStorage['cache']>, 'answers'> {
  const answers = storage.cache?.answers;
  if (answers === undefined) return {};
  const { clients, tokens } = measuredLookups;
  return {
    answers: {
      for(server) {
        const given = server.storage;
        const isMeasured =
          given.clients.get === clients.get && given.tokens.getByAccessToken === tokens.getByAccessToken;
        const memory = isMeasured ? answers.for({ ...server, storage }) : undefined;
        return memory && { ...memory, ...measured('answers', { find: memory.find }, measuring) };
      },
    },
  };
}

/** A repository with the same members, whose methods are measured. */
function measured<R extends object>(name: string, repository: R, measuring: Measuring): R {
  const members = Object.entries(repository).map(([member, value]) => [
    member,
    typeof value === 'function' ? timed(repository, value, measuring(`${name}.${member}`)) : value,
  ]);
  return unguarded(Object.fromEntries(members) as R, repository);
}

function timed(
  owner: object,
  method: (...args: unknown[]) => unknown,
  onEnd: ReturnType<Measuring>,
): (...args: unknown[]) => unknown {
  return (...args) => {
    const startedAtMs = performance.now();
    let result: unknown;
    try {
      result = method.apply(owner, args);
    } catch (error) {
      onEnd((performance.now() - startedAtMs) / 1000, true);
      throw error;
    }
    // The caller gets the original promise, so that it does not wait longer.
    if (result instanceof Promise)
      result.then(
        () => onEnd((performance.now() - startedAtMs) / 1000, false),
        () => onEnd((performance.now() - startedAtMs) / 1000, true),
      );
    else onEnd((performance.now() - startedAtMs) / 1000, false);
    return result;
  };
}
