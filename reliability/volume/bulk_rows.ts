import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Library } from '../deployments/library.ts';
import { CLIENTS } from '../load/registrations.ts';

/** Milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Fills an SQLite file with copies of rows that the library wrote: an opaque token of a client, and an opaque pair with
 * its grant. Each copy has its own keys. Those of tokens are spread like digests. Those of pairs, families and grants
 * start with the time, so they grow in order of issuance.
 */
export class BulkRows {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.function('spread', { deterministic: true }, (text) => spread(String(text)));
    // As in the library: milliseconds in base 36, then 128 bits.
    database.function(
      'timed',
      { deterministic: true },
      (ms, text) => Number(ms).toString(36) + spread(String(text)).slice(0, 22),
    );
  }

  /** Issues the tokens to copy. They stay alive. */
  async prepare({ opaque }: Pick<Library, 'opaque'>): Promise<void> {
    await opaque.operator.issueTokens({ clientId: CLIENTS.opaque.id });
    await opaque.operator.issueTokens({ clientId: CLIENTS.web.id, subject: 'somebody', refresh: true });
  }

  /**
   * Adds rows in one transaction: two sixths client tokens, two sixths pairs, one sixth principals of their grants, one
   * sixth rows of `grants`.
   * @param name distinguishes them from those of other calls
   * @param keepUntil seconds; the rows can be swept afterwards
   * @param issued the period of their issuance, evenly distributed; default: now
   */
  add(name: string, rows: number, keepUntil: number, issued: Span = now()): void {
    const sixth = Math.floor(rows / 6);
    const singles = rows - 4 * sixth;
    const pairsAtMs = timeOf(issued, sixth);
    const timed = (kind: string) => `timed(${pairsAtMs}, '${name}-${kind}-' || n)`;
    this.#database.exec('BEGIN IMMEDIATE');
    this.#copy('tokens', `client_id = '${CLIENTS.opaque.id}'`, singles, {
      ...until(keepUntil),
      id: key(name, 'token'),
      issued_at_ms: timeOf(issued, singles),
      pair_id: `pair_id || ${key(name, 'single')}`,
    });
    for (const kind of ['access_token', 'refresh_token']) {
      this.#copy('tokens', `client_id = '${CLIENTS.web.id}' AND kind = '${kind}'`, sixth, {
        ...until(keepUntil),
        id: key(name, kind),
        issued_at_ms: pairsAtMs,
        pair_id: timed('pair'),
        family_id: timed('family'),
        grant_id: timed('grant'),
      });
    }
    this.#copy('principals', "kind = 'grant'", sixth, { keep_until: `${keepUntil}`, id: timed('grant') });
    this.#copy('grants', `client_id = '${CLIENTS.web.id}'`, sixth, {
      grant_id: timed('grant'),
      created_at_ms: pairsAtMs,
    });
    this.#database.exec('COMMIT');
  }

  /** Copies the first matching row, with some columns computed from the counter `n`. */
  #copy(
    table: 'tokens' | 'principals' | 'grants',
    sample: string,
    count: number,
    changed: Readonly<Record<string, string>>,
  ): void {
    const columns = this.#database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name));
    const values = columns.map((column) => changed[column] ?? column);
    this.#database.exec(`
      INSERT INTO ${table} (${columns.join(', ')})
      WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${count})
      SELECT ${values.join(', ')} FROM counted, (SELECT * FROM ${table} WHERE ${sample} LIMIT 1)`);
  }
}

function spread(text: string): string {
  return hash('sha256', text, 'base64url');
}

function now(): Span {
  return { fromMs: Date.now(), untilMs: Date.now() };
}

/** An SQL expression for the issue time of copy `n`. */
function timeOf({ fromMs, untilMs }: Span, count: number): string {
  return `(${Math.trunc(fromMs)} + n * ${Math.trunc(untilMs - fromMs)} / ${Math.max(1, count)})`;
}

function until(keepUntil: number): Readonly<Record<string, string>> {
  return { expires_at: `${keepUntil}`, keep_until: `${keepUntil}` };
}

/** A random digest, like the keys of real rows. */
function key(name: string, kind: string): string {
  return `spread('${name}-${kind}-' || n)`;
}
