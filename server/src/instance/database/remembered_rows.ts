import type { ReadQueue } from '@grantd/core/sqlite';
import type { TableCall, TableRow } from './program_tables.ts';

/** Each is of one row at most: some hundred bytes. */
const MOST_ANSWERS = 1000;

type Rows = readonly TableRow[];

/** Single rows as they were read, for as long as nothing has been committed since, by whichever process. */
export class RememberedRows {
  readonly #reads: Pick<ReadQueue, 'state'>;
  readonly #answers = new Map<string, Rows>();
  #state: number | undefined;

  constructor(reads: Pick<ReadQueue, 'state'>) {
    this.#reads = reads;
  }

  get(call: TableCall): Rows | undefined {
    return this.#isOfNow() ? this.#answers.get(keyOf(call)) : undefined;
  }

  /** @returns the rows */
  add(call: TableCall, rows: Rows): Rows {
    if (rows.length > 1 || !this.#isOfNow()) return rows;
    if (this.#answers.size >= MOST_ANSWERS) this.#answers.clear();
    this.#answers.set(keyOf(call), rows);
    return rows;
  }

  /** Forgets what is not of the state that is read now. @returns whether that state is known */
  #isOfNow(): boolean {
    const { state } = this.#reads;
    if (state === undefined) return false;
    if (state !== this.#state) this.#answers.clear();
    this.#state = state;
    return true;
  }
}

/** Texts and numbers that look alike are not the same. */
function keyOf(call: TableCall): string {
  return JSON.stringify(call);
}
