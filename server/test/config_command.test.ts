import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { OPTION_NAMES } from '../src/config/options.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SECRET = 'the configured secret, which must never be printed';

test('config show prints every option with its value and source, and no secret', async () => {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'grantd.json'), JSON.stringify({ accessTokenLifetime: 300 }));
  const args = ['config', 'show', '--port', '99', '--profile', 'fapi2-security', '--config', 'grantd.json'];
  const environment = {
    GRANTD_SECRET: SECRET,
    GRANTD_DATABASE: 'postgres://grantd:hush@db.example/grantd?password=hush',
    GRANTD_WORKERS: '3',
  };
  const printed = await grantdPrints(folder, [...args, '--json'], '', environment);
  const rows: { option: string; value: unknown; source: string }[] = JSON.parse(printed);
  const options = new Map(rows.map(({ option, value, source }) => [option, [value, source]]));
  assert.deepEqual([...options.keys()], [...OPTION_NAMES]);
  for (const [name, expected] of Object.entries({
    port: [99, '--port'],
    workers: [3, 'GRANTD_WORKERS'],
    accessTokenLifetime: [300, 'accessTokenLifetime in grantd.json'],
    host: ['127.0.0.1', 'default'],
    issuer: [null, 'default'],
    accessTokenAlgorithm: ['PS256', 'profile'],
    secret: ['set', 'GRANTD_SECRET'],
    database: ['postgres://grantd@db.example/grantd', 'GRANTD_DATABASE'],
  }))
    assert.deepEqual(options.get(name), expected, name);
  const table = await grantdPrints(folder, args, '', environment);
  assert.match(table, /^port +99 +--port$/m);
  assert.match(table, /^issuer +– +default$/m);
  for (const text of [printed, table]) assert.doesNotMatch(text, /hush|must never/);
});

test('config check accepts what serve would accept, and refuses the rest with the same message', async () => {
  const folder = workbench.folder();
  assert.equal(await grantdPrints(folder, ['config', 'check']), 'the configuration is valid');
  assert.equal(await grantdPrints(folder, ['config', 'check', '--json']), '{"valid":true}');
  for (const [args, message] of [
    [['--port', 'x'], '--port: expected'],
    [['--tls-certificate', 'tls.pem'], '--tls-certificate: expected --tls-key with it'],
    [['--tls-certificate', 'tls.pem', '--tls-key', 'tls.key'], '--tls-certificate: expected a readable file'],
    [['--profile', 'fapi2-security', '--dpop-algorithms', ''], '--dpop-algorithms: expected'],
    [['--profile', 'fapi2-security', '--dpop-algorithms', '[]'], '--dpop-algorithms: expected an algorithm'],
    [
      ['--port', '4800', '--metrics-port', '4800'],
      '--metrics-port: expected another port than --port, because 127.0.0.1 and 127.0.0.1 can be the same address',
    ],
    [['--demo', '--host', '0.0.0.0'], '--host: expected a loopback address'],
    [['--issuer', 'http://id.example'], '--issuer: http://id.example: expected https'],
    [['--operator-logo', 'missing.svg'], '--operator-logo: expected'],
  ] as const) {
    const checked = await grantd(folder, ['config', 'check', ...args]);
    const served = await grantd(folder, ['serve', ...args]);
    assert.ok(checked.stderr.includes(message), checked.stderr);
    assert.deepEqual([checked.code, checked.stderr], [served.code, served.stderr]);
  }
});
