// Live tokens are counted up to a limit, and few rows are read for it, however many there are.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import type { AdministrableStorage } from '../../src/storage/contract.ts';
import { memoryStorage } from '../../src/storage/memory/memory_storage.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const ISSUER = 'https://id.example';

const LARGE = { principal: 'client', id: 'large' } as const;
const SMALL = { principal: 'client', id: 'small' } as const;
const ALL = { issuedBeforeMs: Number.MAX_SAFE_INTEGER };

/** A token of each client. Copies of the one of `large` end later than that of `small`. */
async function issueOne(storage: AdministrableStorage) {
  const nowMs = Date.now();
  for (const [at, clientId] of ['large', 'small'].entries()) {
    const expiresAt = Math.floor(nowMs / 1000) + 3600 - at;
    await storage.clients.add({ id: clientId, grantTypes: [], scopes: [], redirectUris: [] });
    const token = { id: clientId, digest: 'd', kind: 'access_token', tokenType: 'Bearer' } as const;
    const life = { issuedAtMs: nowMs, expiresAt, keepUntil: expiresAt };
    const ties = { subject: `user of ${clientId}`, grantId: `grant of ${clientId}` };
    await storage.tokens.issue([{ ...token, clientId, scopes: [], ...ties, ...life }], {});
  }
}

/** Copies of the token of `large`. @param series SQL for a table `n` with the numbers of the copies */
function copies(schema: string, columns: readonly string[], series: string, superseded: string): string {
  const values = columns.map((name) => (name === 'superseded_at_ms' ? superseded : name));
  return `INSERT INTO ${schema}tokens (id, ${columns.join(', ')})
    SELECT 'copy-' || n.number, ${values.join(', ')} FROM ${schema}tokens, ${series} WHERE id = 'large'`;
}

async function expectCounts(storage: AdministrableStorage): Promise<void> {
  assert.deepEqual(await storage.countAlive(LARGE), { count: 100_000, hasMore: true });
  assert.deepEqual(await storage.countAlive(ALL), { count: 100_000, hasMore: true });
  assert.deepEqual(await storage.countAlive(SMALL), { count: 1, hasMore: false });
  const { tokens, hasMore } = await storage.aliveOfClient('large', 10);
  assert.deepEqual([tokens.length, hasMore], [10, true]);
  const few = await storage.aliveOfClient('small', 1);
  assert.deepEqual([few.tokens.length, few.hasMore], [1, false]);
}

describe('live tokens are counted up to a limit', () => {
  test('in memory', async () => {
    const storage = memoryStorage();
    await issueOne(storage);
    const nowMs = Date.now();
    const expiresAt = Math.floor(nowMs / 1000) + 3600;
    const token = { digest: 'd', kind: 'access_token', tokenType: 'Bearer', clientId: 'large' } as const;
    const life = { scopes: [], issuedAtMs: nowMs, expiresAt, keepUntil: expiresAt };
    for (let index = 0; index < 100_000; index += 1)
      await storage.tokens.issue([{ ...token, id: `copy-${index}`, ...life }], {});
    await expectCounts(storage);
  });

  test('on SQLite, and rows are read up to another', async () => {
    const path = join(folder, `${randomUUID()}.db`);
    const storage = openSqliteStorage({ path, issuer: ISSUER });
    after(() => storage.close());
    await issueOne(storage);
    const database = new DatabaseSync(path);
    after(() => database.close());
    const columns = database
      .prepare("SELECT name FROM pragma_table_info('tokens') WHERE name <> 'id'")
      .all()
      .map(({ name }) => String(name));
    const add = (from: number, to: number, superseded: string) => {
      const numbers = `SELECT ${from} UNION ALL SELECT number + 1 FROM n WHERE number < ${to}`;
      database.exec(`WITH RECURSIVE n (number) AS (${numbers}) ${copies('', columns, 'n', superseded)}`);
    };
    add(1, 100_000, 'NULL');
    await expectCounts(storage);
    await storage.revokeAll(LARGE);
    assert.deepEqual(await storage.countAlive(LARGE), { count: 0, hasMore: false });
    add(100_001, 500_000, '1');
    // The token of `small` ends first, so it is the row that is not read.
    assert.deepEqual(await storage.countAlive(SMALL), { count: 0, hasMore: true });
    assert.deepEqual(await storage.countAlive(ALL), { count: 0, hasMore: true });
    assert.deepEqual(await storage.aliveOfClient('small', 1), { tokens: [], hasMore: true });
    const user = { principal: 'subject', id: 'user of small' } as const;
    // Tokens of grants are found by an index.
    assert.deepEqual(await storage.countAlive(user), { count: 1, hasMore: true });
    const grant = { principal: 'grant', id: 'grant of small' } as const;
    assert.deepEqual(await storage.countAlive(grant), { count: 1, hasMore: false });
  });

  test('on PostgreSQL', { skip: POSTGRES_ABSENCE }, async () => {
    const stores = new PostgresStores(await disposableDatabase(await sharedPostgres()));
    after(() => stores.end());
    const storage = await stores.open();
    await issueOne(storage);
    const { rows } = await stores.pool.query(
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'grantd' AND table_name = 'tokens' AND column_name <> 'id'",
    );
    const columns = rows.map(({ name }) => String(name));
    const series = 'generate_series(1, 100000) AS n (number)';
    await stores.pool.query(copies('grantd.', columns, series, 'NULL::bigint'));
    await expectCounts(storage);
  });
});
