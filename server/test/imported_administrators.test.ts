// What commands that import users and apply files know of the administrators (ADR 132).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('commands know the administrators by --admin-group, name them in plans, and say if they do not', async () => {
  const folder = await workbench.home();
  const server = await workbench.start(folder, ['--demo']);
  await server.stop();
  await grantdPrints(folder, ['group', 'add', 'admins']);
  const importing = (name: string, line: object, ...flags: readonly string[]) => {
    writeFileSync(join(folder, `${name}.jsonl`), `${JSON.stringify({ username: name, ...line })}\n`);
    return grantd(folder, ['user', 'import', `${name}.jsonl`, ...flags]);
  };
  const unknown = await importing('ada', { groups: ['admins'] });
  assert.deepEqual(
    [unknown.code, /does not know the group of the administrators/.test(unknown.stderr)],
    [0, true],
  );
  const known = await importing('bob', { groups: ['admins'] }, '--admin-group', 'admins');
  assert.equal(known.code, 1);
  assert.match(known.stderr, /admins is the group of the administrators: use --allow-administrators/);
  const flags = ['--admin-group', 'admins', '--allow-administrators'];
  const planned = await importing('cyd', { groups: ['admins'] }, ...flags, '--dry-run');
  assert.match(
    planned.stdout,
    /^would become administrators, who can change everything on this server: cyd$/m,
  );
  const done = await importing('cyd', { groups: ['admins'] }, ...flags);
  assert.match(done.stdout, /^are now administrators, who can change everything on this server: cyd$/m);
  for (const quiet of [done, await importing('dan', {})])
    assert.deepEqual([quiet.code, quiet.stderr], [0, '']);

  const applying = async (members: string, ...own: readonly string[]) => {
    writeFileSync(join(folder, 'grantd.yaml'), `groups: { admins: { members: ${members} } }\n`);
    return grantd(folder, ['apply', '-f', 'grantd.yaml', '--dry-run', '--prune', ...own]);
  };
  const untold = await applying('[ada, dan]');
  assert.match(untold.stderr, /does not know the group of the administrators/);
  assert.doesNotMatch(untold.stdout, /administrators/);
  const plan = await applying('[ada, dan]', '--admin-group', 'admins');
  assert.deepEqual(
    [plan.stderr, plan.stdout.match(/^would .*$/gm)],
    [
      '',
      [
        'would become administrators, who can change everything on this server: dan',
        'would stop being administrators: cyd',
      ],
    ],
  );
  const { administrators } = JSON.parse(
    (await applying('[ada, dan]', '--admin-group', 'admins', '--json')).stdout,
  );
  assert.deepEqual(administrators, {
    become: { count: 1, usernames: ['dan'] },
    stop: { count: 1, usernames: ['cyd'] },
  });
  assert.doesNotMatch((await applying('[ada, cyd]', '--admin-group', 'admins')).stdout, /administrators/);
});
