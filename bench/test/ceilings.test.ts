import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ceiling, rateOfMix } from '../primitives/ceilings.ts';
import { type Primitives, quickestOf, timingOf } from '../primitives/primitives.ts';

const of = (us: number) => timingOf([us]);
const quickest = (us: number) => quickestOf({ only: of(us) });

const PRIMITIVES: Primitives = {
  verifyRs256: quickest(30),
  verifyEs256: quickest(100),
  signRs256: quickest(700),
  signEs256: quickest(40),
  lookUp: of(10),
  insert: of(20),
  commit: of(640),
};

test('a ceiling is the inverse of what its parts take together', () => {
  const bareRate = 50_000; // 20 µs
  assert.equal(ceiling(bareRate, PRIMITIVES, {}), bareRate);
  assert.equal(ceiling(bareRate, PRIMITIVES, { verify: 'RS256', lookUps: 1 }), 1e6 / (20 + 30 + 10));
  assert.equal(ceiling(bareRate, PRIMITIVES, { verify: 'ES256', lookUps: 2 }), 1e6 / (20 + 100 + 20));
  assert.equal(ceiling(bareRate, PRIMITIVES, { sign: 'RS256' }), 1e6 / (20 + 700));
  assert.equal(
    ceiling(bareRate, PRIMITIVES, { sign: 'ES256', inserts: 1, commits: 1 / 64 }),
    1e6 / (20 + 40 + 20 + 10),
  );
});

test('the rate of a mix is that of the time that its requests take', () => {
  assert.equal(
    rateOfMix([
      { share: 0.5, rate: 1000 },
      { share: 0.5, rate: 250 },
    ]),
    400,
  );
  assert.throws(() => rateOfMix([{ share: 0.9, rate: 1 }]), /sum to 0\.9, not to 1/);
});

test('a timing is the median of its runs, also of an even number of them', () => {
  assert.deepEqual(timingOf([4, 1, 9]), { medianUs: 4, minUs: 1, maxUs: 9, runs: 3 });
  assert.deepEqual(timingOf([10, 1, 2, 4]), { medianUs: 3, minUs: 1, maxUs: 10, runs: 4 });
});

test('of several ways the fastest one counts, and all are reported', () => {
  const ways = { slow: of(3), quick: of(2) };
  assert.deepEqual(quickestOf(ways), { ...ways.quick, way: 'quick', ways });
});
