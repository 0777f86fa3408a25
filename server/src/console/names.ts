// Names of the users, clients and keys that events and tokens refer to by identifiers.
import type { ClientRecord } from '@grantd/core';
import type { AdminParts } from '../admin/operation.ts';
import { askStorage } from '../data/tables.ts';
import type { Visit } from './access.ts';

/** What a page knows about the identifiers on it. */
export interface Names {
  /** The username; `undefined` if the user does not exist, or no longer. */
  user(subject: string): string | undefined;
  /** The name in the client’s metadata. */
  client(id: string): string | undefined;
  /** The algorithm of a signing key. */
  keyAlgorithm(kid: string): string | undefined;
}

interface Identifiers {
  readonly subjects?: Iterable<string>;
  readonly clientIds?: Iterable<string>;
  readonly kids?: Iterable<string>;
}

/** Identifiers of one page, at most. */
const MAX_CLIENTS = 100;

/** Reads names for a page: users in one query, and clients from the cache of the store. */
export async function namesOf(
  { people, storage }: Pick<AdminParts, 'people' | 'storage'>,
  { subjects = [], clientIds = [], kids = [] }: Identifiers,
): Promise<Names> {
  const [users, clients, keys] = await Promise.all([
    people.namesOf(subjects),
    clientsOf({ storage }, clientIds),
    [...kids].length === 0 ? [] : askStorage(() => storage.keys.list()),
  ]);
  const algorithms = new Map(keys.map(({ kid, algorithm }) => [kid, algorithm]));
  return {
    user: (subject) => users.get(subject),
    client: (id) => clients.get(id)?.name,
    keyAlgorithm: (kid) => algorithms.get(kid),
  };
}

/** What titles, trails and questions call a thing: its name, with its identifier if that says something else. */
export function called(id: string, name = id): string {
  return name === id ? id : `${name} (${id})`;
}

/** What they call clients. A client that does not exist, or no longer, keeps its ID. */
export async function clientsCalled(
  { console: { partsOf }, session }: Pick<Visit, 'console' | 'session'>,
  ids: readonly string[],
): Promise<readonly string[]> {
  const clients = await clientsOf(partsOf(session.person.subject), ids);
  return ids.map((id) => called(id, clients.get(id)?.name));
}

export async function clientCalled(visit: Pick<Visit, 'console' | 'session'>, id: string): Promise<string> {
  return (await clientsCalled(visit, [id])).join();
}

/** The clients of a page that exist, from the cache of the store. */
export async function clientsOf(
  { storage }: Pick<AdminParts, 'storage'>,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, ClientRecord>> {
  const wanted = [...new Set(ids)].slice(0, MAX_CLIENTS);
  const found = await Promise.all(wanted.map((id) => askStorage(() => storage.clients.get(id))));
  return new Map(found.flatMap((client) => (client ? [[client.id, client]] : [])));
}

export const NO_NAMES: Names = {
  user: () => undefined,
  client: () => undefined,
  keyAlgorithm: () => undefined,
};
