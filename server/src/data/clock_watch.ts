// Compares this process's clock with other times, so that a sweep deletes nothing that is still needed.
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../log/log.ts';
import type { OpenDatabase } from './database.ts';
import { type DeletionLimitMs, MAX_SKEW_MS } from './deletion_limit.ts';

const LOOK_EVERY_MS = 60_000;

/** Milliseconds after which a file's newest record counts as a time that has passed: that of two looks. */
export const SETTLED_AFTER_MS = 2 * LOOK_EVERY_MS;

interface Surroundings {
  /** Receives when a skew begins and ends. */
  readonly log?: Pick<Log, 'info' | 'warn'>;
  /** Milliseconds since 1970. Default: the system clock. */
  readonly clock?: () => number;
  /** Milliseconds that always pass evenly. Default: those of the process. */
  readonly monotonic?: () => number;
}

/** `sharedTime` gets the results. */
type WatchedDatabase = Pick<OpenDatabase, 'referenceTime'> & Partial<Pick<OpenDatabase, 'sharedTime'>>;

/** One comparison. */
interface Look {
  readonly nowMs: number;
  readonly monotonicMs: number;
  /** What the reference said. */
  readonly referenceMs: number;
  /** A time that has passed already, even if this process's clock is behind. */
  readonly passedMs: number;
}

/**
 * Compares the clock of this process with that of a database server. For a file, it compares it with the monotonic clock,
 * and with what was recorded. What was recorded since the last look does not count yet, because this process may have
 * recorded it.
 */
export class ClockWatch {
  readonly #database: WatchedDatabase;
  readonly #log: Surroundings['log'];
  readonly #clock: () => number;
  readonly #monotonic: () => number;
  #last: Look | undefined;
  #skewMs = 0;

  constructor(
    database: WatchedDatabase,
    { log, clock = Date.now, monotonic = () => performance.now() }: Surroundings = {},
  ) {
    this.#database = database;
    this.#log = log;
    this.#clock = clock;
    this.#monotonic = monotonic;
  }

  /** Seconds by which this process's clock is ahead; negative if it is behind. 0 if it agrees with the others. */
  get skewSeconds(): number {
    return Math.round(this.#skewMs / 1000);
  }

  /** @throws {StorageFault} the database does not answer */
  async look(): Promise<void> {
    const askedAtMs = this.#monotonic();
    const { atMs, isNow, settledMs } = await this.#database.referenceTime();
    const [nowMs, monotonicMs] = [this.#clock(), this.#monotonic()];
    const last = this.#last;
    const referenceMs = atMs ?? nowMs;
    const sinceLastMs = monotonicMs - (last?.monotonicMs ?? monotonicMs);
    const isFirst = isNow || last === undefined;
    const passedMs = isFirst
      ? (settledMs ?? referenceMs)
      : Math.max(last.passedMs, last.referenceMs) + sinceLastMs;
    this.#last = { nowMs, monotonicMs, referenceMs, passedMs };
    this.#database.sharedTime?.compare(passedMs - monotonicMs, isNow);
    if (isFirst) {
      const aheadMs = nowMs - referenceMs;
      this.#setSkew(isNow ? aheadMs : Math.min(0, aheadMs), monotonicMs - askedAtMs);
      return;
    }
    const jumpMs = nowMs - last.nowMs - sinceLastMs;
    this.#setSkew(Math.abs(jumpMs) > MAX_SKEW_MS ? jumpMs : Math.min(0, nowMs - referenceMs), 0);
  }

  /** How far a deletion goes now. Call it after the first look. */
  deletionLimitMs(): DeletionLimitMs {
    const [nowMs, last] = [this.#clock(), this.#last];
    if (last === undefined) throw new Error('the clock was not compared yet');
    const limitMs = last.passedMs + this.#monotonic() - last.monotonicMs + MAX_SKEW_MS;
    // Columns of PostgreSQL refuse fractions.
    return Math.floor(Math.min(nowMs, limitMs)) as DeletionLimitMs;
  }

  /** Looks periodically until the signal. If the database does not answer, the next look may succeed. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Rejects only when aborted.
      await pause(LOOK_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.look().catch(() => undefined);
    }
  }

  /** @param uncertaintyMs by which the comparison may be wrong */
  #setSkew(skewMs: number, uncertaintyMs: number): void {
    const wasSkewed = this.#skewMs !== 0;
    this.#skewMs = Math.abs(skewMs) > MAX_SKEW_MS + uncertaintyMs ? skewMs : 0;
    const seconds = this.skewSeconds;
    if (this.#skewMs !== 0 && !wasSkewed) this.#log?.warn({ event: 'clock_skew', seconds });
    if (this.#skewMs === 0 && wasSkewed) this.#log?.info({ event: 'clock_skew_ended' });
  }
}
