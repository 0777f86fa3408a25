// Statements, and queues of reads and writes, which share SQLite transactions.
import type {
  DatabaseSync,
  SQLInputValue,
  SQLOutputValue,
  StatementResultingChanges,
  StatementSync,
} from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { AuditOptions } from '../../protocol/event_records.ts';
import type { HostCondition } from '../contract.ts';
import { asFault, asRejection } from '../faults.ts';
import { canUse } from '../migrations.ts';
import { parametersOf, withParameters } from '../statements.ts';
import { isBusy, type Reads, type Transaction, type TransactionOfOrigin } from './connection.ts';
import { SQLITE_STORE_TABLES, type SqliteTables } from './schema.ts';

/** Prepares a table's statements under their names. */
export function prepareAll<Name extends string>(
  database: DatabaseSync,
  statements: Readonly<Record<Name, string>>,
): Readonly<Record<Name, SqliteStatement>> {
  const prepared = Object.entries<string>(statements).map(([name, sql]) => [name, prepare(database, sql)]);
  return Object.fromEntries(prepared) as Record<Name, SqliteStatement>;
}

/** A statement whose parameters have names, or none at all. */
export interface SqliteStatement {
  run(parameters?: SqliteParameters): StatementResultingChanges;
  get(parameters?: SqliteParameters): SqliteRow | undefined;
  all(parameters?: SqliteParameters): SqliteRow[];
}

/** The values of a row, by column. */
export type SqliteRow = Record<string, SQLOutputValue>;

type SqliteParameters = Readonly<Record<string, SQLInputValue>>;

/**
 * Prepares a statement and binds its parameters by position. For a statement of one row, Node takes as long to bind
 * them by name as SQLite takes to execute it.
 */
function prepare(database: DatabaseSync, sql: string): SqliteStatement {
  const names = parametersOf(sql);
  const statement = database.prepare(withParameters(sql, () => '?'));
  const toRow = rowMaker(statement);
  // Node rejects `undefined`, so no parameter can be forgotten.
  const values = (parameters: SqliteParameters) => names.map((name) => parameters[name] as SQLInputValue);
  return {
    run: (parameters = {}) => statement.run(...values(parameters)),
    get: (parameters = {}) => toRow(statement.get(...values(parameters))),
    all: (parameters = {}) => statement.all(...values(parameters)).map(toRow) as SqliteRow[],
  };
}

/** A statement whose rows are lists. */
export interface ListStatement<List> {
  get(...parameters: SQLInputValue[]): List | undefined;
  all(...parameters: SQLInputValue[]): List[];
}

/**
 * Makes a statement return each row as a list. If Node returns it as an object, V8 gives the object a hidden class of its
 * own, and compiles functions that read such rows again and again. Besides, lists are read in half the time.
 */
export function returningLists<List>(statement: StatementSync): ListStatement<List> {
  statement.setReturnArrays(true);
  const lists: unknown = statement;
  return lists as ListStatement<List>;
}

/**
 * Makes a statement return lists.
 * @returns a function that makes an object of a list, with the names of the columns
 */
export function rowMaker(statement: StatementSync): (list: unknown) => SqliteRow | undefined {
  returningLists(statement);
  const names = statement.columns().map(({ name }) => name);
  return (list) => {
    if (!Array.isArray(list)) return undefined;
    const row: SqliteRow = {};
    for (const [at, name] of names.entries()) row[name] = list[at];
    return row;
  };
}

const READ_SQL = {
  begin: 'BEGIN',
  // Changes with every commit of another connection. The first read of a transaction, so that it belongs to its
  // snapshot.
  version: 'PRAGMA data_version',
  end: 'COMMIT',
};

interface QueuedRead {
  readonly answer: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs the lookups of one handle. Taking and releasing SQLite's read lock costs more than finding a row, so the
 * lookups of one turn of the event loop share a transaction. It begins after the turn's requests have arrived, so
 * each sees everything that was committed before it was sent.
 *
 * A transaction begins and ends within one turn, as in the `WriteQueue` (ADR 28).
 */
export class ReadQueue implements Reads {
  readonly #sql: Readonly<Record<keyof typeof READ_SQL, SqliteStatement>>;
  readonly #database: DatabaseSync;
  readonly #writes: Pick<WriteQueue, 'commits'>;
  readonly #corruption: Corruption;
  readonly #numbers: EventNumbers | undefined;
  readonly #requireUsable: () => void;
  readonly #waiting: QueuedRead[] = [];
  #version: SQLOutputValue | undefined;
  #commits = 0;
  #stateNumber = 0;

  /**
   * @param writes of the same connection, whose commits its own version does not count
   * @param given what the queue checks
   */
  constructor(database: DatabaseSync, writes: Pick<WriteQueue, 'commits'>, given: FileChecks = {}) {
    const { corruption, requireUsable, numbers } = fileChecks(database, given);
    this.#corruption = corruption;
    this.#numbers = numbers;
    this.#database = database;
    this.#writes = writes;
    this.#requireUsable = requireUsable;
    this.#sql = prepareAll(database, READ_SQL);
  }

  read<T>(look: () => T): Promise<T> {
    return new Promise((resolve, rejectAs) => {
      const reject = (error: unknown) => rejectAs(asFault(withFile(this.#database, error)));
      const answer = () => {
        try {
          resolve(look());
        } catch (error) {
          this.#corruption.learn(error);
          reject(error);
        }
      };
      if (this.#waiting.push({ answer, reject }) === 1) setImmediate(this.#answerAll);
    });
  }

  get stateNumber(): number {
    return this.#stateNumber;
  }

  #requireOwnFile(): void {
    this.#requireUsable();
    this.#numbers?.requireNewest();
  }

  readonly #answerAll = (): void => {
    const reads = this.#waiting.splice(0);
    try {
      this.#corruption.requireNone();
      this.#sql.begin.run();
      this.#followState();
      for (const { answer } of reads) answer();
      this.#sql.end.run();
    } catch (error) {
      this.#corruption.learn(error);
      for (const { reject } of reads) reject(error);
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  };

  #followState(): void {
    const version = this.#sql.version.get()?.data_version;
    if (version === this.#version && this.#writes.commits === this.#commits) return;
    // Each own write has checked the tables already.
    if (version !== this.#version) this.#requireOwnFile();
    this.#stateNumber += 1;
    [this.#version, this.#commits] = [version, this.#writes.commits];
  }
}

/** The maximum number of writes in one transaction, which blocks the event loop. */
const MAX_WRITES_PER_COMMIT = 128;

/**
 * The maximum number of turns of the event loop for which writes gather. A request takes several turns before it
 * writes, and a commit blocks all of them, so requests under way should share it.
 */
const MAX_TURNS_TO_GATHER = 8;

/** The maximum number of milliseconds for which a write waits for as many others as shared the last transactions. */
const MAX_WAIT_FOR_OTHERS_MS = 8;

/**
 * The longest pause between two attempts to take the write lock, in milliseconds; the first pauses are shorter. An
 * attempt is cheap, and the gap between two writes of a busy process is short.
 */
const MAX_PAUSE_MS = 5;

const SAVEPOINT_SQL = {
  begin: 'SAVEPOINT one_write',
  keep: 'RELEASE one_write',
  undo: 'ROLLBACK TO one_write',
};

interface QueuedWrite {
  /**
   * Does the work in the open transaction. @returns a function that resolves the caller's promise, once it is durable
   */
  readonly perform: () => () => void;
  readonly reject: (reason: unknown) => void;
  readonly queuedAtMs: number;
}

/**
 * Runs the writes of one handle, in the order of their calls. While another process writes, they wait in the event
 * loop. Writes that have gathered share one transaction, and so one flush of the disk. None resolves before its
 * commit.
 *
 * A transaction begins and ends within one turn: another handle of this process, which blocks the thread while it
 * waits for the lock, could otherwise never get it (ADR 12).
 */
export class WriteQueue {
  readonly #database: DatabaseSync;
  readonly #busyTimeoutMs: number;
  readonly #savepoint: Readonly<Record<keyof typeof SAVEPOINT_SQL, SqliteStatement>>;
  readonly #requireUsable: () => void;
  readonly #corruption: Corruption;
  readonly #waiting: QueuedWrite[] = [];
  #isDraining = false;
  #commits = 0;
  /** How many writes the next transaction probably gets: as many as the last ones had. */
  #expected = 1;
  /** How long the last transaction took. */
  #lastTookMs = 0;
  /** Called when as many writes wait as are expected. */
  #onExpected = () => {};
  /**
   * Whether one of the writes that wait first has failed, so that the last transaction wrote none of them. Only then do
   * savepoints tell which one it is. They copy each page that a write changes, which makes writes 7 % slower, and most
   * never fail.
   */
  #hasOneFailed = false;

  /**
   * @param busyTimeoutMs how long a write waits for another process's, in milliseconds
   * @param given what the queue checks
   */
  constructor(database: DatabaseSync, busyTimeoutMs: number, given: FileChecks = {}) {
    const { corruption, requireUsable } = fileChecks(database, given);
    this.#corruption = corruption;
    this.#database = database;
    this.#busyTimeoutMs = Math.trunc(busyTimeoutMs);
    this.#savepoint = prepareAll(database, SAVEPOINT_SQL);
    this.#requireUsable = requireUsable;
  }

  readonly transaction: Transaction = (work) =>
    new Promise((resolve, rejectAs) => {
      const reject = (error: unknown) => rejectAs(asRejection(withFile(this.#database, error)));
      const perform = () => {
        const result = work();
        return () => resolve(result);
      };
      this.#waiting.push({ perform, reject, queuedAtMs: performance.now() });
      if (!this.#isDraining) void this.#drain();
      else if (this.#waiting.length >= this.#expected) this.#onExpected();
    });

  /** Transactions with the origin of each change, which is asked for when the write begins. */
  transactionOf(audit?: Pick<AuditOptions, 'originOf'>, host?: HostCondition): TransactionOfOrigin {
    return (work) => {
      // Not inside the transaction, which runs in the context of an earlier write.
      const [origin, condition] = [audit?.originOf(), host?.now()];
      return this.transaction(() => work(origin, condition && host?.require(condition)));
    };
  }

  /** The number of transactions so far; the last one may not have been committed. */
  get commits(): number {
    return this.#commits;
  }

  /** The number of writes that wait for their commit. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Rejects the writes that still wait. */
  close(): void {
    rejectAll(this.#waiting.splice(0), new Error('the database was closed before this was written'));
  }

  /** Never rejects: a failure rejects its writes. */
  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (let refusals = 0; this.#waiting.length > 0; ) {
      if (refusals === 0) await this.#gather();
      refusals = this.#writeSome() ? 0 : refusals + 1;
      if (refusals > 0) await pause(pauseAfter(refusals));
    }
    this.#isDraining = false;
  }

  /**
   * Lets further writes join: until there are as many as in the last transactions, but no longer than the last one
   * took, and then as long as each turn brings some.
   */
  async #gather(): Promise<void> {
    if (this.#waiting.length < this.#expected) await this.#waitForExpected();
    let gathered = 0;
    for (let turn = 0; turn < MAX_TURNS_TO_GATHER; turn++) {
      if (this.#waiting.length === gathered || this.#waiting.length >= MAX_WRITES_PER_COMMIT) return;
      gathered = this.#waiting.length;
      await nextTurn();
    }
  }

  #waitForExpected(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(this.#lastTookMs, MAX_WAIT_FOR_OTHERS_MS));
      this.#onExpected = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** @returns whether it had the write lock */
  #writeSome(): boolean {
    try {
      this.#corruption.requireNone();
      this.#takeWriteLock();
    } catch (error) {
      this.#corruption.learn(error);
      const lost = isBusy(error) ? this.#countOverdue() : this.#waiting.length;
      rejectAll(this.#waiting.splice(0, lost), error);
      return false;
    }
    const writes = this.#waiting.splice(0, MAX_WRITES_PER_COMMIT);
    const isSecond = this.#hasOneFailed;
    let answers: readonly (() => void)[] = [];
    this.#commits += 1;
    const begunAtMs = performance.now();
    try {
      committed(this.#database, () => {
        this.#requireUsable();
        answers = writes.map((write) => (isSecond ? this.#attempt(write) : write.perform()));
      });
      for (const answer of answers) answer();
      this.#hasOneFailed = false;
    } catch (error) {
      this.#corruption.learn(error);
      this.#hasOneFailed = !isSecond && answers.length === 0 && writes.length > 1;
      if (this.#hasOneFailed) this.#waiting.unshift(...writes);
      else rejectAll(writes, error);
    }
    this.#lastTookMs = performance.now() - begunAtMs;
    this.#expected = Math.max(writes.length, Math.floor((this.#expected + writes.length) / 2));
    return true;
  }

  /** Without SQLite's own wait, which would block the thread. Reads keep it, since they may wait for a recovery. */
  #takeWriteLock(): void {
    this.#database.exec('PRAGMA busy_timeout = 0');
    try {
      this.#database.exec('BEGIN IMMEDIATE');
    } finally {
      this.#database.exec(`PRAGMA busy_timeout = ${this.#busyTimeoutMs}`);
    }
  }

  /** One write of several. If it throws, only its own changes are undone. */
  #attempt({ perform, reject }: QueuedWrite): () => void {
    this.#savepoint.begin.run();
    try {
      const answer = perform();
      this.#savepoint.keep.run();
      return answer;
    } catch (error) {
      this.#corruption.learn(error);
      if (!this.#database.isTransaction) throw error; // the writes before it are undone as well
      this.#savepoint.undo.run();
      this.#savepoint.keep.run();
      return () => reject(error);
    }
  }

  /** How many of the first writes have waited as long as they may. */
  #countOverdue(): number {
    const overdueSinceMs = performance.now() - this.#busyTimeoutMs;
    const inTime = this.#waiting.findIndex(({ queuedAtMs }) => queuedAtMs > overdueSinceMs);
    return inTime === -1 ? this.#waiting.length : inTime;
  }
}

function rejectAll(writes: readonly QueuedWrite[], reason: unknown): void {
  for (const { reject } of writes) reject(reason);
}

/** Random, so that processes that wait for the same lock do not collide again and again. */
function pauseAfter(refusals: number): number {
  return Math.min(2 ** refusals, MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/**
 * Runs `work` immediately as one write transaction. It takes the write lock first, so that no check reads stale data.
 * The whole thread waits while another process writes.
 * @returns once all of it is durable; if this throws, nothing has changed or the outcome is unknown
 */
export function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  return committed(database, work);
}

/** Runs `work` in the open transaction and commits it, as `inTransaction` does. */
export function committed<T>(database: DatabaseSync, work: () => T): T {
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite itself rolls back after some errors, such as a full disk.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Primary result codes of a disk that does not work or is full: SQLITE_IOERR and SQLITE_FULL. */
const DISK_CODES = [10, 13];

/** SQLite's messages about the disk do not name the file. @returns the error, or one that names it */
function withFile(database: DatabaseSync, error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error)) return error;
  if (!DISK_CODES.includes(Number(error.errcode) % 256)) return error;
  const advice = 'look whether the disk is full, or broken';
  return new Error(`${database.location?.() ?? 'the database'}: ${error.message}: ${advice}`, {
    cause: error,
  });
}

/** Primary result codes of a damaged file: SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED = [11, 26];

/** Deno reports no codes, so the text is compared there (`sqlite3_errstr`). */
const DAMAGED_TEXTS = ['database disk image is malformed', 'file is not a database'];

/**
 * Whether a file was found corrupt. One damaged page says nothing about the others: a lookup that reads none of them
 * may miss a row. After the first such error, nothing is read or written any more.
 */
export class Corruption {
  readonly #onFound: (error: Error) => void;
  #found: Error | undefined;

  /** @param onFound called once, with SQLite's error */
  constructor(onFound: (error: Error) => void = () => {}) {
    this.#onFound = onFound;
  }

  get isFound(): boolean {
    return this.#found !== undefined;
  }

  /** @throws Error if the file was found corrupt */
  requireNone(): void {
    if (this.#found !== undefined)
      throw new Error(`the database file is corrupt: ${this.#found.message}`, { cause: this.#found });
  }

  /** @param error an error of a statement on the file */
  learn(error: unknown): void {
    if (this.#found !== undefined || !(error instanceof Error) || !isDamage(error)) return;
    this.#found = error;
    this.#onFound(error);
  }
}

const LAST_NUMBERS = `
  SELECT total(max(last_event_sequence,
    coalesce((SELECT max(sequence) FROM events WHERE issuer_id = issuers.id), 0))) AS last FROM issuers`;

/** The sum of the last numbers of all issuers, which no write lowers. */
export function lastNumbersIn(database: DatabaseSync): number {
  return Number(database.prepare(LAST_NUMBERS).get()?.last);
}

/**
 * Notices that an older copy was restored into a file while it was open, because it has fewer events. What it says about
 * tokens is outdated.
 */
export class EventNumbers {
  readonly #last: SqliteStatement;
  #known = 0;
  #isOlder = false;

  constructor(database: DatabaseSync) {
    this.#last = prepare(database, LAST_NUMBERS);
    this.isOlder();
  }

  /** @param found what another connection reads. Default: what this one reads now */
  isOlder(found = Number(this.#last.get()?.last)): boolean {
    if (found < this.#known) this.#isOlder = true;
    this.#known = Math.max(this.#known, found);
    return this.#isOlder;
  }

  /** @throws Error if an older copy was restored */
  requireNewest(): void {
    if (this.isOlder())
      throw new Error('an older copy was restored into the database file while it was open');
  }
}

/** What a queue checks before it reads or writes. */
interface FileChecks {
  /** Shared by everything that reads and writes the file. */
  readonly corruption?: Corruption;
  /** Looked at after a commit of another connection. Default: not at all. */
  readonly numbers?: EventNumbers;
  /** Throws once the file's tables can no longer be used; called inside a transaction. */
  readonly requireUsable?: () => void;
}

function fileChecks(
  database: DatabaseSync,
  { corruption = new Corruption(), requireUsable = requireUsableTables(database), numbers }: FileChecks,
): FileChecks & Required<Omit<FileChecks, 'numbers'>> {
  return { corruption, requireUsable, ...(numbers && { numbers }) };
}

function isDamage(error: Error): boolean {
  return 'errcode' in error
    ? DAMAGED.includes(Number(error.errcode) % 256)
    : DAMAGED_TEXTS.includes(error.message);
}

/**
 * A newer program may migrate a file while others have it open. If they cannot use the new tables, their statements fail
 * or mean something else.
 * @param tables the store's, or a host's as well
 * @returns a function that throws once the file's tables can no longer be used; call it inside a transaction
 */
export function requireUsableTables(
  database: DatabaseSync,
  tables: readonly SqliteTables[] = [SQLITE_STORE_TABLES],
): () => void {
  const statements = tables.map(({ version }) => prepare(database, version));
  const versionsNow = () => statements.map((statement) => statement.get()?.user_version).join('.');
  let known = versionsNow();
  return () => {
    const now = versionsNow();
    if (now === known) return;
    if (!tables.every(({ stateIn, migrations }) => canUse(stateIn(database), migrations)))
      throw new Error(
        `the database was migrated from schema ${known} to ${now} while it was open: the program has to be started again`,
      );
    known = now;
  };
}
