// The official Python SDK of the Model Context Protocol. `PYTHON` names an interpreter that has the package mcp.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { introspect } from './harness/protocol.ts';

const PYTHON = process.env.PYTHON ?? 'python3';
const CLIENT = fileURLToPath(new URL('harness/mcp_client.py', import.meta.url));
const CALLBACK = 'http://localhost:4712/callback';

/** The client needs the second version of the SDK. */
const hasSdk = spawnSync(PYTHON, ['-c', 'import httpx2, mcp.client.auth'], { stdio: 'ignore' }).status === 0;
const ABSENCE = hasSdk ? false : 'Python or its package mcp 2 is not installed (pip install mcp, PYTHON=…)';

const workbench = new Workbench();
after(() => workbench.clear());

test('the SDK registers, gets tokens and refreshes them', { skip: ABSENCE }, async (t) => {
  const mcp = createServer((request, response) => {
    const { url, authorization } = { url: request.url, ...request.headers };
    if (url === '/.well-known/oauth-protected-resource/mcp') {
      const metadata = { resource, authorization_servers: [server.url], scopes_supported: ['mcp:use'] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
    } else if (authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    else response.writeHead(200).end();
  });
  await once(mcp.listen(0, '127.0.0.1'), 'listening');
  t.after(() => mcp.close());
  const resource = `http://127.0.0.1:${(mcp.address() as AddressInfo).port}/mcp`;
  const server = await workbench.start(workbench.folder(), [
    ...['--demo', '--registration', 'open', '--registration-apis', resource],
    ...['--registration-scopes', 'mcp:use', '--insecure-development'],
  ]);
  const api = ['client', 'add', 'mcp', '--resource', resource, '--api-scope', 'mcp:use'];
  await grantdPrints(server.folder, [...api, '--insecure-development']);

  const sdk = spawn(PYTHON, [CLIENT, resource, CALLBACK], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => sdk.kill());
  const lines = createInterface(sdk.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? assert.fail('the SDK has failed'));
  const returned = await signInAndConsent(new Browser(server.url), (await next()).visit);
  sdk.stdin.end(`${returned}\n`);
  const { client, first, second } = await next();
  assert.match(client.scope, /\bmcp:use\b/);
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.notEqual(second.tokens.access_token, first.tokens.access_token);
  assert.notEqual(second.tokens.refresh_token, first.tokens.refresh_token);
  const { active, aud } = await introspect(server.url, second.tokens.access_token);
  assert.deepEqual([active, aud], [true, resource]);
});
