// Runs scripts/run_test_files.ts on planted test files, and scripts/check_ledger.ts on a planted ledger.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const RUNNER = pathToFileURL(join(import.meta.dirname, '..', '..', 'scripts', 'run_test_files.ts')).href;

/** Runs test files with these contents, one after the other. */
function runs(...contents: readonly string[]): {
  readonly lines: readonly string[];
  readonly titles: unknown;
} {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-test-files-'));
  try {
    mkdirSync(join(folder, '.test-results'));
    const files = contents.map((content, index) => {
      const file = `${index + 1}.test.mjs`;
      writeFileSync(join(folder, file), `import { after, suite, test } from 'node:test';\n${content}`);
      return file;
    });
    const script = `import { runTestFiles } from ${JSON.stringify(RUNNER)};
      const options = { processes: 1, longestFileMs: 3000 };
      console.log('all passed:', await runTestFiles(${JSON.stringify(files)}, options));`;
    writeFileSync(join(folder, 'run.mjs'), script);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = spawnSync(process.execPath, ['run.mjs'], { cwd: folder, encoding: 'utf8', env });
    const titles: unknown = JSON.parse(readFileSync(join(folder, '.test-results', 'titles.json'), 'utf8'));
    const lines = stdout.split('\n').map((line) => line.replace(/ \([\d.]+ s, [\d.]+ s CPU\)$/, '').trim());
    return { lines, titles };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('several files in one process: tests are counted, and titles keep their outcome', () => {
  const { lines, titles } = runs(
    "test('one', () => {}); test('left out', { skip: 'no time' }, () => {});",
    "suite('a suite', () => { test('two', () => {}); test('three', () => { throw new Error('wrong'); }); });",
    "test('three', () => {}); test('four', async (t) => { await t.test('five', () => {}); });",
  );
  assert.ok(lines.includes('✔ 1.test.mjs: 1 passed, 1 skipped'));
  assert.ok(lines.includes('– skipped: left out (no time)'));
  assert.ok(lines.includes('✖ 2.test.mjs: 1 passed, 1 failed'));
  assert.ok(lines.includes('Error: wrong'));
  assert.ok(lines.includes('✔ 3.test.mjs: 3 passed'));
  assert.ok(lines.includes('5 passed, 1 failed, 1 skipped'));
  assert.ok(lines.includes('all passed: false'));
  const [passed, failed] = ['passed', 'failed'];
  assert.deepEqual(titles, { one: passed, two: passed, three: failed, four: passed, five: passed });
});

test('the next file finds the folder and the variables of the process unchanged', () => {
  const { lines } = runs(
    "process.env.PLANTED = 'yes'; process.chdir('/'); test('one', () => {});",
    `import assert from 'node:assert';
     test('two', () => assert.ok(process.env.PLANTED === undefined && process.cwd() !== '/'));`,
  );
  assert.ok(lines.includes('all passed: true'));
});

test('a file that replaces a global must run alone, because the next file would use the replacement', () => {
  const replacing = "globalThis.Response = class extends Response {}; test('one', () => {});";
  assert.ok(runs(replacing).lines.includes('✖ 1.test.mjs: 1 passed, 1 failed'));
  const { lines } = runs(`// Runs alone: it replaces Response.\n${replacing}`, "test('next', () => {});");
  assert.ok(lines.includes('all passed: true'));
});

for (const [what, content] of Object.entries({
  'leaves something open': "test('one', () => {}); setInterval(() => {}, 1000);",
  'ends its process': "test('one', () => process.exit(0));",
  'rejects while its test goes on':
    "test('one', async () => { Promise.reject(new Error('lost')); await new Promise((r) => setTimeout(r, 50)); });",
  'throws in a callback while its test goes on':
    "test('one', async () => { setTimeout(() => { throw new Error('lost'); }); await new Promise((r) => setTimeout(r, 50)); });",
  'rejects after its tests':
    "test('one', () => {}); after(() => setTimeout(() => Promise.reject(new Error('late')), 50));",
  'fails in a hook':
    "suite('a suite', () => { after(() => { throw new Error('late'); }); test('one', () => {}); });",
  'cannot be loaded': "import './missing.mjs';",
}))
  test(`a file that ${what} has failed, and the others run`, () => {
    const { lines } = runs(content, "test('next', () => {});");
    assert.ok(
      lines.some((line) => /^✖ 1\.test\.mjs: \d passed, 1 failed$/.test(line)),
      lines.join('\n'),
    );
    assert.ok(lines.includes('✔ 2.test.mjs: 1 passed'));
    assert.ok(lines.includes('all passed: false'));
  });

test('a file that runs alone has a process of its own', () => {
  const { lines } = runs(
    "globalThis.planted = 1; test('one', () => {});",
    "// Runs alone: it needs a new process.\ntest('two', () => { if (globalThis.planted) throw new Error('no'); globalThis.planted = 2; });",
    "test('three', () => { if (globalThis.planted === 2) throw new Error('no'); });",
  );
  assert.ok(lines.includes('all passed: true'));
});

test('a process that dies after its last file fails the run, and one whose tests failed is counted once', () => {
  const dies = "test('one', () => {}); process.once('disconnect', () => process.exit(3));";
  const { lines } = runs("test('zero', () => {});", dies);
  assert.ok(lines.includes('✔ 2.test.mjs: 1 passed'));
  assert.ok(lines.includes('Its process has ended with 3.'), lines.join('\n'));
  assert.ok(lines.includes('all passed: false'));
  const wrong = runs("test('one', () => { throw new Error('wrong'); });");
  assert.ok(wrong.lines.includes('0 passed, 1 failed, 0 skipped'), wrong.lines.join('\n'));
});

test('a long file begins before the others', () => {
  const { lines } = runs(
    "test('one', () => {});",
    "// Begins early: it takes long.\ntest('two', () => {});",
    "test('three', () => {});",
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith('✔')),
    ['2.test.mjs', '1.test.mjs', '3.test.mjs'].map((file) => `✔ ${file}: 1 passed`),
  );
});

/** What the check of a ledger with these tests in its rows says: about the sources, or about these outcomes. */
function checkLedger(tests: readonly string[], outcomes?: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-ledger-'));
  const script = join(folder, 'scripts', 'check_ledger.ts');
  try {
    for (const part of ['scripts', 'docs/specs', 'core/test', '.test-results'])
      mkdirSync(join(folder, part), { recursive: true });
    cpSync(join(import.meta.dirname, '..', '..', 'scripts', 'check_ledger.ts'), script);
    writeFileSync(join(folder, '.test-results/titles.json'), JSON.stringify(outcomes ?? {}));
    writeFileSync(
      join(folder, 'core/test/planted.test.ts'),
      `test('a user’s key isn\\'t shown', …);
      test('a user’s name is shown to them', …);
      test('a user’s name', …);
      test(\`a token is \${state} at the end of its life\`, …);
      test(\`\${store}, \${group}: \${title}\`, …);
      const [STORE, GROUP] = ['SQLite', 'tokens'];`,
    );
    const rows = tests.map(
      (text) => `| decided | a rule | ours | \`core/test/planted.test.ts\` | \`${text}\` |\n`,
    );
    writeFileSync(join(folder, 'docs/specs/planted.md'), rows.join(''));
    const { status, stderr } = spawnSync(process.execPath, [script, ...(outcomes ? [] : ['--places'])], {
      encoding: 'utf8',
    });
    return { status, faults: stderr.replaceAll('docs/specs/planted.md:', '').split('\n').slice(0, -1) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('first words in the ledger with which no title can begin, or several do, are found before any test runs', () => {
  const { status, faults } = checkLedger([
    "a user’s key isn't",
    'a user’s name',
    'a token is {dead, alive} at the end',
    'SQLite, tokens: SQLite',
    'a user’s',
    'a user’s key is not',
    'a token is',
    'a token is dead at its end',
    '{SQLite, PostgreSQL}, tokens: another',
  ]);
  assert.deepEqual(faults, [
    '5: several tests begin so: a user’s',
    '6: no such test: a user’s key is not',
    '7: several tests begin so: a token is',
    '8: no such test: a token is dead at its end',
    '9: no such test: SQLite, tokens: another',
    '9: no such test: PostgreSQL, tokens: another',
  ]);
  assert.equal(status, 1);
});

test('a requirement in the ledger fails if no test that begins so has run, or one of them has not passed', () => {
  const outcomes = { 'a key is hidden': 'passed', 'a name': 'passed', 'a name is shown': 'failed' };
  assert.deepEqual(checkLedger(['a key', 'a name'], outcomes), { status: 0, faults: [] });
  assert.deepEqual(checkLedger(['a key', 'a name is', 'a na', 'a user'], outcomes), {
    status: 1,
    faults: ['2: failed: a name is', '3: failed: a na', '4: no such test: a user'],
  });
});
