import { test } from 'node:test';
import { NODE_24 } from './executables.ts';
import { assertSuitesHold } from './outcomes.ts';

test('every specification holds on Node 24', (t) => assertSuitesHold(t, { program: NODE_24(), args: [] }));
