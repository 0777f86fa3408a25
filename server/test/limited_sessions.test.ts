import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { Workbench } from './harness/program.ts';

const issuer = 'https://login.example';
const workbench = new Workbench();
after(() => workbench.clear());

test('shorter lifetimes reach every session, a thousand at a time', async () => {
  const path = join(workbench.folder(), 'grantd.db');
  const database = sqliteDatabase(path);
  const { sessions } = await database.open(issuer);
  after(() => database.close());
  const rows = new DatabaseSync(path);
  after(() => rows.close());
  const add = rows.prepare(`
    INSERT INTO sessions (issuer, id, secret_digest, subject, amr, user_agent, signed_in_at_ms, last_seen_at_ms, expires_at_ms)
    VALUES (?, ?, ?, 'subject', 'pwd', '', 0, ?, 9000000)`);
  rows.exec('BEGIN');
  for (let number = 0; number < 2500; number++) {
    const id = `${'_-09AZaz'[number % 8]}${number}`;
    add.run(issuer, id, id, number % 2 === 0 ? 1000 : 3_600_000);
  }
  add.run('https://other.example', 'other', 'other', 1000);
  rows.exec('COMMIT');

  let steps = 0;
  for (let next: string | undefined = ''; next !== undefined; steps++)
    next = await sessions.limit({ idle: 60, absolute: 3600 }, next);
  assert.equal(steps, 3);
  const found = rows
    .prepare('SELECT issuer, expires_at_ms, count(*) AS n FROM sessions GROUP BY 1, 2 ORDER BY 1, 2')
    .all();
  assert.deepEqual(
    found.map((row) => ({ ...row })),
    [
      { issuer, expires_at_ms: 61_000, n: 1250 },
      { issuer, expires_at_ms: 3_600_000, n: 1250 },
      { issuer: 'https://other.example', expires_at_ms: 9_000_000, n: 1 },
    ],
  );
});
