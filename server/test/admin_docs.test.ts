// Runs the commands of docs/admin_api.md on one server.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { isAdminScope } from '../src/instance/admin_access.ts';
import { grantdPrints } from './harness/commands.ts';
import { PROGRAM_VARIABLE, SOURCES, Workbench } from './harness/program.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/admin_api.md'), 'utf8');
const workbench = new Workbench();
after(() => workbench.clear());

const missing = ['bash', 'curl', 'jq'].find((name) => spawnSync(name, ['--version']).status !== 0);
const skip = missing !== undefined && `${missing} is not installed`;

test('the commands of docs/admin_api.md work as printed, in their order', { skip }, async () => {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--admin-api']);
  const [node, sources] = SOURCES;
  const main = process.env[PROGRAM_VARIABLE] ?? sources;
  const blocks = [...PAGE.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', text = '']) =>
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const script = blocks
    .filter((block) => !block.startsWith('npx grantd serve')) // runs already
    .join('')
    .replaceAll('https://login.example.com', server.url)
    .replaceAll('npx grantd', `"${node}" "${main}"`);
  writeFileSync(join(folder, 'commands.sh'), `set -euo pipefail\n${script}`);
  const path = `${dirname(node)}:${process.env.PATH}`;
  const { stdout } = await promisify(execFile)('bash', ['commands.sh'], { cwd: folder, env: { PATH: path } });
  assert.deepEqual(stdout.trim().split('\n'), [
    'ops',
    'ops',
    'Shop',
    '0',
    'true',
    '1',
    'add client till',
    '0',
  ]);
  const events = JSON.parse(await grantdPrints(folder, ['events', 'list', '--target', 'shop', '--json']));
  const changes = events.filter(({ type }: Record<string, string>) => type !== 'client_revoked');
  assert.deepEqual(
    changes.map(({ type, actor }: Record<string, string>) => [type, actor]),
    [
      ['client_added', 'api:ops'],
      ['client_changed', 'api:ops'],
    ],
  );
  const described = JSON.parse(await grantdPrints(folder, ['admin', 'openapi', '--issuer', server.url]));
  const served = await (await fetch(`${server.url}/admin/openapi.json`)).json();
  assert.deepEqual(described, served);
});

test('docs/admin_api.md names every scope', () => {
  const named = [...PAGE.matchAll(/`(grantd:[a-z]+:[a-z]+)`/g)].map(([, scope = '']) => scope);
  assert.ok(named.every(isAdminScope));
});
