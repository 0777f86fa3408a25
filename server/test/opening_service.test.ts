// A service over a database, opened in this process: what a failure leaves behind.
// Runs alone: the program replaces globals of the process that it runs in (ADR 198).
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { readConfiguration } from '../src/config/configuration.ts';
import type { Directory } from '../src/directory/contract.ts';
import { logTo } from '../src/log/log.ts';
import { Monitor } from '../src/monitoring/monitor.ts';
import { createHttpServer } from '../src/serve/http_server.ts';
import { serveDatabase } from '../src/serve/lifecycle.ts';
import { OpenedParts } from '../src/serve/opened_parts.ts';
import { openService } from '../src/serve/service.ts';
import { until } from './harness/program.ts';

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-opening-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function configurationOf(folder: string, options: Readonly<Record<string, string>> = {}) {
  const database = `sqlite:${join(folder, 'grantd.db')}`;
  const given = { GRANTD_ISSUER: 'https://id.example', GRANTD_SECRET: 's'.repeat(32) };
  return readConfiguration({}, { ...given, GRANTD_DATABASE: database, ...options });
}

/** The intervals that are set in this process and not cleared. */
function watchIntervals(t: TestContext): ReadonlySet<unknown> {
  const open = new Set<unknown>();
  const { setInterval: set, clearInterval: clear } = globalThis;
  t.mock.method(globalThis, 'setInterval', (...args: Parameters<typeof set>) => {
    const timer = set(...args);
    open.add(timer);
    return timer;
  });
  t.mock.method(globalThis, 'clearInterval', (timer: Parameters<typeof clear>[0]) => {
    open.delete(timer);
    clear(timer);
  });
  return open;
}

/** The files of a folder that this process has open. */
function openFiles(folder: string): readonly string[] {
  if (!existsSync('/proc/self/fd')) return [];
  const targets = readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return []; // the descriptor of the listing itself
    }
  });
  return targets.filter((target) => target.startsWith(folder));
}

function brokenMonitor(method: 'database' | 'events'): Monitor {
  const monitor = new Monitor(10);
  monitor[method] = () => {
    throw new Error(`${method} is broken`);
  };
  return monitor;
}

test('a service that cannot be opened leaves nothing open and nothing recorded, at whichever step it fails', async (t) => {
  const folder = newFolder(t);
  // These have intervals of their own, for the whole process.
  const [brokenDatabase, brokenEvents] = [brokenMonitor('database'), brokenMonitor('events')];
  const intervals = watchIntervals(t);
  let directoriesOpen = 0;
  const open = async (options: Readonly<Record<string, string>>, monitor?: Monitor) => {
    directoriesOpen++;
    const directory: Directory = {
      ...{ groups: [], claims: [], areEmailsVerified: false },
      authenticate: async () => ({ refused: 'person_unknown' }),
      byId: async () => undefined,
      close: () => {
        directoriesOpen--;
      },
    };
    return openService(
      configurationOf(folder, options),
      {},
      {
        ...{
          log: logTo({ write: () => {} }),
          monitor,
          sweeps: true,
          isReload: true,
          isEnding: () => false,
          ownsGlobals: false,
        },
        users: { directory, claimsOf: () => async () => ({}) },
      },
    );
  };
  const recorded = () => {
    const database = new DatabaseSync(join(folder, 'grantd.db'));
    const [row] = database
      .prepare(`SELECT count(*) AS count FROM events WHERE type = 'configuration_loaded'`)
      .all();
    database.close();
    return row?.count;
  };

  const service = await open({ GRANTD_CREATE: 'true' });
  assert.equal(intervals.size, 1, 'the watch of the database is seen');
  await service.end();
  assert.deepEqual([directoriesOpen, intervals.size, openFiles(folder)], [0, 0, []]);
  const before = recorded();

  const noGroup = { GRANTD_ADMIN_GROUP: 'absent', GRANTD_SMTP_URL: 'smtp://127.0.0.1:1' };
  const mail = { GRANTD_MAIL_FROM: 'id@id.example' };
  const failures = {
    'the metrics of the database': () => open({}, brokenDatabase),
    'the issuer': () => open({ GRANTD_ISSUER: 'https://other.example' }),
    'the server': () => open({}, brokenEvents),
    'the admin API': () => open({ ...noGroup, ...mail, GRANTD_ADMIN_API: 'true' }),
    'the console': () => open({ ...noGroup, ...mail, GRANTD_CONSOLE: 'true' }),
    'the record of the start': async () => {
      const database = new DatabaseSync(join(folder, 'grantd.db'));
      database.exec(`CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'full'); END`);
      try {
        return await open({});
      } finally {
        database.exec('DROP TRIGGER broken');
        database.close();
      }
    },
  };
  for (const [step, fail] of Object.entries(failures)) {
    await assert.rejects(fail(), step);
    assert.deepEqual([directoriesOpen, intervals.size, openFiles(folder)], [0, 0, []], step);
    assert.equal(recorded(), before, step);
  }
});

test('parts are closed in reverse order, once, also if closing one fails', async () => {
  const closed: string[] = [];
  const opened = new OpenedParts();
  opened.add(() => closed.push('first'));
  opened.add(async () => {
    throw new Error('second');
  });
  opened.add(() => closed.push('third'));
  await assert.rejects(opened.close(), { message: 'second' });
  await opened.close();
  assert.deepEqual(closed, ['third', 'first']);
});

test('a server whose background work fails says why and ends with an error', async (t) => {
  const folder = newFolder(t);
  const lines: string[] = [];
  const log = logTo({
    write(line) {
      lines.push(line);
      if (line.includes('unfinished_work_failed')) throw new Error('the log is full');
    },
  });
  const server = createHttpServer(undefined);
  const { promise: started, resolve } = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const served = serveDatabase(
    configurationOf(folder, { GRANTD_CREATE: 'true' }),
    {},
    {
      ...{ server, connections: server.connections, tls: undefined, log, sweeps: true, bringsDemo: false },
      ending: { requested: never, nearlyClosing: never, closing: never },
      started: () => resolve(),
    },
  );
  const rejected = assert.rejects(served, { message: 'the log is full' });
  await started;
  const database = new DatabaseSync(join(folder, 'grantd.db'), { timeout: 5000 });
  database.exec('DROP TABLE logout_deliveries');
  database.close();
  await rejected;
  await until(() => lines.some((line) => line.includes('background_work_failed')), 'the log says why');
});
