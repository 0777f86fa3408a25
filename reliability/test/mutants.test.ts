import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutantsOf } from '../mutation/mutants.ts';

type Open = (age: number, note: (text: string) => void) => unknown;

const SOURCE = `function open(age: number, note: (text: string) => void): boolean {
  if (!age) return false;
  note('seen');
  return age >= 18 && age < 99;
}`;

test('each mutant changes one place of the code', () => {
  const changes = mutantsOf(SOURCE).mutants.map(({ line, from, to }) => `${line}: ${from} => ${to}`);
  assert.deepEqual(
    changes.sort(),
    [
      '2: !age => false',
      '2: !age => true',
      '2: ! => ',
      '2: false => undefined',
      '2: false => true',
      "3: note('seen'); => ;",
      '4: 18 => 19',
      '4: 99 => 100',
      '4: < => <=',
      '4: >= => >',
      '4: age >= 18 && age < 99 => (age >= 18) || (age < 99)',
      '4: age >= 18 && age < 99 => undefined',
    ].sort(),
  );
});

test('one source contains every mutant, and each is off unless it is selected', () => {
  const { mutants, source } = mutantsOf(SOURCE, 100);
  assert.doesNotMatch(source, /: number/);
  const results = (active?: number) => {
    Object.assign(globalThis, { isMutant: (number: number) => number === active });
    const notes: string[] = [];
    const open = new Function(`${source}; return open;`)() as Open;
    return [0, 17, 18, 98, 99].map((age) => open(age, (text) => notes.push(text))).concat(notes.length);
  };
  assert.deepEqual(results(), [false, false, true, true, false, 4]);
  for (const [index, mutant] of mutants.entries())
    assert.notDeepEqual(results(100 + index), results(), JSON.stringify(mutant));
});
