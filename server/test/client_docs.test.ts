// Runs commands of the how-to guides unchanged.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../core/test/harness/free_port.ts';
import { Browser, isLogin } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { PROGRAM_VARIABLE, SOURCES, Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce, payloadOf } from './harness/protocol.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');
const COMMANDS = [...PAGE.matchAll(/^npx grantd (client add .*)$/gm)].map(([, words = '']) =>
  words.split(' '),
);
const workbench = new Workbench();
after(() => workbench.clear());

test('every command of docs/clients.md registers its client', async () => {
  const folder = workbench.folder();
  assert.ok(COMMANDS.length >= 10, `${COMMANDS.length} commands`);
  for (const command of COMMANDS) assert.match(await grantdPrints(folder, command), /\S/, command.join(' '));
  const listed = JSON.parse(await grantdPrints(folder, ['client', 'list', '--json']));
  const ids = listed.map(({ client_id: id }: { client_id: string }) => id);
  assert.deepEqual(ids.sort(), COMMANDS.map(([, , id]) => id).sort());
});

test('docs/mcp.md: its API is registered, and its client registers and reaches the sign-in page', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/mcp.md'), 'utf8');
  const steps = page.slice(page.indexOf('\n## Steps\n'));
  const [add = [], serve = []] = [...steps.matchAll(/^ *npx grantd (.*)$/gm)].map(([, words = '']) =>
    words.split(' '),
  );
  const folder = workbench.folder();
  const port = String(await freePort());
  await grantdPrints(folder, add, '', { GRANTD_PORT: port });
  const server = await workbench.start(folder, [...serve.slice(1), '--port', port]);
  const [, headers = '', body = ''] =
    /```http\nPOST \/register HTTP\/1.1\n(.*?)\n\n(.*?)```/s.exec(page) ?? assert.fail('no request');
  const registered = await fetch(`${server.url}/register`, {
    method: 'POST',
    headers: headers.split('\n').map((line) => line.split(': ') as [string, string]),
    body,
  });
  assert.equal(registered.status, 201, await registered.clone().text());
  const { client_id, redirect_uris } = await registered.json();
  const asked = {
    client_id,
    redirect_uri: redirect_uris[0],
    scope: 'mcp:use',
    resource: 'https://MCP.example/mcp',
  };
  assert.ok(isLogin(await new Browser(server.url).get(authorizationUrl(server.url, newPkce(), asked))));

  const secrets = readFileSync(join(import.meta.dirname, '../../docs/secrets.md'), 'utf8');
  const keys = [...secrets.matchAll(/^npx grantd (keys \w+) +#/gm)].map(([, words = '']) => words.split(' '));
  assert.deepEqual(keys, [
    ['keys', 'list'],
    ['keys', 'rotate'],
  ]);
  assert.match(await grantdPrints(folder, keys[0] ?? []), /RS256 +next/);
  const { code, stderr } = await grantd(folder, keys[1] ?? []);
  assert.equal(code, 1);
  assert.match(stderr, /clients may not know the next keys yet/);
});

const missing = ['bash', 'curl', 'jq'].find((name) => spawnSync(name, ['--version']).status !== 0);

test('docs/token_exchange.md and end_access.md: a token is exchanged, and ends with the one before it', {
  skip: missing !== undefined && `${missing} is not installed`,
}, async () => {
  const [page = '', endAccess = ''] = ['token_exchange', 'end_access'].map((name) =>
    readFileSync(join(import.meta.dirname, `../../docs/${name}.md`), 'utf8'),
  );
  const folder = workbench.folder();
  const environment = { GRANTD_PORT: String(await freePort()) };
  const command = (...words: string[]) => grantdPrints(folder, words, '', environment);
  const secrets: Record<string, string> = {};
  const [elsewhere = ''] = /^## Send a user's identity.*?(?=^## )/ms.exec(page) ?? [];
  for (const [, words = '', id = ''] of page
    .replace(elsewhere, '')
    .matchAll(/^ *\$ npx grantd (client add (\S+) .*)$/gm))
    secrets[`${id.toUpperCase()}_SECRET`] = (await command(...words.split(' '))).split('\n').at(-1) ?? '';
  const server = await workbench.start(folder, ['--port', environment.GRANTD_PORT]);

  const [node, sources] = SOURCES;
  const main = process.env[PROGRAM_VARIABLE] ?? sources;
  const PATH = `${dirname(node)}:${process.env.PATH}`;
  const run = async (script: string, variables: object = {}) => {
    const code = script
      .replaceAll('https://login.example.com', server.url)
      .replaceAll('npx grantd', `"${node}" "${main}"`);
    const env = { PATH, ...environment, ...secrets, ...variables };
    const options = { cwd: folder, env };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', code], options)).stdout;
  };
  const [first, exchange, end = ''] = shellBlocks(page);
  const obtain = async () => (await run(`${first}${exchange}echo $TOKEN $NEXT`)).trim().split(' ');
  const isActive = async (token = '') =>
    JSON.parse(await command('token', 'explain', token, '--json')).active;

  const [TOKEN, NEXT] = await obtain();
  const { aud, sub, client_id, act } = payloadOf(NEXT);
  assert.deepEqual(
    { aud, sub, client_id, act },
    { aud: 'https://payments.example.com', sub: 'shop', client_id: 'orders', act: { sub: 'orders' } },
  );
  assert.equal(await isActive(NEXT), true);
  assert.match(await run(end, { TOKEN, NEXT }), /^alive +no\n.*^ended by +ancestor 1$/ms);

  const section = endAccess.slice(endAccess.indexOf('## A service is compromised'));
  const [disable = '', rotate = '', callers = '', enable = ''] = shellBlocks(section);
  const [token, next] = await obtain();
  await run(disable);
  assert.deepEqual([await isActive(token), await isActive(next)], [true, false]);
  await assert.rejects(run(`${exchange}[ $NEXT != null ]`, { TOKEN: token }));
  secrets.ORDERS_SECRET = (await run(rotate)).trim().split('\n').at(-1) ?? '';
  assert.match(await run(callers), /^shop\nrevoked all tokens of the client shop/);
  await run(enable);
  assert.deepEqual([await isActive(token), await isActive(next)], [false, false]);
  const [, after] = await obtain();
  assert.equal(await isActive(after), true);
});

function shellBlocks(page: string): readonly string[] {
  return [...page.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}
