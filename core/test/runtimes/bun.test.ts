import { test } from 'node:test';
import { BUN } from './executables.ts';
import { assertSuitesHold, REPLACES_AN_EXPORT } from './outcomes.ts';

test('every specification holds on Bun', (t) =>
  assertSuitesHold(
    t,
    { program: BUN(), args: ['run'] },
    { [REPLACES_AN_EXPORT]: 'an export of node:crypto cannot be replaced' },
  ));
