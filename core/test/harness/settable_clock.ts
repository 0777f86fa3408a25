/** A clock that stands still unless a test sets it. */
export class SettableClock {
  /** Milliseconds. Not a whole second, so that rounding errors show. */
  nowMs = Date.UTC(2026, 0, 1, 12, 0, 0, 250);

  readonly read = (): number => this.nowMs;

  get seconds(): number {
    return Math.floor(this.nowMs / 1000);
  }

  advance(seconds: number): void {
    this.nowMs += seconds * 1000;
  }
}
