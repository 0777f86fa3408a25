import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_CLIENTS } from '../population/clients.ts';
import { COPIED, populate } from '../population/populate.ts';
import { startBeside } from '../processes/beside.ts';

const WRITER = join(import.meta.dirname, '..', 'subjects', 'writer.ts');
const LONGEST_MS = 20_000;
/** The writer's clients and users have separate events. */
const REVOCATIONS = "events WHERE type = 'token_revoked'";

test('one in ten commits of the writer revokes, a machine’s token and a user’s token in turns', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'grantd.db');
  await populate(path, { records: COPIED, tokens: {} }, { fileOf: () => '', onProgress: () => {} });

  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const count = (sql: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${sql}`).get()?.n);
  const writer = await startBeside([process.execPath, WRITER, path]);
  for (let waitedMs = 0; count(REVOCATIONS) < 4 && waitedMs < LONGEST_MS; waitedMs += 50) await sleep(50);
  await writer.end();

  const { machine_opaque, web } = BENCH_CLIENTS;
  const ofMachine = `tokens WHERE client_id = '${machine_opaque.id}'`;
  const ofPerson = `tokens WHERE client_id = '${web.id}' AND kind = 'refresh_token'`;
  const revocations = count(REVOCATIONS);
  assert.ok(revocations >= 4, `${revocations} revocations`);
  assert.equal(revocations, Math.floor((count(ofMachine) + count(ofPerson) + revocations) / 10));
  assert.equal(count(`${ofPerson} AND revoked_at_ms IS NOT NULL`), Math.ceil(revocations / 2));
  assert.equal(count(`${ofMachine} AND revoked_at_ms IS NOT NULL`), Math.floor(revocations / 2));
});
