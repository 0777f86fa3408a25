import { after, test } from 'node:test';
import type { AdministrableStorage, AuthorizingStorage, Awaitable, NewClient } from '@grantd/core';
import { storageKit } from '@grantd/core/kit';

/** A connection to an example store, as in a process of the host. */
export interface Connection {
  /** Sweeps, if rows do not expire by themselves. */
  readonly storage: AuthorizingStorage & Partial<Pick<AdministrableStorage, 'sweep'>>;
  saveClient(client: NewClient): Promise<unknown>;
  /** Adds a user to the host's own table, if it is missing. */
  addUser(id: string): Promise<unknown>;
  /** It cannot be used afterwards. */
  end(): Promise<unknown>;
}

export interface ExampleStore {
  /** Deletes all records. */
  empty(): Promise<unknown>;
  /**
   * @param clock milliseconds
   * @param settings of a PostgreSQL session, as on its command line; other stores ignore them
   */
  connect(clock: () => number, settings?: string): Awaitable<Connection>;
}

/**
 * Runs the kit without the group `administration`: these stores implement only the part of the contract that serves
 * requests, since the host's own tables hold clients and users.
 */
export function testByKit(name: string, store: () => ExampleStore): void {
  const clock = { nowMs: 0 };
  const inUse = new Map<AuthorizingStorage, Connection>();
  // Connecting takes longer than most cases.
  const idle: Connection[] = [];
  const take = async (): Promise<AuthorizingStorage> => {
    const connection = idle.pop() ?? (await store().connect(() => clock.nowMs));
    const storage = withPeople(connection);
    inUse.set(storage, connection);
    return storage;
  };
  after(() => Promise.all(idle.map((connection) => connection.end())));

  for (const { group, title, run } of storageKit()) {
    if (group === 'administration') continue;
    test(`${name}, ${group}: ${title}`, async () => {
      await store().empty();
      await run({
        clock,
        open: take,
        openAnother: take,
        registerClient: async (storage, client) => {
          await inUse.get(storage)?.saveClient(client);
        },
        async breakStorage(storage) {
          await inUse.get(storage)?.end();
          inUse.delete(storage);
        },
        close(storage) {
          const connection = inUse.get(storage);
          if (connection !== undefined) idle.push(connection);
          inUse.delete(storage);
        },
      });
    });
  }
}

/** The kit invents users, but a host stores them before it issues tokens. */
function withPeople({ storage, addUser }: Connection): AuthorizingStorage {
  const { tokens, authorizationCodes } = storage;
  return {
    ...storage,
    tokens: {
      ...tokens,
      async issue(issued, basis) {
        for (const { subject } of issued) if (subject !== undefined) await addUser(subject);
        return tokens.issue(issued, basis);
      },
    },
    authorizationCodes: {
      ...authorizationCodes,
      async issue(code, basis) {
        await addUser(code.subject);
        return authorizationCodes.issue(code, basis);
      },
    },
  };
}
