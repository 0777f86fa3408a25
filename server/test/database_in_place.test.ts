import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { grantd } from './harness/commands.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { basic, introspect } from './harness/protocol.ts';
import { begin } from './harness/wire.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');
const isNoticed = (server: RunningServer) =>
  server.log().some(({ event, level }) => event === 'database_replaced' && level === 'fatal');

describe('/health responds with 503 if the file cannot be read, whatever is still cached:', () => {
  const spoilings: Readonly<Record<string, (path: string) => void>> = {
    truncated: (path) => truncateSync(path, 0),
    // All of it, since the server writes soon after its start, and a page that is in the log is read from there.
    zeroed: (path) => writeFileSync(path, Buffer.alloc(statSync(path).size), { flag: 'r+' }),
  };
  for (const [how, spoil] of Object.entries(spoilings)) {
    test(how, async () => {
      const folder = workbench.folder();
      // Stopped once, so that nearly everything is in the file and not in its log.
      const first = await workbench.start(folder);
      await first.stop();
      const server = await workbench.start(folder, ['--port', String(first.port)]);
      assert.equal((await fetch(`${server.url}/health`)).status, 200);
      spoil(databaseOf(folder));
      const response = await fetch(`${server.url}/health`);
      assert.equal(response.status, 503);
      assert.equal(response.headers.get('retry-after'), '1');
      assert.deepEqual(await response.json(), { status: 'unavailable' });
    });
  }
});

describe('a running server ends by itself, with 1, if its database is', () => {
  const displacements: Readonly<Record<string, (path: string) => void>> = {
    deleted: (path) => rmSync(path),
    replaced: (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
    'left without its log': (path) => rmSync(`${path}-wal`),
  };
  for (const [how, displace] of Object.entries(displacements)) {
    test(how, async () => {
      const server = await workbench.start(workbench.folder(), ['--demo']);
      displace(databaseOf(server.folder));
      await until(() => isNoticed(server), 'it is noticed', 3000);
      const { code, stderr } = await server.ended;
      assert.equal(code, 1);
      assert.match(
        stderr,
        /grantd: the database .*grantd\.db or its write-ahead log was replaced or deleted/,
      );
    });
  }

  test('deleted, and a request in flight gets a 503', async () => {
    const server = await workbench.start(workbench.folder(), ['--demo']);
    const body = 'grant_type=client_credentials';
    const request = await begin(
      server.port,
      'POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
        `Authorization: ${basic('demo-machine', 'demo-machine-secret')}\r\n` +
        `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    await until(() => request.text().includes('100 Continue'), 'the request is in flight');
    rmSync(databaseOf(server.folder));
    assert.equal((await fetch(`${server.url}/health`)).status, 503);
    await until(() => isNoticed(server), 'it is noticed', 500);
    request.socket.write(body);
    assert.equal((await server.ended).code, 1);
    assert.match(request.text(), /\r\nHTTP\/1\.1 503 /);
  });

  test('deleted a moment before it is asked to end', async () => {
    const server = await workbench.start(workbench.folder());
    rmSync(databaseOf(server.folder));
    const { code, stderr } = await server.stop();
    assert.equal(code, 1);
    assert.match(stderr, /^grantd: the database .* was replaced or deleted/m);
  });
});

function backUp(path: string): string {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec(`VACUUM INTO '${path}.backup'`);
  database.close();
  return `${path}.backup`;
}

/** Empties the log into the file. @returns whether a running server then writes nothing for a while */
async function isQuiet(path: string): Promise<boolean> {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  await pause(1500);
  return statSync(`${path}-wal`).size === 0;
}

describe('a running server ends by itself, with 1, and shows no revoked token as active, if an older backup', () => {
  const restorations: Readonly<Record<string, (from: string, path: string) => Promise<unknown>>> = {
    'is restored by SQLite': async (from, path) => {
      const source = new DatabaseSync(from, { readOnly: true });
      await backup(source, path);
      source.close();
    },
    'is copied over its file': async (from, path) => copyFileSync(from, path),
  };
  for (const [how, restore] of Object.entries(restorations)) {
    test(how, async () => {
      const server = await workbench.start(workbench.folder(), ['--demo']);
      const { folder } = server;
      const path = databaseOf(folder);
      const issued = await grantd(folder, ['token', 'issue', '--client', 'demo-machine']);
      const token = issued.stdout.trim();
      assert.deepEqual((await introspect(server.url, token)).active, true);
      const from = backUp(path);
      assert.equal((await grantd(folder, ['token', 'revoke', token])).code, 0);
      assert.deepEqual((await introspect(server.url, token)).active, false);
      // Until the file has the revocation and what the server writes after it, such as its seal, and the log has nothing:
      // with pages of the log, an older file would be corrupt instead of older.
      for (let looks = 1; !(await isQuiet(path)); looks++) assert.ok(looks < 10, 'the server writes on');

      await restore(from, path);
      const seen: unknown[] = [];
      let isOver = false;
      const noticed = until(() => isNoticed(server), 'it is noticed').finally(() => {
        isOver = true;
      });
      while (!isOver) {
        const found = await introspect(server.url, token).catch(() => undefined);
        if (found !== undefined) seen.push(found.active);
      }
      await noticed;
      assert.equal(seen.includes(true), false);
      const { code, stderr } = await server.ended;
      assert.equal(code, 1);
      assert.match(stderr, /or an older copy was restored into it, while grantd was running/);
    });
  }
});

test('a backup that was moved over a running server’s file is served only without the log of the previous one', async () => {
  const server = await workbench.start(workbench.folder(), ['--demo']);
  const { folder, port } = server;
  const path = databaseOf(folder);
  const backup = backUp(path);
  assert.equal((await grantd(folder, ['token', 'issue', '--client', 'demo-machine'])).code, 0);
  renameSync(backup, path);
  const { stderr } = await server.ended;
  assert.ok(stderr.includes(`remove ${path}-wal and ${path}-shm`), stderr);

  const refused = `grantd: ${path} was replaced, and the log beside it belongs to the previous file: stop every program that uses it, remove ${path}-wal and ${path}-shm, and start again.\n`;
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
  ])
    assert.deepEqual(await grantd(folder, command), { code: 1, stdout: '', stderr: refused });

  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix);
  const restored = await workbench.start(folder, ['--demo', '--port', String(port)]);
  assert.equal((await fetch(`${restored.url}/health`)).status, 200);
  await restored.stop();
});

/** Overwrites a file in place, except its first page. */
function damage(path: string): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(statSync(path).size - 4096, 'x'), 0, undefined, 4096);
  closeSync(file);
}

test('after the first sign of corruption every response is 503, and no start serves the file', async () => {
  const folder = workbench.folder();
  const { port, stop } = await workbench.start(folder, ['--demo']);
  await stop();
  const server = await workbench.start(folder, ['--port', String(port), '--workers', '2', '--demo']);
  const path = databaseOf(folder);
  damage(path);
  await until(
    () => server.log().some(({ event }) => event === 'database_corrupt'),
    'it is noticed',
    5000,
  ).catch(() => assert.fail(server.stderr() + server.stdout()));
  const statuses = async () => {
    const answers = ['/health', '/jwks', '/login', '/.well-known/openid-configuration'].map((url) =>
      fetch(server.url + url),
    );
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  await until(
    () => server.log().filter(({ event }) => event === 'database_corrupt').length === 2,
    'each worker knows',
    5000,
  );
  assert.deepEqual(await statuses(), [503, 503, 503, 503]);
  await server.stop();
  for (const command of [
    ['serve', '--port', '0'],
    ['client', 'list'],
  ]) {
    const { code, stderr } = await grantd(folder, command);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /grantd: the database \S+ is corrupt \(.+\): stop every program that uses it, move it away/,
    );
  }
});

test('after a crash, a damaged file is refused before the first response', async () => {
  const folder = workbench.folder();
  const path = databaseOf(folder);
  const first = await workbench.start(folder);
  await first.stop('SIGKILL');
  const flags = ['--port', String(first.port)];
  // A sound file is served. In the end, its log is empty.
  await (await workbench.start(folder, flags)).stop();
  const database = new DatabaseSync(path);
  const row = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'grants'").get();
  database.close();
  await (await workbench.start(folder, flags)).stop('SIGKILL');
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096, 'x'), 0, undefined, (Number(row?.rootpage) - 1) * 4096);
  closeSync(file);
  const { code, stdout, stderr } = await grantd(folder, ['serve', ...flags]);
  assert.match(stderr, /grantd: the database \S+ is corrupt \(.+\): stop every program that uses it/);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
});
