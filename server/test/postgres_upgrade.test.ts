import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask } from '../../core/test/harness/postgres_server.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { BARE_POSTGRESQL } from './harness/databases.ts';
import { environmentOf, Workbench } from './harness/program.ts';

const workbench = new Workbench(BARE_POSTGRESQL);
after(() => workbench.clear());

/** As before the contraction of version 9, but without the view of version 8. */
const UNDO_CONTRACTION = `
  DROP TABLE grantd.unnumbered_events;
  ALTER TABLE grantd.events ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, DROP CONSTRAINT events_are_numbered;
  CREATE INDEX events_by_age ON grantd.events (issuer_id, at_ms);
  CREATE INDEX events_without_sequence ON grantd.events (issuer_id, id) WHERE sequence IS NULL;`;

test('tables of an earlier version on PostgreSQL are migrated only by a start or migrate up, while nothing else is connected', {
  skip: BARE_POSTGRESQL.absence,
}, async () => {
  const folder = await workbench.home();
  const first = await workbench.start(folder, []);
  const flags = ['--port', String(first.port)];
  await first.stop();
  const contract = ['migrate', 'contract', '--yes', '--json'];
  assert.equal(JSON.parse(await grantdPrints(folder, contract)).migrated, false, 'a new database needs none');
  await grantdPrints(folder, ['migrate', 'down', '--to', 'library=9', '--yes']);
  // What the migrations up to the contraction added.
  await BARE_POSTGRESQL.run(
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
  const indexes = await ask(
    { url: url.href },
    "SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'grantd' AND tablename = 'events' ORDER BY 1",
  );
  assert.deepEqual(
    indexes.map(({ name }) => name),
    ['events_by_sequence'],
    'a contraction before the last migration does not wait for the operator',
  );
  const server = await workbench.start(folder, flags);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  await server.stop();
  await BARE_POSTGRESQL.run(
    folder,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND datname = current_database()`,
  );
  await asleep;
});
