import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadUsage, benchOptions } from '../options.ts';
import { SHOWN } from '../report/shown.ts';
import { WORKS } from '../works/works.ts';

const KNOWN = ['introspection-jwt', 'mix'];
const FULL = {
  works: KNOWN,
  rounds: 5,
  seconds: 3,
  warmUpSeconds: 8,
  sizes: { records: 1_000_000, tokens: 100_000, personal: 40_000 },
  isComparison: false,
  generator: undefined,
  name: 'latest',
};

test('without flags everything is measured in full, and kept as the latest', () => {
  assert.deepEqual(benchOptions([], KNOWN), FULL);
});

test('some of the works are not kept unless they get a name', () => {
  assert.deepEqual(benchOptions(['--work', 'mix'], KNOWN), { ...FULL, works: ['mix'], name: undefined });
  assert.deepEqual(benchOptions(['--work', 'mix', '--name', 'try'], KNOWN), {
    ...FULL,
    works: ['mix'],
    name: 'try',
  });
});

test('a quick run is smaller, is not kept, and measures what README shows', () => {
  assert.deepEqual(benchOptions(['--quick', '--tokens', '500'], KNOWN), {
    ...FULL,
    works: SHOWN.map(({ work }) => work),
    isComparison: true,
    rounds: 3,
    seconds: 1,
    warmUpSeconds: 2,
    sizes: { records: 100_000, tokens: 500, personal: 250 },
    name: undefined,
  });
});

test('a quick run of chosen works measures them with everything beside them', () => {
  const options = benchOptions(['--quick', '--work', 'mix'], KNOWN);
  assert.ok(typeof options === 'object');
  assert.deepEqual([options.works, options.isComparison, options.rounds], [['mix'], false, 3]);
});

test('a quick run has room for its tokens', () => {
  const options = benchOptions(['--quick'], KNOWN);
  assert.ok(typeof options === 'object');
  assert.deepEqual(options.sizes, { records: 100_000, tokens: 10_000, personal: 5000 });
});

for (const [args, expected] of [
  [['--work', 'mixed'], '--work: expected some of introspection-jwt, mix'],
  [['--tokens', '300000'], '--records: expected at least 1880003 for 300000 tokens'],
  [['--rounds', '0'], '--rounds: expected a whole number from 1'],
  [['--seconds', '1.5'], '--seconds: expected a whole number from 1'],
  [['--generator', 'ab'], '--generator: expected wrk or autocannon'],
  [['--name', '../x'], '--name: expected lower-case letters, digits, _, . and -'],
] as const)
  test(`${args.join(' ')} is refused`, () => {
    assert.throws(() => benchOptions(args, KNOWN), new BadUsage(expected));
  });

test('a flag that there is not is refused', () => {
  assert.throws(() => benchOptions(['--round', '3'], KNOWN), BadUsage);
});

test('README shows works that there are', () => {
  const known = WORKS.map(({ name }) => name);
  assert.deepEqual(
    SHOWN.filter(({ work }) => !known.includes(work)),
    [],
  );
});
