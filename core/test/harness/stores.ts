import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdministrableStorage } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { openSqliteStorage } from '@grantd/core/sqlite';

export interface OpenStore {
  readonly storage: AdministrableStorage;
  dispose(): Promise<void>;
}

export interface StoreKind {
  readonly name: string;
  open(issuer: string, clock: () => number): OpenStore;
}

export const MEMORY: StoreKind = memoryKind('memory', {});

export const SQLITE: StoreKind = {
  name: 'SQLite',
  open(issuer, clock) {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-test-'));
    const storage = openSqliteStorage({ path: join(folder, 'grantd.db'), issuer, clock });
    return {
      storage,
      async dispose() {
        await storage.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
};

/** The ways in which a host may revoke, with and without `isAccessTokenRevoked`, besides the plain memory store. */
export const HOSTS_BY_REVOCATION: readonly StoreKind[] = [
  memoryKind('a host that flags and answers isAccessTokenRevoked', { answersIsAccessTokenRevoked: true }),
  memoryKind('a host that deletes', { revokeBy: 'deletion' }),
  memoryKind('a host that deletes and answers isAccessTokenRevoked', {
    revokeBy: 'deletion',
    answersIsAccessTokenRevoked: true,
  }),
  memoryKind('a host that sets the expiry to zero', { revokeBy: 'zero_expiry' }),
  memoryKind('a host that sets the expiry to zero and answers isAccessTokenRevoked', {
    revokeBy: 'zero_expiry',
    answersIsAccessTokenRevoked: true,
  }),
];

function memoryKind(name: string, options: Parameters<typeof memoryStorage>[0]): StoreKind {
  return {
    name,
    open(issuer, clock) {
      const storage = memoryStorage({ ...options, issuer, clock });
      return { storage, dispose: async () => {} };
    },
  };
}
