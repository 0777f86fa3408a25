// Deletes what is no longer needed: rows, and unused registrations.
import { secondsOf } from '../platform/environment.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { AdministrableStorage, Awaitable } from './contract.ts';

export interface SweepOptions {
  /** Rows of each kind in one transaction. Default: 200. */
  readonly limit?: number;
  /** Milliseconds between two transactions, so that requests are served in between. Default: 20. */
  readonly pauseMs?: number;
  /** Ends the sweep between two transactions, and the pause between them. */
  readonly signal?: AbortSignal;
  /** Receives the number of rows that each transaction deleted. */
  readonly onBatch?: (rows: number) => void;
}

/**
 * Deletes rows that are no longer needed, in batches, until none is left or the signal stops it. The program does this
 * by itself; call it regularly if you embed the library (ADR 118).
 * @returns number of deleted rows
 * @example
 * setInterval(() => sweep(storage), 60 * 60 * 1000);
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

export interface UnusedRegistrations {
  /** Seconds since 1970. Clients that were in use after it stay. */
  readonly unusedSince: number;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: () => number;
  /** How many clients to look at. Default: 200. */
  readonly limit?: number;
  /** Whether a client counts as used for another reason, such as a stored consent. Default: no client does. */
  readonly isUsed?: (client: ClientRecord) => Awaitable<boolean>;
  /** Receives each client that was removed. */
  readonly onRemoved?: (client: ClientRecord) => void;
}

/**
 * Removes clients that registered themselves and have been unused since a time: they have no token that was alive since
 * then, and made no request. Each removal is atomic, so a client that is used meanwhile stays. The program does this by
 * itself; call it regularly if you embed the library with open registration (ADR 137).
 * @returns how many clients it looked at; zero if none is left
 * @example
 * const unusedSince = Date.now() / 1000 - 30 * 24 * 60 * 60;
 * while ((await sweepRegistrations(storage, { unusedSince })) > 0);
 */
export async function sweepRegistrations(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  { unusedSince, limit = 200, clock = Date.now, isUsed, onRemoved }: UnusedRegistrations,
): Promise<number> {
  const found = await clients.listUnused(Math.floor(unusedSince), limit);
  for (const client of found) {
    // It counts as used once more, so that it does not stand before others the next time.
    if (await isUsed?.(client)) await clients.noteUse(client.id, secondsOf(clock()));
    else if (await clients.remove(client.id, Math.floor(unusedSince))) onRemoved?.(client);
  }
  return found.length;
}
