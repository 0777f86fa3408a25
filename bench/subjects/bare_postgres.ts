// The minimum that a Node server can do with PostgreSQL: it reads the whole request, finds a token with a prepared
// statement, and sends a fixed response. The file contains everything else; the password is in PGPASSWORD.
//
//     node bare_postgres.ts PORT FILE
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Pool } from 'pg';

/** The content of the file. */
export interface BarePostgresOrder {
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly database: string;
  readonly connections: number;
  readonly lookUp: { readonly name: string; readonly text: string };
  readonly issuerId: number;
  /** Looked up in turn. */
  readonly ids: readonly string[];
}

const [port = '', file = ''] = process.argv.slice(2);
const { answer, database, connections, lookUp, issuerId, ids }: BarePostgresOrder = JSON.parse(
  readFileSync(file, 'utf8'),
);
const pool = new Pool({ connectionString: database, max: connections, keepAlive: true, pipeline: true });
let next = 0;

createServer((request, response) => {
  request.on('data', () => undefined);
  request.on('end', async () => {
    const values = [issuerId, ids[next++ % ids.length]];
    const { rows } = await pool.query({ ...lookUp, values });
    // A lookup of a missing token would do less work.
    response.writeHead(rows[0]?.id === values[1] ? answer.status : 500, answer.headers);
    response.end(answer.body);
  });
}).listen(Number(port), '127.0.0.1');
