import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutantsOf } from '../mutation/mutants.ts';

test('each mutant changes one place of the code, and types are gone', () => {
  const source = `export function open(age: number): boolean {
  if (!age) return false;
  note('seen');
  return age >= 18 && age < 99;
}`;
  const changes = mutantsOf(source).map(({ line, from, to }) => `${line}: ${from} => ${to}`);
  assert.deepEqual(
    changes.sort(),
    [
      '2: !age => (false)',
      '2: !age => (true)',
      '2: ! => ',
      '2: false => (undefined)',
      '2: false => true',
      "3: note('seen'); => ;",
      '4: 18 => 19',
      '4: 99 => 100',
      '4: < => <=',
      '4: >= => >',
      '4: age >= 18 && age < 99 => ((age >= 18) || (age < 99))',
      '4: age >= 18 && age < 99 => (undefined)',
    ].sort(),
  );
  for (const { source: changed } of mutantsOf(source)) {
    assert.doesNotMatch(changed, /: number/);
    assert.equal(changed.split('\n').length, 5);
  }
});
