import { randomBytes } from 'node:crypto';
import { type Awaitable, StorageFault } from '@grantd/core';

/** A statement with its parameter values, `$1` first. */
export type TableCall = readonly [sql: string, ...values: readonly (string | number | null)[]];

export type TableRow = Readonly<Record<string, unknown>>;

/**
 * The program’s tables, on either database. Statements are valid in both SQLite and PostgreSQL and name tables
 * `grantd.NAME`. Every method rejects with a `StorageFault` if the database does not answer or the outcome of a write
 * is unknown.
 */
export interface ProgramTables {
  /** Runs a read-only statement. */
  read(...call: TableCall): Promise<readonly TableRow[]>;
  /** Runs statements in order, in one transaction. @returns the `RETURNING` rows of each, once they are durable */
  write(...calls: readonly TableCall[]): Promise<readonly (readonly TableRow[])[]>;
}

/**
 * Runs a database operation and converts its errors.
 * @throws {StorageFault} the operation failed
 */
export async function askStorage<T>(ask: () => Awaitable<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof StorageFault ? error : new StorageFault(error);
  }
}

/** The same store, or a part of it, whose methods convert their errors as `askStorage` does. */
export function askedStorage<T extends object>(store: T): T {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member === 'function')
        return (...given: readonly unknown[]) => askStorage(() => Reflect.apply(member, target, given));
      return typeof member === 'object' && member !== null ? askedStorage(member) : member;
    },
  });
}

const WRITE = `
  INSERT INTO grantd.write_checks (issuer, checked_at_ms) VALUES ($1, $2)
  ON CONFLICT (issuer) DO UPDATE SET checked_at_ms = excluded.checked_at_ms`;

/** Milliseconds for which a successful write serves further probes. */
const GOOD_FOR_MS = 5_000;

/**
 * Checks whether the database accepts writes. It writes a row, because a full disk only shows when the file grows.
 * Concurrent probes share one write.
 * @returns a function that rejects with a `StorageFault` if writes fail
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

/** An identifier of 128 random bits. Never starts with `-`, which a command would read as a flag. */
export function newIdentifier(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, '_');
}
