export interface Deadlines {
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
