// The records of oidc-provider, in memory and in databases. Its adapter interface has no transactions: each call that
// writes is a commit.
import type { DatabaseSync } from 'node:sqlite';
import type { AdapterPayload } from 'oidc-provider';
import type { Pool } from 'pg';
import { fillPostgres, fillSqlite } from './databases.ts';

/** A record: the model, such as `RefreshToken`, its identifier in this model, and what the library stores. */
export type StoredRecord = readonly [model: string, id: string, payload: AdapterPayload];

export interface Records {
  upsert(...record: StoredRecord): Promise<void>;
  find(model: string, id: string): Promise<AdapterPayload | undefined>;
  consume(model: string, id: string): Promise<void>;
  destroy(model: string, id: string): Promise<void>;
  revokeByGrantId(model: string, grantId: string): Promise<void>;
  /** Before the server starts. A database gets its tables. */
  fill(records: readonly StoredRecord[]): Promise<void>;
}

const now = () => Math.floor(Date.now() / 1000);

/** Unlimited Maps. */
export class RecordsInMemory implements Records {
  readonly #models = new Map<string, Map<string, AdapterPayload>>();
  readonly #grants = new Map<string, Set<string>>();

  async upsert(...[model, id, payload]: StoredRecord): Promise<void> {
    this.#of(model).set(id, payload);
    if (payload.grantId === undefined) return;
    const key = `${model} ${payload.grantId}`;
    const ids = this.#grants.get(key) ?? new Set<string>();
    this.#grants.set(key, ids.add(id));
  }

  async find(model: string, id: string): Promise<AdapterPayload | undefined> {
    return this.#of(model).get(id);
  }

  async consume(model: string, id: string): Promise<void> {
    const payload = this.#of(model).get(id);
    if (payload) payload.consumed = now();
  }

  async destroy(model: string, id: string): Promise<void> {
    this.#of(model).delete(id);
  }

  async revokeByGrantId(model: string, grantId: string): Promise<void> {
    const key = `${model} ${grantId}`;
    for (const id of this.#grants.get(key) ?? []) this.#of(model).delete(id);
    this.#grants.delete(key);
  }

  async fill(records: readonly StoredRecord[]): Promise<void> {
    for (const record of records) await this.upsert(...record);
  }

  /** All of them, to be stored. */
  all(): readonly StoredRecord[] {
    return [...this.#models].flatMap(([model, ofModel]) =>
      [...ofModel].map(([id, payload]) => [model, id, payload] as const),
    );
  }

  #of(model: string): Map<string, AdapterPayload> {
    const ofModel = this.#models.get(model) ?? new Map<string, AdapterPayload>();
    this.#models.set(model, ofModel);
    return ofModel;
  }
}

const SQLITE_TABLE = `
  CREATE TABLE IF NOT EXISTS records (
    model TEXT NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, grant_id TEXT, consumed INTEGER,
    PRIMARY KEY (model, id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS records_of_grant ON records (grant_id) WHERE grant_id IS NOT NULL`;

export class RecordsInSqlite implements Records {
  readonly #database: DatabaseSync;
  readonly #statements;

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec(SQLITE_TABLE);
    this.#statements = {
      upsert: database.prepare(
        `INSERT INTO records (model, id, payload, grant_id) VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id`,
      ),
      find: database.prepare('SELECT payload, consumed FROM records WHERE model = ? AND id = ?'),
      consume: database.prepare('UPDATE records SET consumed = ? WHERE model = ? AND id = ?'),
      destroy: database.prepare('DELETE FROM records WHERE model = ? AND id = ?'),
      revoke: database.prepare('DELETE FROM records WHERE grant_id = ? AND model = ?'),
    };
  }

  async upsert(...record: StoredRecord): Promise<void> {
    this.#insert(record);
  }

  async find(model: string, id: string): Promise<AdapterPayload | undefined> {
    const row = this.#statements.find.get(model, id);
    if (row === undefined) return undefined;
    return payloadOf(JSON.parse(String(row.payload)), row.consumed);
  }

  async consume(model: string, id: string): Promise<void> {
    this.#statements.consume.run(now(), model, id);
  }

  async destroy(model: string, id: string): Promise<void> {
    this.#statements.destroy.run(model, id);
  }

  async revokeByGrantId(model: string, grantId: string): Promise<void> {
    this.#statements.revoke.run(grantId, model);
  }

  async fill(records: readonly StoredRecord[]): Promise<void> {
    fillSqlite(this.#database, () => {
      for (const record of records) this.#insert(record);
    });
  }

  #insert([model, id, payload]: StoredRecord): void {
    this.#statements.upsert.run(model, id, JSON.stringify(payload), payload.grantId ?? null);
  }
}

const POSTGRES_TABLE = `
  CREATE TABLE IF NOT EXISTS records (
    model text NOT NULL, id text NOT NULL, payload json NOT NULL, grant_id text, consumed bigint,
    PRIMARY KEY (model, id)
  );
  CREATE INDEX IF NOT EXISTS records_of_grant ON records (grant_id) WHERE grant_id IS NOT NULL`;

/** Each connection prepares a statement once. */
const POSTGRES_STATEMENTS = {
  upsert: `INSERT INTO records (model, id, payload, grant_id) VALUES ($1, $2, $3, $4)
             ON CONFLICT (model, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id`,
  find: 'SELECT payload, consumed FROM records WHERE model = $1 AND id = $2',
  consume: 'UPDATE records SET consumed = $3 WHERE model = $1 AND id = $2',
  destroy: 'DELETE FROM records WHERE model = $1 AND id = $2',
  revoke: 'DELETE FROM records WHERE grant_id = $2 AND model = $1',
};

export class RecordsInPostgres implements Records {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async upsert(...[model, id, payload]: StoredRecord): Promise<void> {
    await this.#run('upsert', model, id, JSON.stringify(payload), payload.grantId);
  }

  async find(model: string, id: string): Promise<AdapterPayload | undefined> {
    const [row] = (await this.#run('find', model, id)).rows;
    return row && payloadOf(row.payload, row.consumed);
  }

  async consume(model: string, id: string): Promise<void> {
    await this.#run('consume', model, id, now());
  }

  async destroy(model: string, id: string): Promise<void> {
    await this.#run('destroy', model, id);
  }

  async revokeByGrantId(model: string, grantId: string): Promise<void> {
    await this.#run('revoke', model, grantId);
  }

  async fill(records: readonly StoredRecord[]): Promise<void> {
    await this.#pool.query(POSTGRES_TABLE);
    await fillPostgres(
      this.#pool,
      `INSERT INTO records (model, id, payload, grant_id)
         SELECT * FROM unnest($1::text[], $2::text[], $3::json[], $4::text[])`,
      records.map(([model, id, payload]) => [model, id, JSON.stringify(payload), payload.grantId ?? null]),
    );
    await this.#pool.end();
  }

  #run(name: keyof typeof POSTGRES_STATEMENTS, ...values: readonly unknown[]) {
    return this.#pool.query({ name, text: POSTGRES_STATEMENTS[name], values: [...values] });
  }
}

function payloadOf(payload: AdapterPayload, consumed: unknown): AdapterPayload {
  return consumed === null ? payload : { ...payload, consumed: Number(consumed) };
}
