// Prints the size of rows and indexes in each store with many live tokens, and the cost of its statements.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AdministrableStorage } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { newTimedIdentifier, timedIdentifier } from '../core/src/tokens/opaque_token.ts';
import { startPostgres } from '../core/test/harness/postgres_cluster.ts';
import { disposableDatabase } from '../core/test/harness/postgres_databases.ts';
import { PostgresStores } from '../core/test/harness/postgres_store.ts';
import { flagsOf } from './arguments.ts';

type Token = Parameters<AdministrableStorage['tokens']['issue']>[0][number];

const values = flagsOf(
  `npm run measure:sizes -- [FLAGS]

  --tokens N         in each database (1000000)
  --database NAMES   sqlite, postgres or both (sqlite,postgres)`,
  {
    tokens: { type: 'string', default: '1000000' },
    database: { type: 'string', default: 'sqlite,postgres' },
  },
);
const COUNT = Number(values.tokens);
if (!Number.isInteger(COUNT) || COUNT < 1000) throw new Error('--tokens: expected a whole number from 1000');

const CLIENT = 'client-of-an-ordinary-length';
const TOKENS_AT_ONCE = 400;
const HOUR = 3600;

/** An authorization by a user: an access token with its refresh token, as the server issues them. */
function pair(grant: number, ties: Partial<Token> = {}): [Token, Token] {
  const issuedAtMs = Date.now();
  const now = Math.floor(issuedAtMs / 1000);
  const common = {
    clientId: CLIENT,
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    subject: identifier(`subject-${grant % Math.ceil(COUNT / 8)}`),
    sessionId: identifier(`session-${grant}`),
    grantId: timed(),
    familyId: timed(),
    pairId: timed(),
    issuedAtMs,
    keyId: 'k'.repeat(43),
    digest: 'd'.repeat(43),
    ...ties,
  };
  const until = now + 14 * 24 * HOUR;
  return [
    {
      ...common,
      id: timedIdentifier(issuedAtMs, randomBytes(32).toString('base64url')),
      kind: 'refresh_token',
      expiresAt: until,
      keepUntil: until,
    },
    {
      ...common,
      id: timed(),
      kind: 'access_token',
      tokenType: 'Bearer',
      expiresAt: now + HOUR,
      keepUntil: until,
    },
  ];
}

function timed(): string {
  return newTimedIdentifier({ clock: Date.now, random: (bytes) => new Uint8Array(randomBytes(bytes)) });
}

/** As long as the program's: 22 characters. */
function identifier(of: string): string {
  return of.padEnd(22, '-');
}

async function fill(storage: AdministrableStorage): Promise<Token[]> {
  await storage.clients.add({
    id: CLIENT,
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid'],
    redirectUris: ['https://app.example/callback'],
    metadata: { token_endpoint_auth_method: 'none' },
  });
  const sample: Token[] = [];
  for (let grant = 0; grant < COUNT / 2; ) {
    const batch: Token[] = [];
    while (batch.length < TOKENS_AT_ONCE && grant < COUNT / 2) batch.push(...pair(grant++));
    if ((await storage.tokens.issue(batch, {})) !== 'issued') throw new Error('the tokens were refused');
    sample.push(...batch.slice(0, 4));
    if (process.stderr.isTTY) process.stderr.write(`\r${grant * 2} tokens`);
  }
  if (process.stderr.isTTY) process.stderr.write('\r');
  return sample;
}

/** Bytes written to the log so far, if the store reports them. */
let bytesLogged: () => Promise<number> = async () => Number.NaN;

/** Prints the median duration of sequential calls, and the bytes that they write to the log. */
async function cost(what: string, calls: number, call: (index: number) => unknown): Promise<void> {
  const times: number[] = [];
  const loggedBefore = await bytesLogged();
  for (let index = 0; index < calls; index++) {
    const begun = performance.now();
    await call(index);
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => `${((times[Math.floor(times.length * share)] ?? 0) * 1000).toFixed(0)} µs`;
  const logged = ((await bytesLogged()) - loggedBefore) / calls;
  console.log(
    `  ${what.padEnd(28)} median ${at(0.5).padStart(8)}   99th percentile ${at(0.99).padStart(8)}` +
      (Number.isNaN(logged) ? '' : `   ${logged.toFixed(0).padStart(6)} bytes of log`),
  );
}

async function costs(storage: AdministrableStorage, sample: readonly Token[]): Promise<void> {
  const at = (index: number) => sample[(index * 7919) % sample.length] ?? pair(0)[0];
  const refreshTokens = sample.filter(({ kind }) => kind === 'refresh_token').slice(0, 500);
  await cost('look-up of a token', 5000, (index) =>
    at(index).kind === 'access_token'
      ? storage.tokens.getByAccessToken(at(index).id)
      : storage.tokens.getByRefreshToken(at(index).id),
  );
  await cost('issuing a pair', 500, (index) => storage.tokens.issue(pair(COUNT + index), {}));
  const successors: Token[] = [];
  await cost('rotating a refresh token', refreshTokens.length, (index) => {
    const { sessionId, grantId, familyId, subject } = refreshTokens[index] ?? pair(0)[0];
    const next = pair(0, { sessionId, grantId, familyId, subject } as Partial<Token>);
    successors.push(next[0]);
    return storage.tokens.rotate(refreshTokens[index] ?? next[0], next[0], next);
  });
  await cost('revoking a refresh token', successors.length, (index) =>
    storage.tokens.revoke(successors[index] ?? pair(0)[0]),
  );
  await cost('ending all of a client', 20, () => storage.revokeAll({ principal: 'client', id: CLIENT }));
}

function printSizes(rows: readonly { name: string; kind: string; bytes: number; rows: number }[]): void {
  for (const { name, kind, bytes, rows: count } of rows) {
    const perRow = count > 0 ? `${(bytes / count).toFixed(0)} bytes a row` : '';
    console.log(
      `  ${kind.padEnd(6)} ${name.padEnd(30)} ${(bytes / 2 ** 20).toFixed(1).padStart(8)} MiB   ${perRow}`,
    );
  }
}

async function measureSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-sizes-'));
  try {
    const path = join(folder, 'grantd.db');
    const storage = openSqliteStorage({ path, issuer: 'https://issuer.example' });
    const sample = await fill(storage);
    console.log(`SQLite, ${COUNT} tokens`);
    const database = new DatabaseSync(path);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const rowsOf = (table: string) =>
      Number(database.prepare(`SELECT count(*) AS n FROM "${table}"`).get()?.n ?? 0);
    const sizes = database
      .prepare(
        `SELECT s.name, s.type, s.tbl_name AS owner, sum(d.pgsize) AS bytes FROM sqlite_schema s
         JOIN dbstat d ON d.name = s.name WHERE s.tbl_name IN ('tokens', 'principals', 'grants')
         GROUP BY s.name ORDER BY s.tbl_name, s.type DESC`,
      )
      .all()
      .map((row) => ({
        name: String(row.name),
        kind: String(row.type),
        bytes: Number(row.bytes),
        rows: rowsOf(String(row.owner)),
      }));
    database.close();
    printSizes(sizes);
    await costs(storage, sample);
    await storage.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measurePostgres(): Promise<void> {
  const cluster = await startPostgres({ settings: { shared_buffers: '1GB', max_wal_size: '4GB' } });
  const stores = new PostgresStores(await disposableDatabase(cluster));
  try {
    const storage = await stores.open();
    const sample = await fill(storage);
    console.log(`PostgreSQL, ${COUNT} tokens`);
    await stores.pool.query('ANALYZE');
    const { rows } = await stores.pool.query(
      `SELECT c.relname AS name, CASE c.relkind WHEN 'r' THEN 'table' ELSE 'index' END AS kind,
         pg_relation_size(c.oid)::float8 AS bytes, t.reltuples::float8 AS rows
       FROM pg_class c LEFT JOIN pg_index x ON x.indexrelid = c.oid
       JOIN pg_class t ON t.oid = coalesce(x.indrelid, c.oid)
       WHERE t.relname IN ('tokens', 'principals', 'grants') AND c.relkind IN ('r', 'i')
       ORDER BY t.relname, c.relkind DESC, c.relname`,
    );
    printSizes(rows);
    // After a checkpoint, PostgreSQL logs every page in full at its first change.
    await cluster.ask('CHECKPOINT');
    bytesLogged = async () =>
      Number((await cluster.ask("SELECT pg_current_wal_lsn() - '0/0' AS bytes"))[0]?.bytes);
    await costs(storage, sample);
  } finally {
    await stores.end();
    await cluster.remove();
  }
}

const chosen = values.database.split(',');
if (chosen.includes('sqlite')) await measureSqlite();
if (chosen.includes('postgres')) await measurePostgres();
