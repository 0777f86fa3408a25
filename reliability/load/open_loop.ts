/** A request that was sent when it was due, independent of earlier requests. */
export interface Arrival {
  /** Its due time, by `performance.now()`. */
  readonly dueMs: number;
  /** Milliseconds from the due time to the response, including all waiting. */
  readonly latencyMs: number;
}

interface OpenLoopOrder {
  /** Requests per second. */
  readonly rate: number;
  /**
   * Sends a request.
   * @throws Error if the response is wrong, which ends the load
   */
  readonly send: () => Promise<unknown>;
  readonly signal: AbortSignal;
}

/**
 * Sends requests at a fixed rate until it is stopped, without waiting for responses. If a server pauses for a moment,
 * all requests that arrive meanwhile are late, and all of them are measured.
 */
export async function openLoop({ rate, send, signal }: OpenLoopOrder): Promise<readonly Arrival[]> {
  const arrivals: Arrival[] = [];
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  const open = new Set<Promise<void>>();
  const startedAtMs = performance.now();
  let sent = 0;

  const arrive = (dueMs: number): void => {
    const answered = send().then(
      () => {
        arrivals.push({ dueMs, latencyMs: performance.now() - dueMs });
        open.delete(answered);
      },
      (error: unknown) => fail(error),
    );
    open.add(answered);
  };
  const tick = async (): Promise<void> => {
    while (!signal.aborted) {
      const due = Math.floor(((performance.now() - startedAtMs) * rate) / 1000) + 1;
      for (; sent < due; sent++) arrive(startedAtMs + (sent * 1000) / rate);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await Promise.race([tick(), failed]);
  await Promise.race([Promise.all(open), failed]);
  return arrivals;
}
