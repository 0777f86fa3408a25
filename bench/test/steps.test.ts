import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Steps } from '../steps.ts';

test('a step that fails is reported, and the others run', async () => {
  const done: string[] = [];
  const steps = new Steps(() => {});
  steps.add('one', async () => {
    throw new Error('it broke');
  });
  steps.add('other', async () => {
    done.push('other');
  });
  assert.deepEqual(await steps.run(), { one: 'it broke' });
  assert.deepEqual(done, ['other']);
});

test('the remaining time is estimated from the previous steps', async () => {
  let now = 0;
  const said: string[] = [];
  const steps = new Steps(
    (text) => said.push(text),
    () => now,
  );
  for (const [name, minutes] of [
    ['first', 2],
    ['second', 4],
    ['third', 1],
  ] as const)
    steps.add(name, async () => {
      now += minutes * 60_000;
    });
  assert.deepEqual(await steps.run(), {});
  assert.deepEqual(said, [
    '1 of 3: first',
    '2 of 3: second, about 4 minutes left',
    '3 of 3: third, about 3 minutes left',
  ]);
});
