// Unused registrations: the sweep, the command, and the limit of an address.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

describe('registrations', () => {
  const workbench = new Workbench();
  let folder: string;
  let server: RunningServer;
  before(async () => {
    folder = workbench.folder();
    server = await workbench.start(folder, [
      ...['--registration', 'open', '--registration-address-limit', '3'],
      ...['--unused-registration-lifetime', '0'],
    ]);
  });
  after(() => workbench.clear());

  const register = async (name: string) => {
    const response = await fetch(`${server.url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: name, redirect_uris: ['http://127.0.0.1/cb'] }),
    });
    return {
      status: response.status,
      body: (await response.json()) as { client_id: string; error?: string },
    };
  };
  /** Changes rows as time would. */
  const inDatabase = (sql: string, ...values: readonly (string | number)[]) => {
    const database = new DatabaseSync(join(folder, 'grantd-data', 'grantd.db'), { timeout: 5000 });
    database.prepare(sql).run(...values);
    database.close();
  };
  const age = (id: string, days: number) =>
    inDatabase('UPDATE clients SET registered_at = registered_at - ? WHERE id = ?', days * 24 * 60 * 60, id);
  const names = async () => {
    const clients: readonly { client_name?: string }[] = JSON.parse(
      await grantdPrints(folder, ['client', 'list', '--json']),
    );
    return clients.flatMap(({ client_name: name }) => name ?? []).sort();
  };
  const prune = async (...flags: readonly string[]) =>
    JSON.parse(await grantdPrints(folder, ['client', 'prune', ...flags, '--json']));

  test('an address has a limit, prune shows what it would remove, and removes only what is unused', async () => {
    const [old, agreed, fresh] = [await register('old'), await register('agreed'), await register('fresh')];
    assert.deepEqual([old.status, agreed.status, fresh.status], [201, 201, 201]);
    const full = await register('one too many');
    assert.deepEqual([full.status, full.body.error], [429, 'temporarily_unavailable']);

    for (const { body } of [old, agreed]) age(body.client_id, 20);
    inDatabase(
      `INSERT INTO consents (issuer, subject, client_id, entries, client_generation, client_revision, version, given_at_ms)
       SELECT issuer, 'alice', ?, '[]', 0, 0, 1, 1 FROM issuers`,
      agreed.body.client_id,
    );
    const plan = await prune('--unused-for', '7d', '--dry-run');
    assert.equal(plan.removed, false);
    assert.deepEqual(
      plan.clients.map(({ client_name: name }: { client_name: string }) => name),
      ['old'],
    );
    assert.deepEqual((await prune('--unused-for', '30d', '--dry-run')).clients, []);
    assert.deepEqual(await names(), ['agreed', 'fresh', 'old'], 'nothing was removed');

    const done = await prune('--unused-for', '604800', '--yes');
    assert.deepEqual([done.removed, done.clients.length], [true, 1]);
    assert.deepEqual(await names(), ['agreed', 'fresh']);
    assert.equal((await register('after')).status, 201, 'there is room again');
  });

  test('many /64 of an IPv6 /48 register no more than four addresses', async () => {
    const sender = await workbench.start(workbench.folder(), [
      ...['--registration', 'open', '--registration-address-limit', '3', '--trusted-proxies', '127.0.0.1'],
    ]);
    const statuses: number[] = [];
    for (let subnet = 0; subnet < 40; subnet++) {
      const { status } = await fetch(`${sender.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': `2001:db8:7:${subnet}::1` },
        body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] }),
      });
      statuses.push(status);
    }
    assert.equal(statuses.filter((status) => status === 201).length, 12);
    assert.equal(statuses.filter((status) => status === 429).length, 28);
  });

  test('prune needs a duration, and a terminal, --yes or --dry-run', async () => {
    for (const [flags, message] of [
      [[], /required option '--unused-for/],
      [['--unused-for', 'a week', '--yes'], /--unused-for: expected a number of seconds, .* got a week/],
      [['--unused-for', '1w', '--yes'], /--unused-for: expected/],
      [['--unused-for', '7d'], /--yes: required without a terminal/],
    ] as const) {
      const { code, stderr } = await grantd(folder, ['client', 'prune', ...flags]);
      assert.notEqual(code, 0);
      assert.match(stderr, message);
    }
  });

  test('the sweep removes what was unused for longer than --unused-registration-lifetime, and 0 keeps all', async () => {
    inDatabase(
      "UPDATE clients SET registered_at = registered_at - 3456000 WHERE name IN ('fresh', 'agreed')",
    );
    const environment = { GRANTD_UNUSED_REGISTRATION_LIFETIME: '0' };
    assert.equal((await grantd(folder, ['gc'], { environment })).code, 0);
    assert.ok((await names()).includes('fresh'));
    await grantdPrints(folder, ['gc']);
    assert.deepEqual(await names(), ['after', 'agreed'], 'a consent keeps a client');

    inDatabase("UPDATE clients SET registered_at = registered_at - 3456000 WHERE name = 'after'");
    await server.stop();
    const port = ['--port', new URL(server.url).port];
    server = await workbench.start(folder, ['--registration', 'open', ...port]);
    await server.logged(({ event }) => event === 'swept', 'the server has swept');
    assert.deepEqual(await names(), ['agreed']);
    const printed = await grantdPrints(folder, ['audit', 'list', '--type', 'client_removed', '--json']);
    const actors = JSON.parse(printed).map(({ actor }: { readonly actor: string }) => actor);
    assert.deepEqual(new Set(actors), new Set(['cli', 'server']), 'no client removed its own registration');
  });
});
