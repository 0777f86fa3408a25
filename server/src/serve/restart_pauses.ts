const LONG_ENOUGH_MS = 10_000;
const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** How long to wait before a worker is started again: not at all, but longer each time while it dies right away. */
export class RestartPauses {
  #nextMs = 0;

  /**
   * @param servedMs how long the one that died had served
   * @returns milliseconds
   */
  after(servedMs: number): number {
    if (servedMs >= LONG_ENOUGH_MS) this.#nextMs = 0;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(Math.max(FIRST_MS, pauseMs * 2), LONGEST_MS);
    return pauseMs;
  }
}
