import { checkOut, giveBack } from './checkout.ts';
import { type Deadlines, deadlinesOf, type PostgresDeadlines } from './deadlines.ts';
import { type PostgresClient, type PostgresPool, type PostgresResult, TYPES } from './pool.ts';
import type { PostgresCall } from './statement.ts';
import { watched } from './watched.ts';
import { within } from './within.ts';

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
