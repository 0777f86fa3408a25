// The least that a server in Node can do with PostgreSQL: the same answer to everything, once the request has been read
// to its end and one prepared look-up has found a token. node bare_postgres.ts PORT FILE, where the file says
// everything else, and the password is in PGPASSWORD.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Pool } from 'pg';

/** What the file says. */
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
  /** One after the other is looked up. */
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
    // One whose token is not there would have looked up less.
    response.writeHead(rows[0]?.id === values[1] ? answer.status : 500, answer.headers);
    response.end(answer.body);
  });
}).listen(Number(port), '127.0.0.1');
