import { createHash } from 'node:crypto';
import type { Pool, QueryConfig, QueryResult } from 'pg';
import { askStorage } from './ask_storage.ts';

/** What a pooler that gives each transaction another connection answers to prepared statements that it does not know. */
const NOT_PREPARED: ReadonlySet<unknown> = new Set(['26000', '42P05']);

/** A query whose connection is cut where its answer does not come in time. */
export interface TimedQuery extends QueryConfig<unknown[]> {
  /** Milliseconds. */
  readonly query_timeout: number;
}

/** Asks one statement, on any connection. Rejects with a `StorageFault`. */
export type AskPostgres = (text: string, ...values: unknown[]) => Promise<QueryResult<Row>>;

export type Row = Readonly<Record<string, unknown>>;

/** Single statements over a pool, each prepared once for a connection, and answered or rejected in time. */
export function postgresStatements(pool: Pool, statementTimeoutMs: number): AskPostgres {
  const names = new Map<string, string>();
  let isPrepared = true;

  const nameOf = (text: string): string => {
    const known = names.get(text);
    if (known !== undefined) return known;
    // Of the text, so that processes of two versions that share a pooler's connections mean the same by a name.
    const name = `grantd_program_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
    names.set(text, name);
    return name;
  };
  const ask = (text: string, values: unknown[]): Promise<QueryResult<Row>> => {
    const query: TimedQuery = {
      ...(isPrepared && { name: nameOf(text) }),
      text,
      values,
      query_timeout: statementTimeoutMs,
    };
    return answer(pool, query);
  };

  return (text, ...values) =>
    askStorage(async () => {
      const wasPrepared = isPrepared;
      try {
        return await ask(text, values);
      } catch (error) {
        if (!wasPrepared || !isNotPrepared(error)) throw error;
        // Nothing has happened yet: the statement was not even bound.
        isPrepared = false;
        return ask(text, values);
      }
    });
}

/** SQLSTATE of warnings, and of interventions by an operator. */
const WARNING = /^(01|57)/;

/**
 * @throws {Error} where the server warned beside its answer, too: that a commit "might not have been replicated" is said
 * in this way
 */
async function answer(pool: Pool, query: TimedQuery): Promise<QueryResult<Row>> {
  const client = await pool.connect();
  let isSound = false;
  let warning: string | undefined;
  const onNotice = ({ code, message }: { code?: string | undefined; message?: string | undefined }) => {
    if (WARNING.test(code ?? '')) warning ??= message ?? code;
  };
  client.on('notice', onNotice);
  try {
    const result = await client.query<Row, unknown[]>(query);
    if (warning !== undefined) throw new Error(`PostgreSQL warned: ${warning}`);
    isSound = true;
    return result;
  } finally {
    client.off('notice', onNotice);
    client.release(!isSound);
  }
}

function isNotPrepared(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_PREPARED.has(error.code);
}
