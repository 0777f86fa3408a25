import { randomBytes } from 'node:crypto';
import { type Awaitable, StorageFault } from '@grantd/core';

/** A statement with the values of its parameters, `$1` first. */
export type TableCall = readonly [sql: string, ...values: readonly (string | number | null)[]];

export type TableRow = Readonly<Record<string, unknown>>;

/**
 * The program's own tables, on whichever database: in statements that SQLite and PostgreSQL read alike, with tables as
 * `grantd.NAME`. Every method rejects with a `StorageFault` where the database cannot be asked, or where nobody knows
 * whether something was written.
 */
export interface ProgramTables {
  /** The rows of a statement that only reads. */
  read(...call: TableCall): Promise<readonly TableRow[]>;
  /** Statements as one transaction, in this order. @returns for each what it says it is `RETURNING`, once it is durable */
  write(...calls: readonly TableCall[]): Promise<readonly (readonly TableRow[])[]>;
}

/**
 * Does what asks the database, as the library does on its own ways to it.
 * @throws {StorageFault} whatever went wrong there
 */
export async function askStorage<T>(ask: () => Awaitable<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof StorageFault ? error : new StorageFault(error);
  }
}

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

/** An identifier of 128 random bits. None begins with `-`, since a command would take it for a flag. */
export function newIdentifier(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, '_');
}
