import { type Kysely, sql } from 'kysely';

/** A step for Kysely's `Migrator`. The host's table `users` exists, with the primary key `id`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    ALTER TABLE users
      ADD COLUMN disabled_at timestamptz,
      ADD COLUMN token_generation integer NOT NULL DEFAULT 0;

    CREATE TABLE oauth_clients (
      id text PRIMARY KEY,
      record json NOT NULL,
      origins text[] NOT NULL,
      disabled_at timestamptz
    );
    CREATE INDEX ON oauth_clients USING gin (origins);

    CREATE TABLE oauth_grants (
      id text PRIMARY KEY,
      revoked_at timestamptz,
      keep_until timestamptz NOT NULL
    );
    CREATE INDEX ON oauth_grants (keep_until);

    CREATE TABLE oauth_tokens (
      id text PRIMARY KEY,
      record json NOT NULL,
      kind text NOT NULL,
      client_id text NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
      user_id text REFERENCES users ON DELETE CASCADE,
      user_generation integer,
      grant_id text REFERENCES oauth_grants ON DELETE CASCADE,
      family_id text,
      pair_id text,
      superseded_at timestamptz,
      successor_id text,
      revoked_at timestamptz,
      keep_until timestamptz NOT NULL,
      CHECK (grant_id IS NOT NULL OR (family_id IS NULL AND pair_id IS NULL))
    );
    CREATE INDEX ON oauth_tokens (grant_id);
    CREATE INDEX ON oauth_tokens (client_id);
    CREATE INDEX ON oauth_tokens (user_id);
    CREATE INDEX ON oauth_tokens (keep_until);

    CREATE TABLE oauth_codes (
      id text PRIMARY KEY,
      record json NOT NULL,
      client_id text NOT NULL REFERENCES oauth_clients ON DELETE CASCADE,
      user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
      user_generation integer NOT NULL,
      grant_id text NOT NULL REFERENCES oauth_grants ON DELETE CASCADE,
      redeemed_at timestamptz
    );
    CREATE INDEX ON oauth_codes (grant_id);
    CREATE INDEX ON oauth_codes (client_id);
    CREATE INDEX ON oauth_codes (user_id);

    CREATE TABLE oauth_keys (
      kid text PRIMARY KEY,
      algorithm text NOT NULL,
      status text NOT NULL,
      public_jwk json NOT NULL,
      sealed_private_key text NOT NULL,
      created_at timestamptz NOT NULL,
      retired_at timestamptz
    );
    CREATE UNIQUE INDEX ON oauth_keys (algorithm, status) WHERE status <> 'retired';

    CREATE TABLE oauth_pending (
      id text PRIMARY KEY,
      other_id text UNIQUE,
      record json NOT NULL,
      version integer NOT NULL,
      expires_at timestamptz NOT NULL
    );
    CREATE TABLE oauth_one_time_identifiers (
      id text PRIMARY KEY,
      expires_at timestamptz NOT NULL
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    DROP TABLE oauth_one_time_identifiers, oauth_pending, oauth_keys, oauth_codes, oauth_tokens,
      oauth_grants, oauth_clients;
    ALTER TABLE users DROP COLUMN disabled_at, DROP COLUMN token_generation`.execute(db);
}
