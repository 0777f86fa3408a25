import { Client } from 'pg';

/** A running server. */
export interface PostgresServer {
  /** URL for its superuser, to the database `postgres`. */
  readonly url: string;
}

/** The owner of test databases: not a superuser, as in production. Its password is the superuser's. */
export const OWNER = 'grantd';

export type Row = Readonly<Record<string, unknown>>;

/**
 * Runs a query as the superuser on a new connection.
 * @throws after 30 seconds without a response
 */
export async function ask({ url }: PostgresServer, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  });
  // A broken connection rejects its queries. It also emits this event, which would be unhandled.
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
