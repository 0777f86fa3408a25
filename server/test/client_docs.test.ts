// Runs commands of the how-to guides unchanged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

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
  const response = await fetch(authorizationUrl(server.url, newPkce(), asked), { redirect: 'manual' });
  assert.match(response.headers.get('location') ?? '', /\/login\?/);

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
