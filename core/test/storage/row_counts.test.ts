import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import type { StoreKind } from '../harness/stores.ts';
import { FUNCTION } from '../harness/transports/function.ts';
import { openWorld, type World } from '../harness/world.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();

const HOUR = 60 * 60;
const DAY = 24 * HOUR;
const OPTIONS = {
  useOpaqueRefreshTokens: true,
  accessTokenFormat: 'opaque',
  accessTokenLifetime: HOUR,
  refreshTokenLifetime: 2 * DAY,
} as const;

/** Seconds between two identical steps. */
const STEP = 12 * HOUR;
/** Longer than any row is kept: events stay for 30 days. */
const FULL = (32 * DAY) / STEP;

interface CountedStore {
  readonly store: StoreKind;
  /** The rows of all tables together. */
  countRows(): number;
}

function sqlite(): CountedStore {
  const path = join(folder, `${randomUUID()}.db`);
  return {
    store: {
      name: 'SQLite',
      open(issuer, clock) {
        const storage = openSqliteStorage({ path, issuer, clock });
        return { storage, dispose: async () => storage.close() };
      },
    },
    countRows() {
      const database = new DatabaseSync(path, { readOnly: true });
      const tables = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .all();
      const counts = tables.map(({ name }) => database.prepare(`SELECT count(*) AS rows FROM ${name}`).get());
      database.close();
      return counts.reduce((sum, count) => sum + Number(count?.rows), 0);
    },
  };
}

for (const { store, countRows } of [sqlite()]) {
  test(`${store.name}: with steady use and sweeping, the number of rows levels off`, async (t) => {
    const world = await openWorld(t, OPTIONS, { transport: FUNCTION, store });
    const atFirst = countRows();
    const counts: number[] = [];
    for (let step = 0; step < 2 * FULL; step++) {
      world.clock.advance(STEP);
      await useABit(world);
      while ((await world.storage.sweep(100)) > 0);
      counts.push(countRows());
    }
    const level = new Set(counts.slice(FULL));
    assert.equal(level.size, 1, `rows: ${[...level].join(', ')}`);

    world.clock.advance(FULL * STEP);
    while ((await world.storage.sweep(100)) > 0);
    const people = 1;
    const timeOfTheLastSweep = 1;
    assert.equal(
      countRows(),
      atFirst + people + timeOfTheLastSweep,
      'rows that are left when nothing is used any more',
    );
  });
}

/** One of everything that writes a row. Some of it is revoked. */
async function useABit(world: World): Promise<void> {
  await world.machineToken();
  await world.code();
  const kept = await world.grant();
  await world.rotated(kept.refresh_token);
  const revoked = await world.grant();
  await world.revoke(revoked.refresh_token);
  await world.revoke(await world.machineToken(), 'web');
  await world.storage.revokeAll({ principal: 'session', id: 'session of alice' });
  await world.grant();
  await world.storage.revokeGrants('alice', 'web');
  await world.grant('alice', 'spa');

  const expiresAt = world.clock.seconds + HOUR;
  await world.storage.oneTimeIdentifiers.take(randomUUID(), expiresAt);
  const kind = 'pushed_request';
  const pending = { kind, clientId: 'web', data: { scope: 'read' }, expiresAt } as const;
  await world.storage.pending.add({ ...pending, id: randomUUID(), otherId: randomUUID() });
  await world.storage.pending.add({ ...pending, id: 'answered' });
  await world.storage.pending.take(kind, 'answered');
  const client = { id: randomUUID(), grantTypes: [], scopes: [], redirectUris: ['https://one.example/cb'] };
  await world.storage.clients.add(client);
  await world.storage.clients.replace({ ...client, redirectUris: ['https://other.example/cb'] }, {});
  await world.storage.clients.remove(client.id);
}
