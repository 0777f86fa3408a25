import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdministrableStorage, Awaitable } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { openSqliteStorage, type SqliteStorage } from '@grantd/core/sqlite';
import { disposableDatabase, sharedPostgres } from './postgres_databases.ts';
import { POSTGRES_ABSENCE } from './postgres_installation.ts';
import { PostgresStores } from './postgres_store.ts';

export interface OpenStore {
  readonly storage: AdministrableStorage;
  dispose(): Promise<void>;
}

export interface StoreKind {
  readonly name: string;
  open(issuer: string, clock: () => number): Awaitable<OpenStore>;
}

/** A store in a database that other processes can open too. */
export interface SharedStoreKind extends StoreKind {
  /** A second handle on the records of an open store, as in another process. The caller closes it. */
  openAnother(
    opened: AdministrableStorage,
    issuer: string,
    clock: () => number,
  ): Awaitable<AdministrableStorage>;
}

/** A store that opens synchronously. */
interface LocalStoreKind extends StoreKind {
  open(issuer: string, clock: () => number): OpenStore;
}

export const MEMORY: LocalStoreKind = memoryKind('memory', {});

export const SQLITE: LocalStoreKind & SharedStoreKind = {
  name: 'SQLite',
  openAnother: (opened, issuer, clock) =>
    openSqliteStorage({ path: (opened as SqliteStorage).path, issuer, clock }),
  open(issuer, clock) {
    emptyFile ??= newEmptyFile(issuer);
    const folder = mkdtempSync(join(tmpdir(), 'grantd-test-'));
    const path = join(folder, 'grantd.db');
    writeFileSync(path, emptyFile, { mode: 0o600 });
    const storage = openSqliteStorage({ path, issuer, clock });
    return {
      storage,
      async dispose() {
        await storage.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

let emptyFile: Uint8Array | undefined;

/** A SQLite file with the tables of a store. Making them takes longer than most tests. */
function newEmptyFile(issuer: string): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-test-'));
  const path = join(folder, 'grantd.db');
  try {
    openSqliteStorage({ path, issuer }).close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let postgresStores: Promise<PostgresStores> | undefined;

/** One database per test file. Every store has its own issuer in it. */
const POSTGRES: SharedStoreKind = {
  name: 'PostgreSQL',
  async openAnother(opened, _issuer, clock) {
    if (postgresStores === undefined) throw new Error('open a store first');
    return (await postgresStores).openAnother(opened, { clock });
  },
  async open(issuer, clock) {
    postgresStores ??= sharedPostgres()
      .then(disposableDatabase)
      .then((url) => new PostgresStores(url, { allowExitOnIdle: true, checksTablesOnce: true }));
    const stores = await postgresStores;
    const storage = await stores.open({ issuer: `${issuer}/${crypto.randomUUID()}`, clock });
    return { storage, dispose: async () => storage.close() };
  },
};

/** Stores that several processes can share. If PostgreSQL cannot run, its own tests say so. */
export const SHARED_STORES: readonly SharedStoreKind[] = [
  SQLITE,
  ...(POSTGRES_ABSENCE === false ? [POSTGRES] : []),
];

/** The stores of the library. */
export const STORES: readonly StoreKind[] = [MEMORY, ...SHARED_STORES];

/** The ways in which a host may revoke, with and without `isAccessTokenRevoked`, besides the plain memory store. */
export const HOSTS_BY_REVOCATION: readonly StoreKind[] = [
  memoryKind('a host that flags and has isAccessTokenRevoked', { answersIsAccessTokenRevoked: true }),
  memoryKind('a host that deletes', { revokeBy: 'deletion' }),
  memoryKind('a host that deletes and has isAccessTokenRevoked', {
    revokeBy: 'deletion',
    answersIsAccessTokenRevoked: true,
  }),
  memoryKind('a host that sets the expiry to zero', { revokeBy: 'zero_expiry' }),
  memoryKind('a host that sets the expiry to zero and has isAccessTokenRevoked', {
    revokeBy: 'zero_expiry',
    answersIsAccessTokenRevoked: true,
  }),
];

function memoryKind(name: string, options: Parameters<typeof memoryStorage>[0]): LocalStoreKind {
  return {
    name,
    open(issuer, clock) {
      const storage = memoryStorage({ ...options, issuer, clock });
      return { storage, dispose: async () => {} };
    },
  };
}
