// Does what docs/personal_tokens.md says, with its commands unchanged except for addresses.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../core/test/harness/free_port.ts';
import { grantdPrints } from './harness/commands.ts';
import { newPerson } from './harness/new_person.ts';
import { PROGRAM_VARIABLE, SOURCES, Workbench } from './harness/program.ts';
import { basic } from './harness/protocol.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/personal_tokens.md'), 'utf8');
const BLOCKS = [...PAGE.matchAll(/^( *)```(?:sh|console)\n([\s\S]*?)^ *```$/gm)].map(
  ([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}(?:\\$ )?`, 'gm'), ''),
);
const missing = ['bash', 'curl', 'jq'].find((name) => spawnSync(name, ['--version']).status !== 0);
const workbench = new Workbench();
after(() => workbench.clear());

/** An API that asks the server about the token of a request. */
async function startApi(issuer: string, secret: string): Promise<string> {
  const api = createServer(async ({ headers: { authorization = '' } }, response) => {
    const [, token = ''] = /^Bearer (.*)$/.exec(authorization) ?? [];
    const body = new URLSearchParams({ token, resource: 'https://docs.example.com' });
    const headers = { authorization: basic('docs', secret) };
    const answer = await fetch(`${issuer}/token/introspect`, { method: 'POST', body, headers });
    const { active, username } = (await answer.json()) as { active: boolean; username?: string };
    response.writeHead(active ? 200 : 401).end(active ? `pages of ${username}` : '');
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  after(() => api.close());
  return `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
}

test('a token is made, used, shown to the API and ended, as the page says', {
  skip: missing !== undefined && `${missing} is not installed`,
}, async () => {
  const [add = '', turnOn = '', use = '', see = '', beyond = '', ends = '', revoke = '', ...others] = BLOCKS;
  assert.deepEqual(others, []);
  const folder = workbench.folder();
  const port = String(await freePort());
  const options = Object.fromEntries(
    [...turnOn.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  const environment = { GRANTD_PORT: port, ...options };
  const command = (line: string) => grantdPrints(folder, line.trim().split(' ').slice(2), '', environment);
  const secret = (await command(add)).split('\n').at(-1) ?? '';
  const server = await workbench.start(folder, ['--port', port], environment);
  const api = await startApi(server.url, secret);

  const [node, sources] = SOURCES;
  const main = process.env[PROGRAM_VARIABLE] ?? sources;
  const run = async (script: string) => {
    const code = script
      .replaceAll('https://login.example.com', server.url)
      .replaceAll('https://docs.example.com/pages', `${api}/pages`)
      .replaceAll('npx grantd', `"${node}" "${main}"`);
    const env = { PATH: `${dirname(node)}:${process.env.PATH}`, ...environment, DOCS_SECRET: secret };
    const bash = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', code], { cwd: folder, env });
    return (await bash).stdout.trim();
  };

  const { who, browser } = await newPerson(server, 'alice');
  const tokens = `${server.url}/account/tokens`;
  await browser.submit(await browser.get(tokens), who);
  const make = async () => {
    const lifetime = String(24 * 60 * 60);
    const made = await browser.submit(await browser.get(tokens), {
      name: 'CI',
      scope: 'docs:read',
      lifetime,
    });
    const [, value = ''] = /<code id="token-[^"]*" lang="zxx">([^<]*)</.exec(made.html) ?? [];
    const [, id = ''] = /id="end-token-([^"]*)"/.exec(made.html) ?? assert.fail(made.html);
    writeFileSync(join(folder, 'docs.token'), value);
    await browser.submit(made, { saved: id });
    return id;
  };

  const id = await make();
  assert.equal(await run(use), 'pages of alice');
  const seen = JSON.parse(await run(see));
  const [, printed = ''] = /```json\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const { exp, iat, sub, iss, jti, ...same } = JSON.parse(printed);
  const { exp: _, iat: __, sub: ___, iss: issuer, jti: ____, ...answered } = seen;
  assert.deepEqual([answered, issuer], [same, server.url]);
  assert.deepEqual(Object.keys(seen).sort(), Object.keys({ exp, iat, sub, iss, jti, ...same }).sort());

  assert.equal(await run(beyond), 'would end 0 tokens\nended 0 tokens');
  assert.match(await run(ends.replace(/\bID\b/, id)), /^ID .*\n.*\bCI\b/);
  assert.deepEqual(JSON.parse(await run(see)), { active: false });

  await make();
  assert.equal(JSON.parse(await run(see)).active, true);
  await run(revoke);
  assert.deepEqual(JSON.parse(await run(see)), { active: false });
});
