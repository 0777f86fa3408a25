// Runs statements over a pool of PostgreSQL connections, with deadlines and retries.
import { sha256 } from '#crypto';

/** The second half of a transaction: what it sends, and what its results mean. */
export interface Continuation<T> {
  readonly calls: readonly PostgresCall[];
  readonly outcome: (results: readonly PostgresResult[]) => T;
}

/** A second half without statements. */
export function ended<T>(outcome: T): Continuation<T> {
  return { calls: [], outcome: () => outcome };
}

/**
 * Server errors after which nothing has happened and a new attempt may succeed. Statements check for taken names
 * themselves, so a violation of a unique index (23505) means that another transaction took the name after the check.
 */
const LOST_RACE: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);

/** Errors of a pooler that gives each transaction another connection and so does not know the prepared statement. */
const NOT_PREPARED: ReadonlySet<string> = new Set(['26000', '42P05']);

/** A function of `schema.ts` cannot be a transaction by itself: the role's defaults are not those that it needs. */
export const NEEDS_BEGIN = 'GRTD1';

/** The same, and that the transaction is read-only. */
const NEED_BEGIN: ReadonlySet<string> = new Set([NEEDS_BEGIN, '25006']);

/**
 * How long the writes of several callers wait for each lock. Less than PostgreSQL's `deadlock_timeout`, since they wait
 * for each other's locks as well.
 */
const SHARED_LOCK_TIMEOUT = '100ms';

const NEVER: ReadonlySet<string> = new Set();

/**
 * With any settings of the role or server, a commit is flushed and confirmed by a synchronous standby, and
 * the server warns if it was not.
 */
const DURABLE_AND_OUTSPOKEN =
  "SELECT set_config('synchronous_commit', 'on', true) " +
  "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'); " +
  'SET LOCAL client_min_messages = warning';

const MAX_ATTEMPTS = 5;

/**
 * Runs statements over a pool, each within its deadline, for the store and for tables that a host keeps next to it.
 * It closes the connection after any error, so that the server rolls back and no later statement receives a late
 * result. It retries what failed without an effect, as after a deadlock. If a pooler does not support prepared
 * statements, it sends them unprepared.
 *
 * Every method rejects if PostgreSQL is unreachable, does not respond in time, or returns an error. In results,
 * integers are numbers, booleans are booleans, and everything else is text (ADR 65).
 */
export class PostgresConnections {
  readonly #pool: PostgresPool;
  readonly #deadlines: Deadlines;
  readonly #lockTimeout: string;
  readonly #limits: string;
  readonly #begin: string;
  readonly #condition: () => string | undefined;
  #isPrepared = true;
  #needsBegin = false;
  #isClosed = false;

  /** @param condition returns SQL with which a transaction begins, called in the context of its caller */
  constructor(
    pool: PostgresPool,
    deadlines: PostgresDeadlines = {},
    condition: () => string | undefined = () => undefined,
  ) {
    this.#pool = pool;
    this.#condition = condition;
    this.#deadlines = deadlinesOf(deadlines);
    const ms = Math.ceil(this.#deadlines.statementTimeoutMs);
    this.#lockTimeout = `${ms}ms`;
    // A process that is paused inside a transaction must not hold its locks for longer than a caller waits.
    this.#limits = `SET LOCAL lock_timeout = ${ms}; SET LOCAL idle_in_transaction_session_timeout = ${ms}`;
    this.#begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${DURABLE_AND_OUTSPOKEN}; ${this.#limits}`;
  }

  /** The same pool with another timeout, for slow statements. @param statementTimeoutMs milliseconds */
  withStatementTimeout(statementTimeoutMs: number): PostgresConnections {
    return new PostgresConnections(this.#pool, { ...this.#deadlines, statementTimeoutMs }, this.#condition);
  }

  /** A statement that only reads. */
  async read(call: PostgresCall): Promise<PostgresResult> {
    return this.readBelieved(
      () => call,
      () => {},
    );
  }

  /**
   * As `read`, if the result also shows whether its server can still be trusted.
   * @param callOf returns the statement once there is a connection; each attempt calls it again and gets the same
   * @param requireBelieved throws if the server cannot be trusted; its connection is then closed
   */
  async readBelieved(
    callOf: () => PostgresCall,
    requireBelieved: (result: PostgresResult) => void,
  ): Promise<PostgresResult> {
    return this.#attempt(async (client) => {
      const call = callOf();
      const result = only((await this.#send(client, [() => this.#query(client, call)]))[0]);
      requireBelieved(result);
      return result;
    });
  }

  /**
   * Sends statements as one transaction, at once. Resolves with a result for each once it is durable. If it rejects,
   * its outcome may be unknown.
   */
  async write(calls: readonly PostgresCall[]): Promise<readonly PostgresResult[]> {
    return this.#write(this.#beginning(), calls, LOST_RACE);
  }

  /** As `write`, without the condition of the caller, for what other callers wait for too. */
  async writeForAll(calls: readonly PostgresCall[]): Promise<readonly PostgresResult[]> {
    return this.#write(this.#begin, calls, LOST_RACE);
  }

  /** Milliseconds to wait for a connection. */
  get connectionTimeoutMs(): number {
    return this.#deadlines.connectionTimeoutMs;
  }

  async #write(
    begin: string,
    calls: readonly PostgresCall[],
    retried: ReadonlySet<string>,
  ): Promise<readonly PostgresResult[]> {
    return this.#attempt(
      (client) =>
        watched(client, async () => {
          const [, ...results] = await this.#send(client, [
            () => client.query({ text: begin }),
            ...calls.map((call) => () => this.#query(client, call)),
            () => client.query({ text: 'COMMIT' }),
          ]);
          requireCommitted(results.pop());
          return results;
        }),
      retried,
    );
  }

  /** Whether the transactions of this caller begin with a condition, which those of others do not. */
  get hasCondition(): boolean {
    return this.#condition() !== undefined;
  }

  /**
   * Calls a function that is a whole write. It needs no `BEGIN` and `COMMIT`, unless there is a condition or the role's
   * defaults differ (ADR 208).
   * @param call of functions of `schema.ts`, without the last parameter
   * @param scope whose writes: of several callers, which wait for locks only shortly and are not retried; of one; or of
   *   this one with its condition
   */
  async writeOnce(
    [statement, ...values]: PostgresCall,
    scope: 'shared' | 'single' | 'conditional',
  ): Promise<PostgresResult> {
    const isShared = scope === 'shared';
    const whole: PostgresCall = [statement, ...values, isShared ? SHARED_LOCK_TIMEOUT : this.#lockTimeout];
    const retried = isShared ? NEVER : LOST_RACE;
    const begin = scope === 'conditional' ? this.#beginning() : this.#begin;
    const isPlain = begin === this.#begin;
    if (isPlain && !this.#needsBegin) {
      try {
        return await this.#attempt(
          (client) =>
            watched(client, async () =>
              only((await this.#send(client, [() => this.#query(client, whole)]))[0]),
            ),
          retried,
        );
      } catch (error) {
        if (!NEED_BEGIN.has(sqlState(error))) throw error;
      }
    }
    const [result] = await this.#write(begin, [whole], retried);
    if (isPlain) this.#needsBegin = true;
    return only(result);
  }

  /** A transaction in two halves: `next` receives the results of the first and returns the second. */
  async transaction<T>(
    first: readonly PostgresCall[],
    next: (found: readonly PostgresResult[]) => Continuation<T>,
  ): Promise<T> {
    const begin = this.#beginning();
    return this.#attempt((client) =>
      watched(client, async () => {
        const [, ...found] = await this.#send(client, [
          () => client.query({ text: begin }),
          ...first.map((call) => () => this.#query(client, call)),
        ]);
        const { calls, outcome } = next(found);
        const results = await this.#send(client, [
          ...calls.map((call) => () => this.#query(client, call)),
          () => client.query({ text: 'COMMIT' }),
        ]);
        requireCommitted(results.pop());
        return outcome(results);
      }),
    );
  }

  /**
   * A transaction of any number of steps, each of which waits for the one before. It is attempted once.
   * @param snapshot of another transaction, so that this one sees the same; it rejects (40001) if it would change or lock
   *   a row that has changed since
   */
  async longTransaction(work: (run: RunStep) => Promise<void>, snapshot?: string): Promise<void> {
    const begin =
      snapshot === undefined
        ? this.#begin
        : `BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET TRANSACTION SNAPSHOT '${snapshot}'; ` +
          `${DURABLE_AND_OUTSPOKEN}; ${this.#limits}`;
    await this.#inSteps(begin, work);
  }

  /** As `longTransaction`, without changes. Every step sees the same state. */
  async snapshot(work: (run: RunStep) => Promise<void>): Promise<void> {
    await this.#inSteps(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${this.#limits}`, work);
  }

  async #inSteps(begin: string, work: (run: RunStep) => Promise<void>): Promise<void> {
    return this.#once((client) =>
      watched(client, async () => {
        await this.#send(client, [() => client.query({ text: begin })]);
        await work(async (call) => only((await this.#send(client, [() => this.#query(client, call)]))[0]));
        const [committed] = await this.#send(client, [() => client.query({ text: 'COMMIT' })]);
        requireCommitted(committed);
      }),
    );
  }

  #beginning(): string {
    const condition = this.#condition();
    return condition === undefined ? this.#begin : `${this.#begin}; ${condition}`;
  }

  /** Rejects all later calls. The pool's owner ends the pool. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Attempts again if nothing has happened and another attempt may succeed.
   * @param retried the SQLSTATEs of the server after which it may
   */
  async #attempt<T>(work: (client: PostgresClient) => Promise<T>, retried = LOST_RACE): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(work);
      } catch (error) {
        const code = sqlState(error);
        if (NOT_PREPARED.has(code)) this.#isPrepared = false;
        else if (!retried.has(code)) throw error;
        if (attempt === MAX_ATTEMPTS) throw error;
        // Random, so that transactions that collided do not collide again.
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * attempt));
      }
    }
  }

  async #once<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let isSound = false;
    try {
      const result = await work(client);
      isSound = true;
      return result;
    } finally {
      giveBack(client, isSound);
    }
  }

  async #connect(): Promise<PostgresClient> {
    if (this.#isClosed) throw new Error('the store is closed');
    const { connectionTimeoutMs } = this.#deadlines;
    const connecting = checkOut(this.#pool);
    try {
      return await within(connectionTimeoutMs, connecting, 'gave no connection');
    } catch (error) {
      connecting.then((late) => giveBack(late, true)).catch(() => undefined);
      throw error;
    }
  }

  /** Sends queries in order, and without waiting in between if the connection supports it. */
  #send(
    client: PostgresClient,
    queries: readonly (() => Promise<PostgresResult>)[],
  ): Promise<PostgresResult[]> {
    const answers =
      client.pipeline === true ? Promise.all(queries.map((query) => query())) : oneAfterAnother(queries);
    return within(this.#deadlines.statementTimeoutMs, answers, 'did not answer');
  }

  #query(client: PostgresClient, [{ name, text }, ...values]: PostgresCall): Promise<PostgresResult> {
    return client.query({ ...(this.#isPrepared && { name }), text, values, types: TYPES });
  }
}

/** The rows of a result. The caller knows their type from the statement. */
export function rowsOf<Row>(result: PostgresResult | undefined): readonly Row[] {
  return only(result).rows as readonly Row[];
}

/** How many rows a statement has changed. */
export function changesOf(result: PostgresResult | undefined): number {
  return only(result).rowCount ?? 0;
}

function only(result: PostgresResult | undefined): PostgresResult {
  if (result === undefined) throw new Error('PostgreSQL answered fewer statements than were sent');
  return result;
}

async function oneAfterAnother(
  queries: readonly (() => Promise<PostgresResult>)[],
): Promise<PostgresResult[]> {
  const results = [];
  for (const query of queries) results.push(await query());
  return results;
}

/** PostgreSQL answers COMMIT of a failed transaction with ROLLBACK, without an error. */
function requireCommitted(result: PostgresResult | undefined): void {
  if (result?.command !== 'COMMIT') throw new Error(`PostgreSQL answered COMMIT with ${result?.command}`);
}

/** Empty if the error is not from the server. */
export function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** A connection from the pool, which must be released. */
function checkOut(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error('the pool gave no connection'));
      client.on('error', heardByItsQueries);
      resolve(client);
    });
  });
}

/** @param isSound whether the connection can be used again; otherwise it is closed */
function giveBack(client: PostgresClient, isSound: boolean): void {
  client.off('error', heardByItsQueries);
  client.release(!isSound);
}

/** A lost connection rejects its queries and also emits `error`, which ends the process if it has no listener. */
function heardByItsQueries(): void {}

/** SQLSTATE of warnings, and of interventions by an operator. */
const WARNING = /^(01|57)/;

/**
 * Does a write, and rejects if the server warned meanwhile. When the wait for a synchronous standby is cut short, the
 * commit succeeds with the warning that it "might not have been replicated".
 */
export async function watched<T>(client: PostgresClient, write: () => Promise<T>): Promise<T> {
  let warning: PostgresNotice | undefined;
  const onNotice = (notice: PostgresNotice) => {
    if (WARNING.test(notice.code ?? '')) warning ??= notice;
  };
  client.on('notice', onNotice);
  try {
    const result = await write();
    if (warning !== undefined) throw new Error(`PostgreSQL warned during a write: ${warning.message}`);
    return result;
  } finally {
    client.off('notice', onNotice);
  }
}

/**
 * Waits for a promise for a limited time.
 * @param ms milliseconds
 * @param omission what PostgreSQL failed to do, for the error
 * @throws Error once the time has passed; the promise is ignored from then on
 */
export async function within<T>(ms: number, promise: Promise<T>, omission: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`PostgreSQL ${omission} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}

interface Deadlines {
  /** Milliseconds to wait for a connection, including a new one. */
  readonly connectionTimeoutMs: number;
  /** Milliseconds to wait for the results of statements that were sent together. */
  readonly statementTimeoutMs: number;
}

export interface PostgresDeadlines {
  /** Milliseconds to wait for a connection, including a new one. Default: 2000. */
  readonly connectionTimeoutMs?: number;
  /** Milliseconds to wait for a result. After that, the outcome of a write is unknown. Default: 5000. */
  readonly statementTimeoutMs?: number;
}

const DEFAULT_CONNECTION_TIMEOUT_MS = 2000;
const DEFAULT_STATEMENT_TIMEOUT_MS = 5000;

export function deadlinesOf({
  connectionTimeoutMs = DEFAULT_CONNECTION_TIMEOUT_MS,
  statementTimeoutMs = DEFAULT_STATEMENT_TIMEOUT_MS,
}: PostgresDeadlines): Deadlines {
  return { connectionTimeoutMs, statementTimeoutMs };
}

/** What the store needs of a pool: `Pool` of `pg`, or a compatible one. */
export interface PostgresPool {
  /**
   * Calls back at the moment when the pool hands over a connection. A promise would be too late to hear the `error`
   * event of a connection that is lost right away.
   */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** A connection from the pool until it is released. */
export interface PostgresClient {
  /** Whether statements can be sent before the results of earlier ones (`pg`: `new Pool({ pipeline: true })`). */
  readonly pipeline?: boolean;
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** @param destroy closes the connection instead of returning it to the pool */
  release(destroy?: boolean): void;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PostgresQuery {
  /** Each connection prepares the statement once under this name. Without a name it is not prepared. */
  name?: string;
  text: string;
  values?: unknown[];
  types?: PostgresTypes;
}

/** Parsers of values from text, by the object identifier of a column's type. */
interface PostgresTypes {
  getTypeParser(oid: number): (text: string) => unknown;
}

export interface PostgresResult {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
  readonly command: string;
}

interface PostgresNotice {
  /** SQLSTATE. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

const BOOLEAN = 16;
const INTEGERS: ReadonlySet<number> = new Set([20, 21, 23]);

/** The types of our own columns, also if the pool has other parsers. */
export const TYPES: PostgresTypes = {
  getTypeParser(oid) {
    if (INTEGERS.has(oid)) return Number;
    return oid === BOOLEAN ? (text) => text === 't' : String;
  },
};

/** A statement, and the name under which a connection keeps it prepared. */
export interface PostgresStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement with the values of its parameters, `$1` first. */
export type PostgresCall = readonly [PostgresStatement, ...values: unknown[]];

/** Runs one step of a transaction. */
type RunStep = (call: PostgresCall) => Promise<PostgresResult>;

/** An unprepared statement: one that runs once, or several in one text. */
export function unnamed(text: string): PostgresStatement {
  return { name: '', text };
}

/**
 * Derives the name of each statement from its text. A pooler may hand a connection from one process to another of
 * another version, and the name then still means the same statement.
 */
export async function namedStatements<Key extends string>(
  statements: Readonly<Record<Key, string>>,
): Promise<Readonly<Record<Key, PostgresStatement>>> {
  const entries = Object.entries<string>(statements).map(
    async ([key, text]) => [key, { name: `grantd_${(await sha256(text)).slice(0, 22)}`, text }] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<Key, PostgresStatement>;
}

/** Whether PostgreSQL can store a text. An identifier that it cannot store does not exist. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
