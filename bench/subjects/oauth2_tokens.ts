// The tokens of @jmondi/oauth2-server, in memory and in databases. Its repositories have no transactions: each call that
// writes is a commit.
import type { DatabaseSync } from 'node:sqlite';
import type { OAuthToken } from '@jmondi/oauth2-server';
import type { Pool } from 'pg';
import { fillPostgres, fillSqlite } from './databases.ts';

export interface Tokens {
  byAccessToken(id: string): Promise<OAuthToken | undefined>;
  byRefreshToken(id: string): Promise<OAuthToken | undefined>;
  add(token: OAuthToken): Promise<void>;
  /** The token has got its refresh token. */
  addRefreshToken(token: OAuthToken): Promise<void>;
  remove(token: OAuthToken): Promise<void>;
  /** Before the server starts. A database gets its tables. */
  fill(tokens: readonly OAuthToken[]): Promise<void>;
}

/** A token as JSON. Clients and scopes are configured, so a row has their names. */
export interface TokenCodec {
  encode(token: OAuthToken): string;
  decode(json: string): OAuthToken;
}

/** Unlimited Maps. */
export class TokensInMemory implements Tokens {
  readonly #byAccessToken = new Map<string, OAuthToken>();
  readonly #byRefreshToken = new Map<string, OAuthToken>();

  async byAccessToken(id: string): Promise<OAuthToken | undefined> {
    return this.#byAccessToken.get(id);
  }

  async byRefreshToken(id: string): Promise<OAuthToken | undefined> {
    return this.#byRefreshToken.get(id);
  }

  async add(token: OAuthToken): Promise<void> {
    this.#byAccessToken.set(token.accessToken, token);
    await this.addRefreshToken(token);
  }

  async addRefreshToken(token: OAuthToken): Promise<void> {
    if (token.refreshToken) this.#byRefreshToken.set(token.refreshToken, token);
  }

  async remove({ accessToken, refreshToken }: OAuthToken): Promise<void> {
    this.#byAccessToken.delete(accessToken);
    if (refreshToken) this.#byRefreshToken.delete(refreshToken);
  }

  async fill(tokens: readonly OAuthToken[]): Promise<void> {
    for (const token of tokens) await this.add(token);
  }

  /** All of them, to be stored. */
  all(): readonly OAuthToken[] {
    return [...this.#byAccessToken.values()];
  }
}

const SQLITE_TABLE = `
  CREATE TABLE IF NOT EXISTS tokens (
    access_token TEXT NOT NULL PRIMARY KEY, refresh_token TEXT UNIQUE, token TEXT NOT NULL
  ) WITHOUT ROWID`;

export class TokensInSqlite implements Tokens {
  readonly #database: DatabaseSync;
  readonly #codec: TokenCodec;
  readonly #statements;

  constructor(database: DatabaseSync, codec: TokenCodec) {
    this.#database = database;
    this.#codec = codec;
    database.exec(SQLITE_TABLE);
    this.#statements = {
      byAccessToken: database.prepare('SELECT token FROM tokens WHERE access_token = ?'),
      byRefreshToken: database.prepare('SELECT token FROM tokens WHERE refresh_token = ?'),
      add: database.prepare('INSERT INTO tokens (access_token, refresh_token, token) VALUES (?, ?, ?)'),
      addRefreshToken: database.prepare(
        'UPDATE tokens SET refresh_token = ?, token = ? WHERE access_token = ?',
      ),
      remove: database.prepare('DELETE FROM tokens WHERE access_token = ?'),
    };
  }

  async byAccessToken(id: string): Promise<OAuthToken | undefined> {
    return this.#decode(this.#statements.byAccessToken.get(id));
  }

  async byRefreshToken(id: string): Promise<OAuthToken | undefined> {
    return this.#decode(this.#statements.byRefreshToken.get(id));
  }

  async add(token: OAuthToken): Promise<void> {
    this.#insert(token);
  }

  async addRefreshToken(token: OAuthToken): Promise<void> {
    const { accessToken, refreshToken = null } = token;
    this.#statements.addRefreshToken.run(refreshToken, this.#codec.encode(token), accessToken);
  }

  async remove({ accessToken }: OAuthToken): Promise<void> {
    this.#statements.remove.run(accessToken);
  }

  async fill(tokens: readonly OAuthToken[]): Promise<void> {
    fillSqlite(this.#database, () => {
      for (const token of tokens) this.#insert(token);
    });
  }

  #insert(token: OAuthToken): void {
    this.#statements.add.run(token.accessToken, token.refreshToken ?? null, this.#codec.encode(token));
  }

  #decode(row: Readonly<Record<string, unknown>> | undefined): OAuthToken | undefined {
    return row && this.#codec.decode(String(row.token));
  }
}

const POSTGRES_TABLE = `
  CREATE TABLE IF NOT EXISTS tokens (
    access_token text PRIMARY KEY, refresh_token text UNIQUE, token text NOT NULL
  )`;

/** Each connection prepares a statement once. */
const POSTGRES_STATEMENTS = {
  byAccessToken: 'SELECT token FROM tokens WHERE access_token = $1',
  byRefreshToken: 'SELECT token FROM tokens WHERE refresh_token = $1',
  add: 'INSERT INTO tokens (access_token, refresh_token, token) VALUES ($1, $2, $3)',
  addRefreshToken: 'UPDATE tokens SET refresh_token = $2, token = $3 WHERE access_token = $1',
  remove: 'DELETE FROM tokens WHERE access_token = $1',
};

export class TokensInPostgres implements Tokens {
  readonly #pool: Pool;
  readonly #codec: TokenCodec;

  constructor(pool: Pool, codec: TokenCodec) {
    this.#pool = pool;
    this.#codec = codec;
  }

  byAccessToken(id: string): Promise<OAuthToken | undefined> {
    return this.#find('byAccessToken', id);
  }

  byRefreshToken(id: string): Promise<OAuthToken | undefined> {
    return this.#find('byRefreshToken', id);
  }

  async add(token: OAuthToken): Promise<void> {
    await this.#run('add', ...this.#rowOf(token));
  }

  async addRefreshToken(token: OAuthToken): Promise<void> {
    await this.#run('addRefreshToken', ...this.#rowOf(token));
  }

  async remove({ accessToken }: OAuthToken): Promise<void> {
    await this.#run('remove', accessToken);
  }

  async fill(tokens: readonly OAuthToken[]): Promise<void> {
    await this.#pool.query(POSTGRES_TABLE);
    await fillPostgres(
      this.#pool,
      `INSERT INTO tokens (access_token, refresh_token, token)
         SELECT * FROM unnest($1::text[], $2::text[], $3::text[])`,
      tokens.map((token) => this.#rowOf(token)),
    );
    await this.#pool.end();
  }

  #rowOf(token: OAuthToken): readonly unknown[] {
    return [token.accessToken, token.refreshToken ?? null, this.#codec.encode(token)];
  }

  async #find(name: 'byAccessToken' | 'byRefreshToken', id: string): Promise<OAuthToken | undefined> {
    const [row] = (await this.#run(name, id)).rows;
    return row && this.#codec.decode(row.token);
  }

  #run(name: keyof typeof POSTGRES_STATEMENTS, ...values: readonly unknown[]) {
    return this.#pool.query({ name, text: POSTGRES_STATEMENTS[name], values: [...values] });
  }
}
