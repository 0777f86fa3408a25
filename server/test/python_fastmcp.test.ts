// FastMCP of Python, as an MCP server and as its client. `PYTHON` names an interpreter that has the package fastmcp.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { listenOnLoopback, listens } from './harness/listening.ts';
import { CHEAP_OPTIONS, type RunningServer, Workbench } from './harness/program.ts';
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

const DOCUMENT = 'https://client.example/fastmcp.json';

describe('a client calls a tool, refreshes its tokens, and signs in again after their revocation', {
  skip: ABSENCE,
}, () => {
  const site = createServer((_, response) => {
    const client = {
      ...{ client_id: DOCUMENT, client_name: 'FastMCP', redirect_uris: ['http://localhost/callback'] },
      ...{ grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(client));
  });
  let resource: string;
  let secret: string;
  let server: RunningServer;
  before(async () => {
    const sites = `${await listenOnLoopback(site)},${new URL(DOCUMENT).hostname}`;
    const preload = new URL('harness/public_sites.mjs', import.meta.url);
    const environment = { NODE_OPTIONS: `${CHEAP_OPTIONS} --import ${preload}`, PUBLIC_SITES: sites };
    const port = String(await freePort());
    resource = `http://127.0.0.1:${port}/mcp`;
    const options = ['--registration-apis', resource, '--registration-scopes', 'mcp:use'];
    const open = ['--registration', 'open', '--client-documents', 'open'];
    server = await workbench.start(workbench.folder(), ['--demo', ...open, ...options], environment);
    const api = ['client', 'add', 'my-mcp', '--resource', resource, '--api-scope', 'mcp:use'];
    const printed = await grantdPrints(server.folder, [...api, '--insecure-development']);
    secret = printed.split('\n').at(-1) ?? '';
    const args = [fileOf('fastmcp_server.py'), server.url, port, secret];
    children.push(spawn(PYTHON, args, { stdio: 'ignore' }));
    await listens(Number(port));
  });
  after(() => site.close());

  const introspected = async (token: string) =>
    (await postForm(`${server.url}/token/introspect`, { token }, basic('my-mcp', secret))).json();

  for (const [way, args] of [
    ['by registration', []],
    ['by the URL of its document', [DOCUMENT]],
  ] as const)
    test(`it comes ${way}`, async () => {
      const client = spawn(PYTHON, [fileOf('fastmcp_client.py'), resource, ...args], {
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

      const first = await call('sign in');
      assert.equal(first.visited, true);
      const { active, aud, client_id } = await introspected(first.tokens.access_token);
      assert.deepEqual([active, aud, client_id], [true, resource, first.client]);
      assert.equal(client_id === DOCUMENT, args.length > 0);

      const second = await call('refresh');
      assert.equal(second.visited, false);
      assert.notEqual(second.tokens.access_token, first.tokens.access_token);
      assert.notEqual(second.tokens.refresh_token, first.tokens.refresh_token);

      const form = { token: second.tokens.refresh_token, client_id };
      assert.equal((await postForm(`${server.url}/token/revoke`, form)).status, 200);
      assert.deepEqual(await introspected(second.tokens.access_token), { active: false });
      assert.equal((await call('after the revocation')).visited, true);
    });
});
