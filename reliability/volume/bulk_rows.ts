import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Library } from '../deployments/library.ts';
import { CLIENTS } from '../load/registrations.ts';

/**
 * Fills a SQLite file with rows like those that the library itself wrote: a token of a client, and a pair with its
 * grant. Each copy has keys of its own that are spread as random ones are.
 */
export class BulkRows {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.function('spread', { deterministic: true }, (text) => hash('sha256', String(text), 'base64url'));
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
   */
  add(name: string, rows: number, keepUntil: number): void {
    const sixth = Math.floor(rows / 6);
    this.#database.exec('BEGIN IMMEDIATE');
    this.#copy('tokens', `client_id = '${CLIENTS.opaque.id}'`, rows - 4 * sixth, {
      ...until(keepUntil),
      id: key(name, 'token'),
      pair_id: `pair_id || ${key(name, 'single')}`,
    });
    for (const kind of ['access_token', 'refresh_token']) {
      this.#copy('tokens', `client_id = '${CLIENTS.web.id}' AND kind = '${kind}'`, sixth, {
        ...until(keepUntil),
        id: key(name, kind),
        pair_id: key(name, 'pair'),
        family_id: key(name, 'family'),
        grant_id: key(name, 'grant'),
      });
    }
    this.#copy('principals', "kind = 'grant'", sixth, { keep_until: `${keepUntil}`, id: key(name, 'grant') });
    this.#copy('grants', `client_id = '${CLIENTS.web.id}'`, sixth, { grant_id: key(name, 'grant') });
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

function until(keepUntil: number): Readonly<Record<string, string>> {
  return { expires_at: `${keepUntil}`, keep_until: `${keepUntil}` };
}

/** A digest like those that are the keys of real rows. */
function key(name: string, kind: string): string {
  return `spread('${name}-${kind}-' || n)`;
}
