import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from 'pg';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { environmentOf, Workbench } from './harness/program.ts';

const workbench = new Workbench(POSTGRESQL);
after(() => workbench.clear());

/** An error code of PostgreSQL. */
const DEADLOCK_DETECTED = '40P01';

/** As before the contraction of version 9, but without the view of version 8. */
const UNDO_CONTRACTION = `
  DROP TABLE grantd.unnumbered_events;
  ALTER TABLE grantd.events ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, DROP CONSTRAINT events_are_numbered;
  CREATE INDEX events_by_age ON grantd.events (issuer_id, at_ms);
  CREATE INDEX events_without_sequence ON grantd.events (issuer_id, id) WHERE sequence IS NULL;`;

test('tables of an earlier version on PostgreSQL are migrated only by a start or migrate up, while nothing else is connected', {
  skip: POSTGRESQL.absence,
}, async () => {
  const folder = await workbench.home();
  const first = await workbench.start(folder, []);
  const flags = ['--port', String(first.port)];
  await first.stop();
  // What the last migrations of the library added.
  await POSTGRESQL.run(
    folder,
    `ALTER TABLE grantd.tokens DROP COLUMN authorization_details;
     ALTER TABLE grantd.authorization_codes DROP COLUMN authorization_details;
     ALTER TABLE grantd.events
       DROP COLUMN address, DROP COLUMN client_id, DROP COLUMN subject, DROP COLUMN reason, DROP COLUMN request_id;
     ${UNDO_CONTRACTION}
     DELETE FROM grantd.schema_versions WHERE version >= 5;
     INSERT INTO grantd.schema_versions (version) VALUES (4) ON CONFLICT DO NOTHING`,
  );
  const status = async () => JSON.parse(await grantdPrints(folder, ['migrate', 'status', '--json']));
  assert.deepEqual([(await status()).start, (await status()).library.stored], ['migrate', 4]);
  const refused = await grantd(folder, ['client', 'list']);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /are of an earlier version of grantd: .* run grantd migrate up/);

  const url = new URL(environmentOf(folder).GRANTD_DATABASE ?? '');
  url.searchParams.set('application_name', 'grantd');
  const asleep = ask({ url: url.href }, 'SELECT pg_sleep(300)').catch(() => undefined);
  const isAsleep = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND datname = current_database()`;
  while ((await ask({ url: url.href }, isAsleep)).length === 0);
  for (const command of [
    ['migrate', 'up'],
    ['serve', ...flags],
  ]) {
    const { code, stderr } = await grantd(folder, command);
    assert.equal(code, 1, stderr);
    assert.match(stderr, /other processes use them/);
  }
  assert.equal((await status()).library.stored, 4);
  await grantdPrints(folder, ['migrate', 'up', '--force']);
  assert.equal((await status()).start, 'serve');
  const server = await workbench.start(folder, flags);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  await server.stop();
  await POSTGRESQL.run(
    folder,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND datname = current_database()`,
  );
  await asleep;
});

test('a contraction on PostgreSQL waits only briefly for the lock of a table, and new databases need none', {
  skip: POSTGRESQL.absence,
}, async () => {
  const folder = await workbench.home();
  const server = await workbench.start(folder, []);
  const contract = ['migrate', 'contract', '--yes', '--json'];
  assert.equal(JSON.parse(await grantdPrints(folder, contract)).migrated, false);
  // As the last but one migration of the library leaves them.
  await runBesideServer(
    folder,
    `${UNDO_CONTRACTION}
     CREATE VIEW grantd.unnumbered_events AS
       SELECT id, at_ms, issuer_id, type, target, actor, address, client_id, subject, reason, request_id
       FROM grantd.events WHERE sequence IS NULL;
     DELETE FROM grantd.schema_versions WHERE version >= 8;
     INSERT INTO grantd.schema_versions (version, floor) VALUES (8, 7)`,
  );
  const url = environmentOf(folder).GRANTD_DATABASE ?? '';
  const reader = new Client({ connectionString: url });
  await reader.connect();
  await reader.query('BEGIN; SELECT FROM grantd.events');
  const refused = await grantd(folder, contract);
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /are in use, for example by a backup: try again when it has ended\.$/m);
  await reader.end();

  assert.equal(JSON.parse(await grantdPrints(folder, contract)).migrated, true);
  const indexes = await ask(
    { url },
    "SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'grantd' AND tablename = 'events' ORDER BY 1",
  );
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['events_by_sequence'],
  );
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  await server.stop();
});

/** Changes tables. Where the server holds a lock and waits for another, PostgreSQL ends one of the two transactions. */
async function runBesideServer(folder: string, sql: string): Promise<void> {
  for (;;)
    try {
      return await POSTGRESQL.run(folder, sql);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === DEADLOCK_DETECTED)) throw error;
    }
}
