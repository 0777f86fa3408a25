import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const MAIN = join(import.meta.dirname, '../bin/grantd.mjs');

interface Seen {
  readonly flags: readonly string[];
  readonly arenas: string | undefined;
  /** Bytes; the room for the young is part of it. */
  readonly heapLimit: number;
}

describe('the program', { skip: process.platform === 'win32' }, () => {
  let probe = '';
  before(() => {
    probe = join(workbench.folder(), 'probe.mjs');
    writeFileSync(
      probe,
      `import { getHeapStatistics } from 'node:v8';
      const { execArgv: flags, env: { MALLOC_ARENA_MAX: arenas } } = process;
      console.log(JSON.stringify({ flags, arenas, heapLimit: getHeapStatistics().heap_size_limit }));`,
    );
  });

  /** What each process says that is begun by one start, in their order. */
  function started(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): readonly Seen[] {
    const { NODE_OPTIONS = '', ...others } = environment;
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      env: { PATH: process.env.PATH, NODE_OPTIONS: `${NODE_OPTIONS} --import=${probe}`, ...others },
      encoding: 'utf8',
      timeout: 20_000,
    });
    assert.deepEqual([stderr, status], ['', 0]);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line): Seen => JSON.parse(line));
  }

  const program = [MAIN, '--version'];

  test('bounds its memory by a start anew', () => {
    const [first, ...others] = started(program);
    const [{ heapLimit } = { heapLimit: 0 }] = started(['--max-semi-space-size=8', '--eval', '']);
    assert.deepEqual(first?.flags, []);
    assert.deepEqual(others, [
      { flags: ['--max-semi-space-size=8', '--no-parallel-scavenge'], arenas: '2', heapLimit },
    ]);
  });

  test('lets flags win that the operator gives in NODE_OPTIONS', () => {
    for (const flag of ['--max-semi-space-size=64', '"--max_semi_space_size=64"']) {
      const seen = started(program, { NODE_OPTIONS: flag }).at(-1);
      const [{ heapLimit } = { heapLimit: 0 }] = started(['--max-semi-space-size=64', '--eval', '']);
      assert.deepEqual(seen, { flags: ['--no-parallel-scavenge'], arenas: '2', heapLimit });
    }
  });

  test('lets flags win that the operator gives before its name', () => {
    const own = ['--max-semi-space-size=64', '--parallel-scavenge'];
    const [{ heapLimit } = { heapLimit: 0 }] = started(['--max-semi-space-size=64', '--eval', '']);
    assert.deepEqual(started([...own, ...program]).at(-1), { flags: own, arenas: '2', heapLimit });
  });

  test('starts once where everything has been said', () => {
    const own = ['--max-semi-space-size=64', '--parallel-scavenge'];
    const seen = started([...own, ...program], { MALLOC_ARENA_MAX: '4' });
    assert.deepEqual(
      seen.map(({ flags, arenas }) => [flags, arenas]),
      [[own, '4']],
    );
  });
});
