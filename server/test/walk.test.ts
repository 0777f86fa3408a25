// Runs scripts/check_walk.ts with a budget that no walk meets.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 'check_walk.ts');

test('a request that passes through too much code is reported, with what is allowed', () => {
  const budget = 'library UserInfo=3,100';
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [SCRIPT, '--place', 'library', '--budget', budget],
    {
      encoding: 'utf8',
    },
  );
  const [, files, lines] = /^library UserInfo: (\d+) files, \d+ functions, (\d+) lines$/m.exec(stdout) ?? [];
  assert.match(stderr, new RegExp(`^library UserInfo: ${files} files, at most 3 are allowed$`, 'm'));
  assert.match(stderr, new RegExp(`^library UserInfo: ${lines} lines, at most 110 are allowed$`, 'm'));
  assert.equal(status, 1);
});
