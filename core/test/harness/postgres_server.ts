import { Client } from 'pg';

/** A server that answers, whoever runs it. */
export interface PostgresServer {
  /** Of its superuser, to the database `postgres`. */
  readonly url: string;
}

/** The role that owns the databases of tests: not a superuser, as in production. Its password is the superuser's. */
export const OWNER = 'grantd';

export type Row = Readonly<Record<string, unknown>>;

/** Asks as the superuser on a connection of its own. @throws after 30 seconds without an answer */
export async function ask({ url }: PostgresServer, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  });
  // A connection that breaks rejects what was asked on it; it also emits this, which nobody else would hear.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Row>(sql, values);
    return rows;
  } finally {
    await client.end();
  }
}

/** The same database behind another port, such as a pooler's. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.port = String(port);
  return through.href;
}
