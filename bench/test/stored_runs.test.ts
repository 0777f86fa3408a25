import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadUsage, nameToComplete } from '../options.ts';
import type { RunResults } from '../report/results.ts';
import { completed, requireSame } from '../report/stored_runs.ts';
import { tables } from '../report/tables.ts';

const machine = { processor: 'P', cores: 2, memoryBytes: 1, system: 'S', node: '26', pinned: true };
const timing = { median: 200, min: 190, max: 210 };

function run(part: Partial<RunResults>): RunResults {
  return {
    ...{ startedAt: '2026-01-01T00:00:00.000Z', revision: 'aaa', machine, generator: 'wrk' },
    ...{ rounds: 2, seconds: 5, warmUpSeconds: 8, sizes: { records: 1000, tokens: 100, personal: 10 } },
    ...{ works: {}, failed: {}, othersCpu: {} },
    ...part,
  };
}

const work = (title: string) => ({ title, connections: 1, contestants: {} });
const before = run({
  works: { mix: work('before') },
  othersCpu: { memory: 0.1 },
  failed: { start: 'too slow', userinfo: 'refused' },
});
const added = run({
  ...{ startedAt: '2026-01-02T00:00:00.000Z', revision: 'bbb', start: timing },
  ...{ othersCpu: { start: 0.2 }, failed: { userinfo: 'refused again' } },
});

test('a completed run has what was measured before and after, and says which is which', () => {
  const whole = completed(before, added);
  assert.deepEqual(whole, {
    ...{ ...before, start: timing, othersCpu: { memory: 0.1, start: 0.2 } },
    failed: { userinfo: 'refused again' },
    completions: [{ startedAt: '2026-01-02T00:00:00.000Z', revision: 'bbb', names: ['start'] }],
  });
  assert.match(tables(whole), /^start: 2026-01-02T00:00:00\.000Z, bbb$/m);

  const twice = completed(whole, run({ revision: 'ccc', works: { userinfo: work('after') } }));
  assert.deepEqual(twice.works, { mix: work('before'), userinfo: work('after') });
  assert.deepEqual(twice.failed, {});
  assert.deepEqual(
    twice.completions?.map(({ names, revision }) => [revision, names]),
    [
      ['bbb', ['start']],
      ['ccc', ['userinfo']],
    ],
  );
});

test('a run is not completed on another machine or with another generator', () => {
  const other = { ...machine, processor: 'Q' };
  requireSame(before, { machine: { ...machine }, generator: 'wrk' });
  assert.throws(() => requireSame(before, { machine: other, generator: 'wrk' }), BadUsage);
  assert.throws(() => requireSame(before, { machine, generator: 'autocannon' }), BadUsage);
});

test('--complete takes a name and nothing else', () => {
  assert.equal(nameToComplete(['--complete', 'latest']), 'latest');
  assert.equal(nameToComplete(['--name', 'latest']), undefined);
  for (const args of [['--complete'], ['--complete', 'a', '--quick'], ['--complete', '../a']])
    assert.throws(() => nameToComplete(args), BadUsage);
});
