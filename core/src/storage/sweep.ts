import type { AdministrableStorage } from './contract.ts';

export interface SweepOptions {
  /** Rows of each kind in one transaction. Default: 200. */
  readonly limit?: number;
  /** Milliseconds between two transactions, for requests to be served. Default: 20. */
  readonly pauseMs?: number;
  /** Ends the sweep between two transactions, and the pause between them. */
  readonly signal?: AbortSignal;
  /** Told how many rows each transaction has deleted. */
  readonly onBatch?: (rows: number) => void;
}

/**
 * Deletes what nothing needs any more, batch after batch, until nothing is left or it is told to stop. A host
 * without a long-running process calls it now and then.
 * @returns how many rows were deleted
 */
export async function sweep(
  storage: Pick<AdministrableStorage, 'sweep'>,
  { limit = 200, pauseMs = 20, signal, onBatch }: SweepOptions = {},
): Promise<number> {
  let total = 0;
  while (signal?.aborted !== true) {
    const rows = await storage.sweep(limit);
    if (rows === 0) break;
    total += rows;
    onBatch?.(rows);
    await pause(pauseMs, signal);
  }
  return total;
}

/** Resolves after some milliseconds, or at once when the signal says so. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}
