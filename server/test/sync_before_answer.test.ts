import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLibrary, registerClients } from '../../reliability/deployments/library.ts';
import { startOnSqlite } from '../../reliability/deployments/sqlite.ts';
import { Connection } from '../../reliability/load/connection.ts';
import { introspect, revoke } from '../../reliability/load/protocol.ts';
import { CLIENTS } from '../../reliability/load/registrations.ts';
import { exchangesIn } from '../../reliability/system_calls/exchanges.ts';
import { traced, whyNoTrace } from '../../reliability/system_calls/strace.ts';
import { Workbench } from './harness/program.ts';

const REVOCATIONS = 20;

const workbench = new Workbench();
after(() => workbench.clear());

test('RFC 7009 §2.2 a revocation is answered only after the disk has it, as the system calls show', {
  timeout: 60_000,
  skip: whyNoTrace() ?? false,
}, async () => {
  const folder = workbench.folder();
  const cluster = await startOnSqlite(workbench, folder, { processes: 1 });
  const library = await openLibrary(cluster);
  await registerClients(library);
  const clientId = CLIENTS.opaque.id;
  const [first, ...issued] = await library.opaque.operator.issueTokens({ clientId }, REVOCATIONS + 1);

  const [server] = cluster.servers;
  assert.ok(server && first);
  const connection = new Connection(server.address);
  // The first use of a secret is written after the response, once per hour. That write belongs to no request here.
  assert.equal(await introspect(connection, first.accessToken), 'active');
  assert.equal(await revoke(connection, first.accessToken, clientId), 'done');
  for (const id of [CLIENTS.api.id, clientId]) {
    const isUsed = async () =>
      (await library.storage.clients.get(id))?.secrets?.[0]?.lastUsedAtMs !== undefined;
    while (!(await isUsed())) await sleep(20);
  }
  await library.close();
  const trace = await traced(server.running().pid, join(folder, 'trace'), async () => {
    for (const { accessToken } of issued) {
      assert.equal(await introspect(connection, accessToken), 'active');
      assert.equal(await revoke(connection, accessToken, clientId), 'done');
    }
  });
  connection.close();

  const exchanges = exchangesIn(trace);
  const look = { request: 'POST /token/introspect', status: 200, logWrites: 0, isFlushed: false };
  const looks = exchanges.filter(({ request }) => request === look.request);
  assert.deepEqual(
    looks,
    issued.map(() => look),
  );
  const revocations = exchanges.filter(({ request }) => request === 'POST /token/revoke');
  assert.equal(revocations.length, REVOCATIONS);
  for (const { status, logWrites, isFlushed } of revocations) {
    assert.deepEqual(
      { status, isWritten: logWrites > 0, isFlushed },
      { status: 200, isWritten: true, isFlushed: true },
    );
  }
});
