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
