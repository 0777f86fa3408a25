import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import type { Phase } from '../load/latency.ts';
import type { BulkRows } from './bulk_rows.ts';

export interface RoundsOrder {
  /** Expired rows per round. */
  readonly rows: number;
  readonly rounds: number;
  /** Seconds without anything to sweep, before each sweep. */
  readonly restSeconds: number;
  /** The slowest expected sweep, in rows per second. It determines the length of a round. */
  readonly slowestRows: number;
}

export interface Round {
  readonly rest: Phase;
  readonly sweep: Phase;
}

/** The slowest expected filling, in rows per second. */
const SLOWEST_FILLING = 30_000;
const SPARE_SECONDS = 10;
const SETTLE_MS = 2000;
const POLL_MS = 100;

/** Rounds by the clock: the rows of each round expire at a second that was chosen when they were written. */
export class SweepingRounds {
  readonly #database: DatabaseSync;
  readonly #order: RoundsOrder;
  readonly #firstSecond: number;

  /** @param database a file that another process sweeps */
  constructor(database: DatabaseSync, order: RoundsOrder, otherRows: number) {
    const filling = Math.ceil((order.rows * order.rounds + otherRows) / SLOWEST_FILLING);
    this.#database = database;
    this.#order = order;
    this.#firstSecond = Math.ceil(Date.now() / 1000) + filling + SPARE_SECONDS;
  }

  /** @throws Error if the first round has already begun */
  fill(bulk: BulkRows): void {
    for (let round = 0; round < this.#order.rounds; round++) {
      bulk.add(`round-${round}`, this.#order.rows, this.#expiryOf(round));
    }
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    if (Date.now() >= this.#firstSecond * 1000)
      throw new Error('filling the database took longer than was thought');
  }

  /**
   * Waits until the rows of a round expire, and then until they are gone.
   * @param sweep called to sweep, if no server does it by itself
   * @throws Error if the previous sweep took longer than its round
   */
  async run(round: number, sweep: () => Promise<void>): Promise<Round> {
    await pause(SETTLE_MS);
    const restFromMs = performance.now();
    const dueInMs = this.#expiryOf(round) * 1000 - Date.now();
    if (dueInMs < SETTLE_MS) throw new Error('a sweep took longer than its round: lower --slowest-rows');
    await pause(dueInMs);
    const rest = { fromMs: restFromMs, untilMs: performance.now() };
    const first = this.#firstOf(round);
    const swept = sweep();
    const isThere = this.#database.prepare('SELECT 1 FROM tokens WHERE rowid = ?');
    while (isThere.get(first) !== undefined) await pause(POLL_MS);
    const fromMs = performance.now();
    // Grants go with their last token.
    const left = this.#database.prepare(`SELECT 1 FROM tokens WHERE ${this.#isOf(round)} LIMIT 1`);
    while (left.get() !== undefined) await pause(POLL_MS);
    const untilMs = performance.now();
    await swept;
    return { rest, sweep: { fromMs, untilMs } };
  }

  /** The row that is swept first. */
  #firstOf(round: number): number {
    const sql = `SELECT rowid FROM tokens WHERE ${this.#isOf(round)} ORDER BY rowid LIMIT 1`;
    const first = this.#database.prepare(sql).get();
    if (first === undefined) throw new Error('the sweep was over before it was looked for');
    return Number(first.rowid);
  }

  #isOf(round: number): string {
    return `issuer_id = 1 AND keep_until = ${this.#expiryOf(round)}`;
  }

  #expiryOf(round: number): number {
    const { rows, restSeconds, slowestRows } = this.#order;
    const roundSeconds = restSeconds + Math.ceil(rows / slowestRows);
    return this.#firstSecond + round * roundSeconds + restSeconds;
  }
}
