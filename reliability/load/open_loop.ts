/** A request that arrived when it was due, whatever became of those before it. */
export interface Arrival {
  /** When it was due, by `performance.now()`. */
  readonly dueMs: number;
  /** Milliseconds from then until it was answered: all waiting counts. */
  readonly latencyMs: number;
}

export interface OpenLoopOrder {
  /** Requests a second. */
  readonly rate: number;
  /** Sends one. @throws Error what it was told is wrong, which ends the load */
  readonly send: () => Promise<unknown>;
  readonly signal: AbortSignal;
}

/**
 * Sends requests at a steady rate until it is told to stop, without ever waiting for an answer: a server that
 * stands still for a moment makes all that arrive meanwhile late, and each of them is seen.
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
      const due = Math.floor(((performance.now() - startedAtMs) * rate) / 1000);
      for (; sent < due; sent++) arrive(startedAtMs + (sent * 1000) / rate);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await Promise.race([tick(), failed]);
  await Promise.race([Promise.all(open), failed]);
  return arrivals;
}
