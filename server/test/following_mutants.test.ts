// Begins early: it waits until the histories of followers notice mutants. `npm run test:histories` tries each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MUTANTS } from '../../reliability/following/mutants.ts';
import { POSTGRESQL } from './harness/databases.ts';
import { PROGRAM_VARIABLE } from './harness/program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SCRIPT = join(ROOT, 'reliability', 'following.ts');

/** One whose fault is in followers, and one whose fault is in servers too. */
const QUICK = ['contact does not wait for the stream', 'messages get lost unnoticed'];
const CHOSEN = process.env.TEST_EVERY_PAIR === 'yes' ? Object.keys(MUTANTS) : QUICK;

const SECONDS = 240;

test('each mutant changes code that exists once', () => {
  for (const [mutant, { edits }] of Object.entries(MUTANTS))
    for (const { file, code } of edits)
      assert.equal(readFileSync(join(ROOT, file), 'utf8').split(code).length, 2, mutant);
});

describe('the histories of followers', { concurrency: 2 }, () => {
  for (const mutant of CHOSEN) {
    const { needs } = MUTANTS[mutant] ?? assert.fail(mutant);
    const skip = needs === 'failovers' && POSTGRESQL.absence;
    test(`notice that ${mutant}`, { skip, timeout: 2000 * SECONDS }, async () => {
      const [processes, followers] = needs === 'servers without streams' ? [4, 1] : [2, 4];
      const deployment = needs === 'failovers' ? 'postgres-failover' : 'sqlite';
      const numbers = { processes, followers, lanes: 6, bound: 2, seconds: SECONDS };
      const args = Object.entries(numbers).flatMap(([name, value]) => [`--${name}`, String(value)]);
      // A bundled program has no sources to change.
      const { [PROGRAM_VARIABLE]: _, ...env } = process.env;
      const child = spawn(
        process.execPath,
        [SCRIPT, ...args, '--mutant', mutant, '--deployment', deployment],
        {
          ...{ env, stdio: ['ignore', 'pipe', 'pipe'] },
        },
      );
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          said += text;
        });
      await once(child, 'close');
      assert.match(said, /^[1-9]\d* acceptances after the bound$/m, said);
    });
  }
});
