import { setTimeout as pause } from 'node:timers/promises';

/** Calls `work` again and again, and at once when it is woken, until it is told to stop. */
export class Repeated {
  readonly #intervalMs: number;
  #wake = new AbortController();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** The next call does not wait. */
  wake(): void {
    this.#wake.abort();
  }

  /** @param work never rejects */
  async run(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      await work();
      const wakeOrStop = AbortSignal.any([this.#wake.signal, signal]);
      // Rejects only where it is woken or told to stop.
      await pause(this.#intervalMs, undefined, { signal: wakeOrStop, ref: false }).catch(() => undefined);
    }
  }
}
