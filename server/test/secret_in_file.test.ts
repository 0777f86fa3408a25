import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from '../src/cli/program.ts';
import { grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { basic, postForm } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('a secret in a file is rotated by reloads, without a restart', { timeout: 120_000 }, async () => {
  const folder = workbench.folder();
  const [present, next] = ['p'.repeat(32), 'n'.repeat(32)];
  const file = join(folder, 'server.secret');
  const write = (content: string) => writeFileSync(file, `${content}\n`, { mode: 0o600 });
  write(present);
  const environment = { GRANTD_SECRET_FILE: file };
  const server = await workbench.start(folder, [], environment);
  const run = (...args: string[]) => grantdPrints(folder, args, '', environment);
  const added = JSON.parse(await run('client', 'add', 'load', '--grant', 'client_credentials', '--json'));
  const authenticates = async () =>
    (
      await postForm(
        `${server.url}/token`,
        { grant_type: 'client_credentials' },
        basic('load', added.client_secret),
      )
    ).status === 200;
  assert.ok(await authenticates());
  assert.match(
    await run('secrets', 'rotate'),
    /^The secret is set by the file .*\n\n {2}1\. \["PRESENT","NEW"\]/,
  );

  const reloads = () => server.log().filter(({ event }) => event === 'hangup');
  for (const content of [JSON.stringify([present, next]), JSON.stringify([next, present])]) {
    const before = reloads().length;
    write(content);
    process.kill(server.pid, 'SIGHUP');
    await server.logged(() => reloads().length > before, 'a reload');
    assert.deepEqual(reloads().at(-1)?.reloaded, ['secret']);
    assert.ok(await authenticates());
  }
  assert.equal(JSON.parse(await run('secrets', 'status', '--json')).length, 2);
});

test('every command that opens the database takes --secret-file, except copy', async () => {
  const { commands } = await createProgram();
  const flagsOf = (command: Command) => command.options.map(({ long }) => long);
  const all = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(all)];
  const opening = commands.flatMap(all).filter((command) => flagsOf(command).includes('--database'));
  assert.ok(opening.length > 50);
  const without = opening.filter((command) => !flagsOf(command).includes('--secret-file'));
  assert.deepEqual(
    without.map((command) => command.name()),
    ['copy'],
  );
});
