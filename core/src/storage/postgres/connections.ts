import { sha256 } from '#hashing';

/** What the second half of a transaction sends, and what its results mean. */
export interface Continuation<T> {
  readonly calls: readonly PostgresCall[];
  readonly outcome: (results: readonly PostgresResult[]) => T;
}

/** A second half in which nothing is left to do. */
export function ended<T>(outcome: T): Continuation<T> {
  return { calls: [], outcome: () => outcome };
}

/**
 * Server errors after which nothing has happened and a new attempt may succeed. A statement looks for a taken name
 * itself; that a unique index refuses it (23505) means that another transaction took the name after the look.
 */
const LOST_RACE: ReadonlySet<string> = new Set(['40001', '40P01', '23505']);

/** What a pooler that gives each transaction another connection answers to prepared statements that it does not know. */
const NOT_PREPARED: ReadonlySet<string> = new Set(['26000', '42P05']);

/**
 * Whatever the role or the server was told since the start: a commit is flushed, and confirmed by a synchronous standby;
 * and that it was not is said in a warning.
 */
const DURABLE_AND_OUTSPOKEN =
  "SELECT set_config('synchronous_commit', 'on', true) " +
  "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'); " +
  'SET LOCAL client_min_messages = warning';

const MOST_ATTEMPTS = 5;

/**
 * Statements over a pool, each answered or rejected within its deadline; for the store, and for the tables that a host
 * keeps beside it. Whatever goes wrong on a connection, it is closed: the server then rolls back what was begun on it,
 * and nobody meets its late answers. What failed without having happened, as after a deadlock, is attempted again, and
 * a pooler that knows no prepared statements is asked without them.
 *
 * Every method rejects where PostgreSQL cannot be asked, does not answer in time, or answers with an error. In results
 * integers are numbers, booleans are booleans, and all else is text.
 */
export class PostgresConnections {
  readonly #pool: PostgresPool;
  readonly #deadlines: Deadlines;
  readonly #begin: string;
  #isPrepared = true;
  #isClosed = false;

  constructor(pool: PostgresPool, deadlines: PostgresDeadlines = {}) {
    this.#pool = pool;
    this.#deadlines = deadlinesOf(deadlines);
    const ms = Math.ceil(this.#deadlines.statementTimeoutMs);
    // A process that is stopped in the middle must not keep its locks from the others for longer than a caller waits.
    this.#begin =
      `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${DURABLE_AND_OUTSPOKEN}; ` +
      `SET LOCAL lock_timeout = ${ms}; SET LOCAL idle_in_transaction_session_timeout = ${ms}`;
  }

  /** Over the same pool, for what may take longer. @param statementTimeoutMs milliseconds */
  withStatementTimeout(statementTimeoutMs: number): PostgresConnections {
    return new PostgresConnections(this.#pool, { ...this.#deadlines, statementTimeoutMs });
  }

  /** A statement that only reads. */
  async read(call: PostgresCall): Promise<PostgresResult> {
    return this.readBelieved(
      () => call,
      () => {},
    );
  }

  /**
   * As `read`, where the answer also tells whether its server is still to be believed.
   * @param callOf says what to read once there is a connection; asked again, and for the same, at each attempt
   * @param requireBelieved throws where it is not: its connection is closed then, and not met again
   */
  async readBelieved(
    callOf: () => PostgresCall,
    requireBelieved: (result: PostgresResult) => void,
  ): Promise<PostgresResult> {
    return this.#attempt(async (client) => {
      const call = callOf();
      const result = only((await this.#flight(client, [() => this.#query(client, call)]))[0]);
      requireBelieved(result);
      return result;
    });
  }

  /**
   * Statements as one transaction, sent at once. Resolves with a result for each once it is durable; where it rejects,
   * its outcome may be unknown.
   */
  async write(calls: readonly PostgresCall[]): Promise<readonly PostgresResult[]> {
    return this.#attempt((client) =>
      watched(client, async () => {
        const [, ...results] = await this.#flight(client, [
          () => client.query({ text: this.#begin }),
          ...calls.map((call) => () => this.#query(client, call)),
          () => client.query({ text: 'COMMIT' }),
        ]);
        requireCommitted(results.pop());
        return results;
      }),
    );
  }

  /** A transaction in two halves: `next` sees what the first one found, and says what follows. */
  async transaction<T>(
    first: readonly PostgresCall[],
    next: (found: readonly PostgresResult[]) => Continuation<T>,
  ): Promise<T> {
    return this.#attempt((client) =>
      watched(client, async () => {
        const [, ...found] = await this.#flight(client, [
          () => client.query({ text: this.#begin }),
          ...first.map((call) => () => this.#query(client, call)),
        ]);
        const { calls, outcome } = next(found);
        const results = await this.#flight(client, [
          ...calls.map((call) => () => this.#query(client, call)),
          () => client.query({ text: 'COMMIT' }),
        ]);
        requireCommitted(results.pop());
        return outcome(results);
      }),
    );
  }

  /** A transaction of any number of steps, each of which waits for the one before it; attempted once. */
  async longTransaction(
    work: (run: (call: PostgresCall) => Promise<PostgresResult>) => Promise<void>,
  ): Promise<void> {
    const run = (client: PostgresClient) => async (call: PostgresCall) =>
      only((await this.#flight(client, [() => this.#query(client, call)]))[0]);
    return this.#once((client) =>
      watched(client, async () => {
        await this.#flight(client, [() => client.query({ text: this.#begin })]);
        await work(run(client));
        const [committed] = await this.#flight(client, [() => client.query({ text: 'COMMIT' })]);
        requireCommitted(committed);
      }),
    );
  }

  /** Ends all use; the pool itself is its owner's to end. */
  close(): void {
    this.#isClosed = true;
  }

  /** Again where nothing has happened and it may go well the next time. */
  async #attempt<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(work);
      } catch (error) {
        const code = sqlState(error);
        if (NOT_PREPARED.has(code)) this.#isPrepared = false;
        else if (!LOST_RACE.has(code)) throw error;
        if (attempt === MOST_ATTEMPTS) throw error;
        // Random, so that those who lost against each other do not meet again.
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

  /** Sends queries in order, without waiting in between where the connection is made for that. */
  #flight(
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

/** The rows of a result; their shape is the statement's to know. */
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

/** A transaction that failed answers COMMIT with ROLLBACK, and no error. */
function requireCommitted(result: PostgresResult | undefined): void {
  if (result?.command !== 'COMMIT') throw new Error(`PostgreSQL answered COMMIT with ${result?.command}`);
}

/** Empty where the error is not the server's. */
function sqlState(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** A connection out of the pool, which must be given back. */
function checkOut(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error('the pool gave no connection'));
      client.on('error', heardByItsQueries);
      resolve(client);
    });
  });
}

/** @param isSound whether others may use it; it is closed otherwise */
function giveBack(client: PostgresClient, isSound: boolean): void {
  client.off('error', heardByItsQueries);
  client.release(!isSound);
}

/** A connection that is lost says so to its queries, and once more to whoever listens: nobody at all ends the process. */
function heardByItsQueries(): void {}

/** SQLSTATE of warnings, and of interventions by an operator. */
const WARNING = /^(01|57)/;

/**
 * Does a write, and rejects where the server warned meanwhile: that a commit "might not have been replicated" is said
 * in a warning beside its success, when the wait for a synchronous standby was cut short.
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
 * Waits for a promise, but not for ever.
 * @param ms milliseconds
 * @param omission what PostgreSQL failed to do, for the error
 * @throws Error once the time has passed; what comes of the promise afterwards is of no interest
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
  /** Milliseconds for getting a connection, a new one included. */
  readonly connectionTimeoutMs: number;
  /** Milliseconds for the answer to what was sent at once. */
  readonly statementTimeoutMs: number;
}

export interface PostgresDeadlines {
  /** How long to wait for a connection, a new one included, in milliseconds; 2000 unless said otherwise. */
  readonly connectionTimeoutMs?: number;
  /** How long to wait for an answer, in milliseconds; 5000 unless said otherwise. The outcome of a write is unknown then. */
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

/** What the store needs of a pool: `Pool` of `pg` fits, and whatever is made in its likeness. */
export interface PostgresPool {
  /**
   * Calls back in the moment in which the pool lets go of a connection: one that is lost says so to whoever listens, and
   * a promise would be heard too late.
   */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** A connection that is ours until it is released. */
export interface PostgresClient {
  /** Set where statements may be sent before the former ones are answered (`pg`: `new Pool({ pipeline: true })`). */
  readonly pipeline?: boolean;
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** @param destroy closes the connection instead of keeping it for others */
  release(destroy?: boolean): void;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PostgresQuery {
  /** Prepared once for each connection under this name; absent where it is not prepared. */
  name?: string;
  text: string;
  values?: unknown[];
  types?: PostgresTypes;
}

/** How values come out of their text; asked for each column by the object identifier of its type. */
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

/** The types of our own columns, whatever else the pool has been taught for them. */
export const TYPES: PostgresTypes = {
  getTypeParser(oid) {
    if (INTEGERS.has(oid)) return Number;
    return oid === BOOLEAN ? (text) => text === 't' : String;
  },
};

/** A statement as it is written, under the name by which a connection keeps it prepared. */
export interface PostgresStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement with the values of its parameters, `$1` first. */
export type PostgresCall = readonly [PostgresStatement, ...values: unknown[]];

/** A statement that is not prepared: one that runs once, or several in one text. */
export function unnamed(text: string): PostgresStatement {
  return { name: '', text };
}

/**
 * Gives each statement a name that follows from its text: connections that a pooler hands from one process to
 * another, of another version perhaps, never mean something else by it.
 */
export async function namedStatements<Key extends string>(
  statements: Readonly<Record<Key, string>>,
): Promise<Readonly<Record<Key, PostgresStatement>>> {
  const entries = Object.entries<string>(statements).map(
    async ([key, text]) => [key, { name: `grantd_${(await sha256(text)).slice(0, 22)}`, text }] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<Key, PostgresStatement>;
}

/** Whether PostgreSQL can hold a text at all: what it cannot hold is not there. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}
