// The minimum that a Node server can do with PostgreSQL: it reads the whole request, finds tokens with a prepared
// statement, one after another, commits a row if it is told to, and sends a fixed response. The file contains everything else; the password is in PGPASSWORD.
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
  /** Lookups per request. */
  readonly lookUps: number;
  /** A statement that commits a row, with a token as its parameter. It comes last. */
  readonly write?: { readonly name: string; readonly text: string };
}

const [port = '', file = ''] = process.argv.slice(2);
const { answer, database, connections, lookUp, issuerId, ids, lookUps, write }: BarePostgresOrder =
  JSON.parse(readFileSync(file, 'utf8'));
const pool = new Pool({ connectionString: database, max: connections, keepAlive: true, pipeline: true });
let next = 0;

createServer((request, response) => {
  request.on('data', () => undefined);
  request.on('end', async () => {
    const id = ids[next++ % ids.length];
    let isFound = true;
    for (let made = 0; made < lookUps; made++) {
      const { rows } = await pool.query({ ...lookUp, values: [issuerId, id] });
      isFound &&= rows[0]?.id === id;
    }
    if (write !== undefined) await pool.query({ ...write, values: [id] });
    // A lookup of a missing token would do less work.
    response.writeHead(isFound ? answer.status : 500, answer.headers);
    response.end(answer.body);
  });
}).listen(Number(port), '127.0.0.1');
