// Begins early: it runs many suites.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { SUITES } from './runtimes/bundle.ts';
import { titlesOnPinnedNode } from './runtimes/outcomes.ts';

const WHERE = 'through the function on memory';

/** Runs the suites of the runtimes in another process, at the place that needs nothing of Node. */
async function runSpecifications(): Promise<{ readonly status: unknown; readonly output: string }> {
  const folder = import.meta.dirname;
  const suites = SUITES.filter((file) => /^specification\(/m.test(readFileSync(file, 'utf8')));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = [
    ...['--import', join(folder, 'harness', 'other_runtime.ts'), '--test', '--test-isolation=none'],
    ...['--test-reporter=tap', `--test-name-pattern=${WHERE}`, ...suites],
  ];
  const run = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'], timeout: 120_000 });
  const [output, [status]] = await Promise.all([text(run.stdout), once(run, 'exit')]);
  return { status, output };
}

test('every specification holds with what the package has for runtimes other than Node', async (t) => {
  const { status, output } = await runSpecifications();
  const failures = output.match(/^ *not ok .*/gm) ?? [];
  assert.deepEqual([status, failures], [0, []]);
  // The names by which the runtime tests count must equal those of Node's own runner.
  const titles = await titlesOnPinnedNode(t);
  const here = titles.filter((title) => title.includes(WHERE));
  assert.equal(Number(/^# pass (\d+)$/m.exec(output)?.[1]), here.length);
});
