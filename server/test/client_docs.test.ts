// Runs the commands of docs/clients.md unchanged on one database.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');
const COMMANDS = [...PAGE.matchAll(/^npx grantd (client add .*)$/gm)].map(([, words = '']) =>
  words.split(' '),
);
const workbench = new Workbench();
after(() => workbench.clear());

test('findings F11: every command of docs/clients.md registers its client', async () => {
  const folder = workbench.folder();
  assert.ok(COMMANDS.length >= 10, `${COMMANDS.length} commands`);
  for (const command of COMMANDS) assert.match(await grantdPrints(folder, command), /\S/, command.join(' '));
  const listed = JSON.parse(await grantdPrints(folder, ['client', 'list', '--json']));
  assert.deepEqual(listed.map(({ id }: { id: string }) => id).sort(), COMMANDS.map(([, , id]) => id).sort());
});
