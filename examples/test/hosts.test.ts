import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

const HOSTS = globSync(join(import.meta.dirname, '..', 'hosts', '*.ts')).filter(
  (file) => basename(file) !== 'authorization_server.ts',
);
const LONGEST_START_MS = 20_000;

/** Starts an example as a reader would. @returns its URL, once it answers */
async function started(t: TestContext, file: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-host-'));
  const port = await freePort();
  const environment = {
    PORT: String(port),
    DATABASE: join(folder, 'tokens.db'),
    GRANTD_SECRET: 's'.repeat(32),
  };
  const host = spawn(process.execPath, [file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(host, 'exit');
  t.after(async () => {
    host.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });
  const url = `http://localhost:${port}`;
  for (const begunAt = performance.now(); performance.now() - begunAt < LONGEST_START_MS; await pause(50)) {
    if (await fetch(url).catch(() => undefined)) return url;
    if (host.exitCode !== null) break;
  }
  throw new Error(`${file} does not answer`);
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0);
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  await once(listener, 'close');
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

function basic(id: string, secret: string) {
  return { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` };
}

for (const file of HOSTS) {
  test(`examples/hosts/${basename(file)} issues, introspects and revokes, and keeps its own pages`, async (t) => {
    const url = await started(t, file);
    const post = (path: string, form: Record<string, string>, headers: Record<string, string>) =>
      fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(form), headers });
    const service = basic('my-service', 'its secret');
    const api = basic('my-api', "the API's secret");

    const issued = await post('/token', { grant_type: 'client_credentials', scope: 'read' }, service);
    assert.equal(issued.status, 200);
    const { access_token: token } = (await issued.json()) as { access_token: string };
    const isActive = async () => {
      const answer = await post('/token/introspect', { token }, api);
      assert.equal(answer.status, 200);
      return ((await answer.json()) as { active: boolean }).active;
    };
    assert.equal(await isActive(), true);
    assert.equal((await post('/token/revoke', { token }, service)).status, 200);
    assert.equal(await isActive(), false);
    assert.equal((await post('/token/introspect', { token }, basic('my-api', 'wrong'))).status, 401);

    const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`);
    assert.equal(((await metadata.json()) as { issuer: string }).issuer, url);
    assert.equal(await (await fetch(url)).text(), 'the application');
    assert.equal((await fetch(`${url}/nobody-is-here`)).status, 404);
  });
}
