import { test } from 'node:test';
import { DENO } from './executables.ts';
import { assertSuitesHold, REPLACES_AN_EXPORT } from './outcomes.ts';

test('every specification holds on Deno', (t) =>
  assertSuitesHold(
    t,
    { program: DENO(), args: ['run', '-A', '--node-modules-dir=manual', '--no-lock'] },
    { [REPLACES_AN_EXPORT]: 'an export of node:crypto cannot be replaced' },
  ));
