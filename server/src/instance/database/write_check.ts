import type { ProgramTables } from './program_tables.ts';

const WRITE = `
  INSERT INTO grantd.write_checks (issuer, checked_at_ms) VALUES ($1, $2)
  ON CONFLICT (issuer) DO UPDATE SET checked_at_ms = excluded.checked_at_ms`;

/** Milliseconds for which a write that worked counts for all probes. */
const GOOD_FOR_MS = 5_000;

/**
 * Finds out whether the database can be written: by a small write, since a full disk is only noticed when more room is
 * needed. Probes that come at once share one.
 * @returns what rejects with a `StorageFault` if it cannot
 */
export function writeCheck(tables: ProgramTables, issuer: string): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    await tables.write([WRITE, issuer, Date.now()]);
    goodUntilMs = performance.now() + GOOD_FOR_MS;
  };
  return async () => {
    if (performance.now() < goodUntilMs) return;
    pending ??= write().finally(() => {
      pending = undefined;
    });
    await pending;
  };
}
