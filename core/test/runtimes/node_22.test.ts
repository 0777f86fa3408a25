import { test } from 'node:test';
import { NODE_22 } from './executables.ts';
import { assertSuitesHold } from './outcomes.ts';

test('every specification holds on Node 22', (t) => assertSuitesHold(t, { program: NODE_22(), args: [] }));
