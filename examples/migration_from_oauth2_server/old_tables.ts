// The host's own tables, before the move.
import { DatabaseSync } from 'node:sqlite';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS users (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, disabled INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE TABLE IF NOT EXISTS oauth_clients (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, secret TEXT, redirect_uris TEXT NOT NULL, grants TEXT NOT NULL,
    scopes TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS oauth_tokens (
    access_token TEXT PRIMARY KEY, access_token_expires_at INTEGER NOT NULL,
    refresh_token TEXT UNIQUE, refresh_token_expires_at INTEGER,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id), user_id INTEGER REFERENCES users (id),
    scopes TEXT NOT NULL, auth_code_id TEXT, issued_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS oauth_codes (
    code TEXT PRIMARY KEY, redirect_uri TEXT, code_challenge TEXT, expires_at INTEGER NOT NULL,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id), user_id INTEGER REFERENCES users (id),
    scopes TEXT NOT NULL) STRICT`;

export type Row = Readonly<Record<string, string | number | null>>;

export type OldTables = ReturnType<typeof openTables>;

export function openTables(path: string) {
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  return {
    database,
    get: (sql: string, ...values: (string | number | null)[]) =>
      database.prepare(sql).get(...values) as Row | undefined,
    all: (sql: string) => database.prepare(sql).all() as Row[],
    run: (sql: string, ...values: (string | number | null)[]) => database.prepare(sql).run(...values),
    close: () => database.close(),
  };
}
