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
 * Fills a SQLite file with rows like those that the library itself wrote: an opaque token of a client, and an opaque
 * pair with its grant. Each copy has keys of its own. Those of tokens are spread as the digests are that they stand for;
 * those of pairs, families and grants begin with the time, and grow as those do that are issued one after another.
 */
export class BulkRows {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.function('spread', { deterministic: true }, (text) => spread(String(text)));
    // As the library makes them: milliseconds in base 36, then 128 bits.
    database.function(
      'timed',
      { deterministic: true },
      (ms, text) => Number(ms).toString(36) + spread(String(text)).slice(0, 22),
    );
  }

  /** Issues what is copied; it lives on. */
  async prepare({ opaque }: Pick<Library, 'opaque'>): Promise<void> {
    await opaque.issueTokens({ clientId: CLIENTS.opaque.id });
    await opaque.issueTokens({ clientId: CLIENTS.web.id, subject: 'somebody', refresh: true });
  }

  /**
   * Adds rows in one transaction: two sixths tokens of a client, two sixths pairs, one sixth their grants, and one what
   * people are shown of those.
   * @param name distinguishes them from those of other calls
   * @param keepUntil seconds, when they may be swept
   * @param issued when they were, evenly; now unless said otherwise
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

  /** Copies the first row that fits, with some columns by an expression in which `n` counts. */
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

/** An expression for the time at which the copy `n` of so many was issued. */
function timeOf({ fromMs, untilMs }: Span, count: number): string {
  return `(${Math.trunc(fromMs)} + n * ${Math.trunc(untilMs - fromMs)} / ${Math.max(1, count)})`;
}

function until(keepUntil: number): Readonly<Record<string, string>> {
  return { expires_at: `${keepUntil}`, keep_until: `${keepUntil}` };
}

/** A digest like those that are the keys of real rows. */
function key(name: string, kind: string): string {
  return `spread('${name}-${kind}-' || n)`;
}
