// Follows docs/mcp.md, with other ports, and connects clients to the example: `npm run test:mcp` installs them.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Browser, signInAndConsent } from '../../server/test/harness/browser.ts';
import { grantdPrints } from '../../server/test/harness/commands.ts';
import { DEMO_OPTIONS, type RunningServer, Workbench } from '../../server/test/harness/program.ts';
import { postForm } from '../../server/test/harness/protocol.ts';
import { serverCertificate } from '../../server/test/harness/tls.ts';
import { freePort, type Started, started } from './started.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const EXAMPLE = join(ROOT, 'examples', 'mcp_server');
const INSTALLED = join(EXAMPLE, 'node_modules');
const PACKAGES = join(INSTALLED, '@modelcontextprotocol');
const SUITE = join(PACKAGES, 'conformance', 'dist', 'index.js');
const ABSENCE = existsSync(SUITE) ? false : 'the packages of examples/mcp_server: npm run test:mcp';

const PAGE = readFileSync(join(ROOT, 'docs', 'mcp.md'), 'utf8');
const [, SECTION = ''] = /\n## Try it on your machine\n(.*?)\n## /s.exec(PAGE) ?? [];
/** The URL of the MCP server on the page. */
const SHOWN = 'http://localhost:3001/mcp';
const LONGEST_MS = 60_000;

const workbench = new Workbench();
after(() => workbench.clear());

test('the example has no type errors', { skip: ABSENCE }, () => {
  const { stdout, status } = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', EXAMPLE], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
});

describe('the official conformance suite passes with the client of the example', { skip: ABSENCE }, () => {
  const suite = (...args: readonly string[]) =>
    spawnSync(process.execPath, [SUITE, ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
  const listed = ABSENCE === false ? suite('list').stdout : '';
  const [, clients = ''] = /\nClient scenarios.*?\n(.*?)\n\n/s.exec(listed) ?? [];
  // Extensions are for clients without users, and for other bindings of tokens.
  const scenarios = [...clients.matchAll(/- (auth\/\S+) \[.*2026-07-28\]/g)].map(([, name = '']) => name);
  const command = `${process.execPath} ${join(import.meta.dirname, 'mcp_suite_client.ts')}`;

  test('it has scenarios', () => assert.ok(scenarios.length >= 25, listed));
  for (const scenario of scenarios)
    test(scenario, () => {
      const { stdout, stderr } = suite('client', '--scenario', scenario, '--command', command);
      // Some scenarios are over when the client has refused to go on.
      assert.match(stdout + stderr, /^Passed: (\d+)\/\1, 0 failed, 0 warnings$/m, stdout + stderr);
    });
});

describe('docs/mcp.md: clients connect to the example with nothing but its URL', { skip: ABSENCE }, () => {
  const site = createServer();
  const clients: ChildProcess[] = [];
  const commands: string[][] = [];
  let url: string;
  let document: string;
  let server: RunningServer;
  let variables: Readonly<Record<string, string>>;
  let mcp: Started;

  before(async () => {
    const certificate = await serverCertificate();
    site.setSecureContext(certificate.pem);
    site.on('request', (_, response) => {
      const client = {
        ...{ client_id: document, client_name: 'Client with a document', token_endpoint_auth_method: 'none' },
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/oauth/callback'],
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(client));
    });
    await once(site.listen(0, '127.0.0.1'), 'listening');
    document = `https://localhost:${(site.address() as AddressInfo).port}/client.json`;

    const port = await freePort();
    url = SHOWN.replace('3001', String(port));
    const page = SECTION.replaceAll(SHOWN, url);
    assert.match(page, /^ *npm start$/m);
    for (const [, words = ''] of page.matchAll(/^ *npx grantd (.*)$/gm)) commands.push(words.split(' '));
    const folder = workbench.folder();
    const trusted = join(folder, 'site.pem');
    writeFileSync(trusted, certificate.pem.cert);
    // Documents on this machine are fetched only for development.
    const args = [...DEMO_OPTIONS.map((word) => word.replace(SHOWN, url)), '--insecure-development'];
    server = await workbench.start(folder, args, { NODE_EXTRA_CA_CERTS: trusted });
    const printed = await grantdPrints(folder, commands.shift() ?? []);
    const [, file = ''] = /npx node examples\/(\S*server\.ts)$/m.exec(page) ?? [];
    variables = {
      ...{ ISSUER: server.url, PORT: String(port), RESOURCE: url },
      API_SECRET: printed.split('\n').at(-1) ?? '',
    };
    mcp = await started({ after }, file, variables);
  });
  after(() => {
    site.close();
    for (const client of clients) client.kill('SIGKILL');
  });

  /** Runs a client until it has printed a line. Alice signs in if it prints a URL for her browser. */
  async function run(args: readonly string[], isLast: RegExp, environment: Record<string, string> = {}) {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, HOME: server.folder, NODE_OPTIONS: '', ...environment },
    });
    clients.push(child);
    let printed = '';
    let visited: string | undefined;
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
    for (const until = Date.now() + LONGEST_MS; !isLast.test(printed); await pause(50)) {
      assert.ok(Date.now() < until && child.exitCode === null, printed);
      const [asked] = new RegExp(`${server.url}/authorize\\?[^\\s"]+(?=\\s)`).exec(printed) ?? [];
      if (asked === undefined || visited !== undefined) continue;
      visited = asked;
      const returned = await signInAndConsent(new Browser(asked), asked);
      await (await fetch(returned)).text();
    }
    child.kill();
    return { printed, visited };
  }

  const SAYS_WHO = /"text": ?"\S+ by (?<clientId>[^"]+)"/;
  test('the page shows the client of these tests', () => {
    assert.ok(SECTION.includes(`npx node examples/mcp_server/client.ts ${SHOWN}\n`));
    assert.ok(SECTION.includes('npm install --prefix examples/mcp_server --omit=dev\n'));
  });

  const WAYS: readonly (readonly [way: string, args: () => readonly string[]])[] = [
    ['by the URL of its document', () => ['--document', document]],
    ['by registration', () => []],
    ['as a client that the operator added', () => ['--client-id', 'my-agent']],
  ];
  for (const [way, argsOf] of WAYS)
    test(`a client comes ${way}, refreshes its tokens, and asks its user again after their revocation`, async () => {
      const args = argsOf();
      if (args[1] === 'my-agent') await grantdPrints(server.folder, commands.shift() ?? []);
      const state = join(server.folder, `${args[0] ?? 'registered'}.json`);
      const saved = () => JSON.parse(readFileSync(state, 'utf8'));
      const call = () => run([join(EXAMPLE, 'client.ts'), url, ...args, '--state', state], SAYS_WHO);

      const first = await call();
      assert.ok(first.visited);
      const clientId = SAYS_WHO.exec(first.printed)?.groups?.clientId ?? '';
      assert.equal(saved().client.client_id, clientId);
      if (args[1] !== undefined) assert.equal(clientId, args[1]);

      const { tokens } = saved();
      writeFileSync(state, JSON.stringify({ ...saved(), tokens: { ...tokens, access_token: 'expired' } }));
      const second = await call();
      assert.equal(second.visited, undefined, second.printed);
      const { refresh_token: token } = saved().tokens;
      assert.notEqual(token, tokens.refresh_token);

      assert.equal(
        (await postForm(`${server.url}/token/revoke`, { token, client_id: clientId })).status,
        200,
      );
      assert.ok((await call()).visited, 'the user signs in again');
    });

  test('mcp-remote registers and connects', async () => {
    const main = join(INSTALLED, 'mcp-remote', 'dist', 'client.js');
    const { visited, printed } = await run([main, url, String(await freePort())], /whoami/, {
      MCP_REMOTE_CONFIG_DIR: join(server.folder, 'mcp-remote'),
    });
    assert.ok(visited, printed);
  });

  test('the command line of the inspector connects by a document and by registration', async () => {
    const main = join(PACKAGES, 'inspector', 'clients', 'launcher', 'build', 'index.js');
    const call = `--cli --server-url ${url} --transport http --method tools/call --tool-name whoami --relogin`;
    // Without a terminal, it signs in only if it may open a browser.
    const environment = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'file' };
    for (const given of [['--client-metadata-url', document], []]) {
      const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
      const args = [main, ...call.split(' '), ...given, '--callback-url', callback];
      const { visited, printed } = await run(args, SAYS_WHO, environment);
      assert.ok(visited, printed);
      assert.equal(SAYS_WHO.exec(printed)?.groups?.clientId === document, given.length > 0, printed);
    }
  });

  /** The identifiers of clients of the official conformance suite, by the way in which grantd knows them. */
  const SUITE_CLIENTS: Readonly<Record<string, (redirectUri: string) => Promise<string>>> = {
    'with a document': async () => document,
    'that registered': async (redirectUri) => {
      const response = await fetch(`${server.url}/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
      });
      return (await response.json()).client_id;
    },
    'that the operator added': async (redirectUri) => {
      const words = `client add suite --public --grant authorization_code --scope openid --redirect-uri ${redirectUri}`;
      await grantdPrints(server.folder, words.split(' '));
      return 'suite';
    },
  };
  for (const [way, identifierAt] of Object.entries(SUITE_CLIENTS))
    test(`the official conformance suite passes with the authorization server and a client ${way}`, async () => {
      const port = String(await freePort());
      const id = await identifierAt(`http://127.0.0.1:${port}/callback`);
      const args = ['authorization', '--url', server.url, '--client-id', id, '--port', port];
      const { printed } = await run([SUITE, ...args], /Total: .*/);
      assert.match(printed, /authorization-code-grant: 1 passed, 0 failed/);
      assert.match(printed, /Total: 3 passed, 0 failed/);
    });

  test('an operator ends the access of a client at once', async () => {
    const state = join(server.folder, '--client-id.json');
    const { access_token: token } = JSON.parse(readFileSync(state, 'utf8')).tokens;
    const call = async () =>
      (await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } })).status;
    assert.notEqual(await call(), 401);
    await grantdPrints(server.folder, commands.shift() ?? []);
    assert.equal(await call(), 401);
    assert.deepEqual(commands, [], 'each command of the page has run');
  });

  test('the server with FastMCP signs clients in, refuses what was revoked, and does not in an outage', async () => {
    await mcp.stop();
    mcp = await started({ after }, 'mcp_server/fastmcp.ts', variables, { hidesErrors: true });
    const state = join(server.folder, 'fastmcp.json');
    const { printed, visited } = await run([join(EXAMPLE, 'client.ts'), url, '--state', state], SAYS_WHO);
    assert.ok(visited, printed);
    const { client, tokens } = JSON.parse(readFileSync(state, 'utf8'));
    const call = async () =>
      fetch(url, { method: 'POST', headers: { authorization: `Bearer ${tokens.access_token}` } });
    assert.notEqual((await call()).status, 401);
    const form = { token: tokens.refresh_token, client_id: client.client_id };
    assert.equal((await postForm(`${server.url}/token/revoke`, form)).status, 200);
    const refused = await call();
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get('www-authenticate') ?? '', /resource_metadata="[^"]*\/mcp"/);
    await server.stop();
    assert.equal((await call()).status, 503);
  });
});
