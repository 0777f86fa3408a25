// A console over a database of its own, in this process.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Claims } from '@grantd/core';
import { call } from '../../src/admin/in_process.ts';
import { localCalls } from '../../src/cli/local_calls.ts';
import { admissionByAddress } from '../../src/config/client_address.ts';
import { readConfiguration } from '../../src/config/configuration.ts';
import { Refused } from '../../src/config/refused.ts';
import { openConsole } from '../../src/console/console.ts';
import type { Database } from '../../src/data/database.ts';
import { sqliteDatabase } from '../../src/data/sqlite_database.ts';
import { openInstance } from '../../src/instance/instance.ts';
import { logTo, RequestLog } from '../../src/log/log.ts';
import { testMail } from '../../src/mail/test_mail.ts';
import { History } from '../../src/monitoring/history.ts';
import { openPages } from '../../src/pages/pages.ts';
import { requestListener } from '../../src/serve/http_server.ts';
import { Browser } from './browser.ts';
import { cheapHash } from './cheap_hash.ts';

export const ISSUER = 'http://localhost:4000';
export const HOUR_MS = 60 * 60 * 1000;
/** Of every user. */
export const PASSWORD = 'correct horse';

/** Starts a server with the console, and no user yet. */
export async function startConsole(
  options: Readonly<Record<string, string>> = {},
  of: Database | undefined = undefined,
) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-console-'));
  const configuration = readConfiguration(
    {},
    {
      ...{ GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), GRANTD_TRUSTED_PROXIES: '127.0.0.1' },
      ...{ GRANTD_CONSOLE: 'true', GRANTD_ADMIN_GROUP: 'admins', GRANTD_ADMIN_FROM: '127.0.0.1,10.0.0.0/8' },
      GRANTD_CONSOLE_SIGN_IN_POLICY: 'password',
      ...options,
    },
  );
  const database = of ?? sqliteDatabase(join(folder, 'grantd.db'));
  const instance = await openInstance(configuration, database, ISSUER, 'server');
  const server = await instance.server();
  const history = new History();
  const clock = { skewSeconds: 0 };
  const surroundings = {
    ...{ configuration, server, whyNotReady: async () => undefined, clock, history, testMail },
    isAdmitted: admissionByAddress(configuration.settings, () => {}),
  };
  await assert.rejects(
    openConsole(instance, surroundings),
    new Refused('GRANTD_ADMIN_GROUP: there is no group admins: add it first with grantd group add "admins".'),
  );
  await instance.groups.add({ name: 'admins', description: '' }, Date.now());
  const lines: string[] = [];
  const requestLog = new RequestLog(logTo({ write: (line: string) => void lines.push(line) }));
  const pages = openPages(instance, {
    ...{ settings: configuration.settings, server, requestLog, operator: {} },
    notifyClients: async () => new Map(),
    ...{ mail: undefined, directory: undefined, openUpstream: undefined, ownsGlobals: false },
    consoleFlow: await openConsole(instance, surroundings),
  });
  const http = createServer(requestListener({ server, requestLog, pages }));
  await new Promise<void>((listening) => http.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;

  const addUser = async (name: string, groups: readonly string[] = [], claims: Claims = {}) => {
    const person = await instance.people.add({ name, passwordHash: cheapHash(PASSWORD), claims });
    assert.ok(person);
    for (const group of groups)
      await instance.groups.addMember({ subject: person.subject, group }, Date.now());
    return person;
  };
  return {
    ...{ url, instance, server, configuration, history, addUser },
    /** Of SQLite. */
    file: join(folder, 'grantd.db'),
    log: () => lines.join(''),
    async addClient(id: string, others: Readonly<Record<string, string>> = {}) {
      const cli = { ...instance.actingAs('cli'), configuration };
      const own = { redirect_uris: ['https://app.example/cb'], scope: 'openid offline_access' };
      const members = { ...own, ...others };
      return call(localCalls(cli), 'addClient', { ...members, client_id: id });
    },
    /** A browser with a session of the user, who signed in some time ago. */
    async browserOf(name: string, signedInHoursAgo = 0, headers: Readonly<Record<string, string>> = {}) {
      const person = await instance.people.byName(name);
      assert.ok(person);
      const secret = randomBytes(32).toString('base64url');
      const session = {
        ...{ id: randomBytes(16).toString('base64url'), subject: person.subject, amr: ['pwd'] },
        ...{ userAgent: '', signedInAtMs: Date.now() - signedInHoursAgo * HOUR_MS, lastSeenAtMs: Date.now() },
      };
      const digest = createHash('sha256').update(secret).digest('base64url');
      assert.ok(await instance.sessions.add(session, digest, Date.now() + HOUR_MS, person));
      const browser = new Browser(url, headers);
      browser.cookies.set('grantd_session', secret);
      return browser;
    },
    async tokensOf(clientId: string, subject: string) {
      const [issued] = await server.operator.issueTokens({ clientId, subject, refresh: true });
      return { access: issued?.accessToken ?? '', refresh: issued?.refreshToken ?? '' };
    },
    async isActive(token: string) {
      return (await server.operator.explainToken(token)).alive;
    },
    async close() {
      http.closeAllConnections();
      http.close();
      await database.close();
      rmSync(folder, { recursive: true });
    },
  };
}
