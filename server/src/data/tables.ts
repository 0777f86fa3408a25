import { randomBytes } from 'node:crypto';
import { type ActType, type Awaitable, type EventFacts, type EventOrigin, StorageFault } from '@grantd/core';

/** A statement with its parameter values, `$1` first. */
export type TableCall = readonly [sql: string, ...values: readonly (string | number | null)[]];

export type TableRow = Readonly<Record<string, unknown>>;

/** A value of an event: the same for each, or that of a column of the changed row. */
type OfRow = string | { readonly column: string };

/** The event of a change. */
export interface ActOfChange {
  readonly type: ActType;
  /** If the target, the subject or the reason is a column, each changed row has an event. Otherwise, all have one. */
  readonly target: OfRow;
  readonly subject?: OfRow | undefined;
  readonly clientId?: string | undefined;
  readonly reason?: OfRow | undefined;
  /** Who acts if the cause does not say so. Default: the server. */
  readonly by?: 'user' | 'anonymous' | undefined;
}

/** A statement with the events to record if it changes something. */
export interface RecordedCall {
  readonly call: TableCall;
  readonly acts: readonly ActOfChange[];
}

/**
 * A statement whose change is recorded in the same transaction. Nothing is recorded if it changes nothing.
 * @param call changes rows and returns them (`RETURNING`). Its first parameter is the issuer
 */
export function recorded(call: TableCall, ...acts: readonly ActOfChange[]): RecordedCall {
  return { call, acts };
}

export function isRecorded(call: TableCall | RecordedCall): call is RecordedCall {
  return 'call' in call;
}

/** The events of a recorded statement whose values do not come from a column, for each act. */
export function factsOf({ target, subject, clientId, reason }: ActOfChange): EventFacts {
  return { target: constant(target) ?? '', subject: constant(subject), clientId, reason: constant(reason) };
}

function constant(value: OfRow | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The column of a value, if it comes from one. */
export function columnOf(value: OfRow | undefined): string | undefined {
  return typeof value === 'object' ? value.column : undefined;
}

/** Who acted, in the context of the call. */
export function originOfAct(
  { by }: ActOfChange,
  origin: EventOrigin,
): EventOrigin & { readonly actor: string } {
  return { ...origin, actor: origin.actor ?? by ?? 'server' };
}

/** The actor of an event: users are named by their subject. */
export function actorOf(actor: string, subject: string | undefined): string {
  return actor === 'user' && subject !== undefined ? `user:${subject}` : actor;
}

/**
 * The program’s tables, on either database. Statements are valid in both SQLite and PostgreSQL and name tables
 * `grantd.NAME`. Every method rejects with a `StorageFault` if the database does not answer or the outcome of a write
 * is unknown.
 */
export interface ProgramTables {
  /** Runs a read-only statement. */
  read(...call: TableCall): Promise<readonly TableRow[]>;
  /** Runs statements in order, in one transaction, and records their events in it. @returns the `RETURNING` rows of each, once they are durable */
  write(...calls: readonly (TableCall | RecordedCall)[]): Promise<readonly (readonly TableRow[])[]>;
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

/** A database server whose small writes can succeed on a full disk, because its files have room inside. */
export interface FullDisk {
  /** How many statements of this process have failed because the disk was full. */
  failures: number;
  /** Fails if the disk is full. Changes nothing. */
  readonly probe: readonly TableCall[];
}

/**
 * Checks whether the database accepts writes. It writes a row, because a full disk only shows when the file grows.
 * Concurrent probes share one write.
 * @param disk once a statement has failed on it, its probe must succeed too
 * @returns a function that rejects with a `StorageFault` if writes fail
 */
export function writeCheck(
  tables: ProgramTables,
  issuer: string,
  disk: FullDisk = { failures: 0, probe: [] },
  clock: () => number = Date.now,
): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let failuresBefore = 0;
  let pending: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    const { failures, probe } = disk;
    await tables.write([WRITE, issuer, clock()], ...(failures === failuresBefore ? [] : probe));
    // A statement that failed meanwhile needs another probe.
    failuresBefore = failures;
    goodUntilMs = performance.now() + GOOD_FOR_MS;
  };
  return async () => {
    if (performance.now() < goodUntilMs && disk.failures === failuresBefore) return;
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
