import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { mount } from '@grantd/core/node';
import { changeClient } from '../../core/test/harness/client_change.ts';
import { addClient } from '../../core/test/harness/token_endpoint.ts';
import { CLIENTS, openWorld, secretOf } from '../../core/test/harness/world.ts';
import { apiToken } from './harness/resource_server.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const PAGE = readFileSync(join(ROOT, 'protect', 'README.md'), 'utf8');
const AUDIENCE = 'https://api.example.com';

/** The first code block under each heading that has one. */
const BLOCKS = new Map(
  PAGE.split(/^## /m).flatMap((section) => {
    const [, code] = /^```ts\n(.*?)^```$/ms.exec(section) ?? [];
    return code === undefined ? [] : [[section.split('\n', 1)[0] ?? '', code] as const];
  }),
);

test('the page shows an API in each framework', () => {
  const titles = ['Express', 'node:http', 'Fastify', 'Koa', 'NestJS', 'Hono', 'h3', 'Next.js', 'Fetch'];
  assert.deepEqual([...BLOCKS.keys()], titles);
});

for (const [title, code] of BLOCKS) {
  test(`the API of the page does as it says: ${title}`, async (t) => {
    const { issuer, good, narrow } = await openAuthorizationServer(t);
    const get = await openApi(t, code.replace('https://login.example.com', issuer));
    const asked = async (headers: Readonly<Record<string, string>>) => {
      const response = await get(headers);
      return [response.status, response.headers.get('www-authenticate'), await response.text()];
    };
    assert.deepEqual(await asked({ authorization: `Bearer ${good}` }), [200, null, '{"notesOf":"machine"}']);
    assert.deepEqual(await asked({}), [401, 'Bearer realm="api", scope="read"', '']);
    const [status, challenge] = await asked({ authorization: `Bearer ${narrow}` });
    assert.equal(status, 403);
    assert.match(String(challenge), /error="insufficient_scope".*, scope="read"$/);
  });
}

/** A server on loopback with the page's API as a client, and two tokens for it. */
async function openAuthorizationServer(t: TestContext) {
  let answer: RequestListener = (_request, response) => response.writeHead(503).end();
  const listener = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const world = await openWorld(t, { issuer });
  answer = mount(world.server);
  world.clock.nowMs = Date.now(); // the API uses the system's clock
  await addClient(world, { ...CLIENTS.api, id: 'my-api', resource: AUDIENCE });
  await changeClient(world, 'machine', { metadata: { apis: [AUDIENCE] } });
  const [good, narrow] = [await apiToken(world, 'read', AUDIENCE), await apiToken(world, 'write', AUDIENCE)];
  return { issuer, good, narrow };
}

type Get = (headers: Readonly<Record<string, string>>) => Promise<Response>;

/** Runs an API: one that listens runs in another process, an exported one runs in this. */
async function openApi(t: TestContext, code: string): Promise<Get> {
  const port = await freePort();
  const file = join(ROOT, '.test-results', `resource_server_${port}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, code.replace('3001', String(port)));
  t.after(() => rmSync(file));
  if (/^export /m.test(code)) {
    const { default: api, GET = api.fetch } = await import(file);
    return (headers) => GET(new Request(`${AUDIENCE}/notes`, { headers }));
  }
  const env = { ...process.env, API_SECRET: secretOf('my-api') };
  const child = spawn(process.execPath, [file], { stdio: 'inherit', env });
  t.after(() => child.kill());
  const url = `http://localhost:${port}/notes`;
  await answering(url);
  return (headers) => fetch(url, { headers });
}

async function answering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const isThere = await fetch(url).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    await pause(50);
  }
  throw new Error('the API of the page does not answer');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
