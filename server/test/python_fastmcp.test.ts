// FastMCP of Python, as an MCP server and as its client. `PYTHON` names an interpreter that has the package fastmcp.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { listens } from './harness/listening.ts';
import { Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';

const PYTHON = process.env.PYTHON ?? 'python3';
const fileOf = (name: string) => fileURLToPath(new URL(`harness/${name}`, import.meta.url));

const isInstalled =
  spawnSync(PYTHON, ['-c', 'import fastmcp.client.auth, fastmcp.server.auth.providers.introspection'], {
    stdio: 'ignore',
  }).status === 0;
const ABSENCE = isInstalled
  ? false
  : 'Python or its package fastmcp 4 is not installed (pip install fastmcp, PYTHON=…)';

const workbench = new Workbench();
const children: ChildProcess[] = [];
after(async () => {
  for (const child of children) child.kill();
  await workbench.clear();
});

test('a client registers, calls a tool, refreshes its tokens, and signs in again after their revocation', {
  skip: ABSENCE,
}, async () => {
  const port = String(await freePort());
  const resource = `http://127.0.0.1:${port}/mcp`;
  const options = ['--registration', 'open', '--registration-apis', resource];
  const server = await workbench.start(workbench.folder(), [
    ...['--demo', ...options, '--registration-scopes', 'mcp:use'],
  ]);
  const api = ['client', 'add', 'my-mcp', '--resource', resource, '--api-scope', 'mcp:use'];
  const secret = (await grantdPrints(server.folder, [...api, '--insecure-development'])).split('\n').at(-1);
  const mcp = spawn(PYTHON, [fileOf('fastmcp_server.py'), server.url, port, secret ?? ''], {
    stdio: 'ignore',
  });
  children.push(mcp);
  await listens(Number(port));

  const client = spawn(PYTHON, [fileOf('fastmcp_client.py'), resource], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  children.push(client);
  const lines = createInterface(client.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value ?? assert.fail('the client has failed'));
  /** Calls the tool. Alice signs in if the client sends her. */
  async function call(line: string) {
    client.stdin.write(`${line}\n`);
    const first = await next();
    if (first.visit === undefined) return { ...first, visited: false };
    const returned = await signInAndConsent(new Browser(server.url), first.visit);
    assert.equal((await fetch(returned)).status, 200);
    return { ...(await next()), visited: true };
  }
  const introspected = async (token: string) =>
    (await postForm(`${server.url}/token/introspect`, { token }, basic('my-mcp', secret ?? ''))).json();

  const first = await call('sign in');
  assert.equal(first.visited, true);
  const { active, aud, client_id } = await introspected(first.tokens.access_token);
  assert.deepEqual([active, aud, client_id], [true, resource, first.client]);

  const second = await call('refresh');
  assert.equal(second.visited, false);
  assert.notEqual(second.tokens.access_token, first.tokens.access_token);
  assert.notEqual(second.tokens.refresh_token, first.tokens.refresh_token);

  const form = { token: second.tokens.refresh_token, client_id };
  assert.equal((await postForm(`${server.url}/token/revoke`, form)).status, 200);
  assert.deepEqual(await introspected(second.tokens.access_token), { active: false });
  assert.equal((await call('after the revocation')).visited, true);
});
