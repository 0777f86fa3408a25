// What the command that imports users knows of the administrators (ADR 207).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

test('the command knows the group of the administrators by --admin-group, and says so if it does not', async () => {
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
  for (const quiet of [await importing('cyd', { groups: ['admins'] }, ...flags), await importing('dan', {})])
    assert.deepEqual([quiet.code, quiet.stderr], [0, '']);
});
