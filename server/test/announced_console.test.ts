import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import { logTo } from '../src/log/log.ts';
import { announce } from '../src/serve/shutdown.ts';

test('a server with the console says where it is, and who gets in', (t) => {
  const printed = t.mock.method(console, 'error', () => {});
  const log = logTo({ write: () => {} });
  const started = { issuer: 'https://id.example/', database: 'grantd.db' };
  const environment = { GRANTD_ISSUER: 'https://id.example/', GRANTD_SECRET: 's'.repeat(32) };
  const linesWith = (more: object) => {
    printed.mock.resetCalls();
    const { settings } = readConfiguration({}, { ...environment, ...more });
    announce(log, settings, started);
    return printed.mock.calls.map(({ arguments: [line] }) => String(line));
  };
  const line = 'the console is at https://id.example/console: sign in as a member of the group admins';
  const withConsole = { GRANTD_CONSOLE: 'true', GRANTD_ADMIN_GROUP: 'admins' };
  assert.ok(linesWith({ ...withConsole, GRANTD_CONSOLE_SIGN_IN_POLICY: 'password' }).includes(line));
  assert.ok(linesWith({}).every((one) => !one.includes('console')));
});

test('a server whose port is not that of its URLs says so, unless a proxy has them', (t) => {
  const printed = t.mock.method(console, 'error', () => {});
  const { settings } = readConfiguration({}, { GRANTD_SECRET: 's'.repeat(32), GRANTD_PORT: '4000' });
  const saysPort = (issuer: string) => {
    printed.mock.resetCalls();
    announce(logTo({ write: () => {} }), settings, { issuer, database: 'grantd.db' });
    return printed.mock.calls.some(({ arguments: [line] }) => String(line).includes('use --port'));
  };
  for (const issuer of ['http://localhost:4811', 'http://127.0.0.1', 'http://[::1]:4001/id'])
    assert.equal(saysPort(issuer), true, issuer);
  for (const issuer of ['http://localhost:4000', 'https://localhost:4811', 'https://id.example'])
    assert.equal(saysPort(issuer), false, issuer);
});
