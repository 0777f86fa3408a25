/** Attempts of a window, by keys that tell nobody anything. Rejects with a `StorageFault`. */
export interface Attempts {
  /**
   * Counts one, in the window that is open or in a new one. Atomic: of several at once each is counted.
   * @returns how many there are in the window now, and when it ends
   */
  count(keyDigest: string, nowMs: number, windowMs: number): Promise<AttemptsOfWindow>;
  forget(keyDigest: string): Promise<void>;
}

export interface AttemptsOfWindow {
  readonly attempts: number;
  readonly endsAtMs: number;
}
