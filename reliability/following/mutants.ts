// Faults that the histories have to notice. For `--import`: applies the one that the environment names.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

interface Edit {
  readonly file: string;
  readonly code: string;
  readonly instead: string;
}

const FEED = 'protect/src/ending_feed.ts';
const PRIMARY = 'core/src/storage/postgres/primary.ts';

interface Mutant {
  readonly edits: readonly Edit[];
  /** Without which the fault does not show. */
  readonly needs?: 'failovers' | 'servers without streams';
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'contact counts from the answer': {
    edits: [{ file: FEED, code: 'push({ at, position:', instead: 'push({ at: this.#now(), position:' }],
  },
  'an answer to any nonce counts': {
    edits: [{ file: FEED, code: 'answer.nonce !== nonce ||', instead: '' }],
  },
  'contact does not wait for the stream': {
    edits: [{ file: FEED, code: 'if (position > this.#position) continue;', instead: '' }],
  },
  'a nonce is answered before a read': {
    edits: [
      {
        file: 'server/src/follow/tail.ts',
        code: 'this.#next ??=',
        instead: 'if (this.#last !== undefined) return Promise.resolve(this.#lastEnding);\nthis.#next ??=',
      },
    ],
    needs: 'servers without streams',
  },
  'messages get lost unnoticed': {
    edits: [
      {
        file: 'server/src/follow/feed.ts',
        code: 'if (stream.waiting === undefined) write(stream, message);',
        instead: 'if (stream.waiting === undefined) Math.random() < 0.5 && write(stream, message);',
      },
      { file: FEED, code: 'if (numberIn(data.since) > this.#position)', instead: 'if (false)' },
    ],
  },
  'a previous primary is trusted': {
    edits: [
      {
        file: PRIMARY,
        code: 'row.epoch !== null && (await this.#holdsLease(row.epoch))',
        instead: 'row.epoch !== null',
      },
      { file: PRIMARY, code: 'this.#lease !== undefined && row.epoch < this.#lease.epoch', instead: 'false' },
    ],
    needs: 'failovers',
  },
};

/** Of a process in which it works. */
export const MUTANT_VARIABLE = 'FOLLOWING_MUTANT';

const ROOT = join(import.meta.dirname, '..', '..');
const chosen = process.env[MUTANT_VARIABLE];
if (chosen !== undefined) applyMutant(chosen);

/** Changes what this process loads from now on. */
export function applyMutant(name: string): void {
  const { edits } = MUTANTS[name] ?? { edits: [] };
  registerHooks({
    load(url, context, next) {
      const wanted = edits.filter(({ file }) => pathToFileURL(join(ROOT, file)).href === url);
      if (wanted.length === 0) return next(url, context);
      let source = readFileSync(fileURLToPath(url), 'utf8');
      for (const { code, instead } of wanted) {
        if (source.split(code).length !== 2) throw new Error(`${url} no longer has ${code} once`);
        source = source.replace(code, () => instead);
      }
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
