import type { DatabaseSync } from 'node:sqlite';
import { canUse } from '@grantd/core/internal/storage/migrations';
import { openSqliteConnection } from '@grantd/core/internal/storage/sqlite/connection';
import { inTransaction } from '@grantd/core/internal/storage/sqlite/queues';
import { usableState } from '@grantd/core/internal/storage/sqlite/schema';
import {
  type Migration,
  type MigrationDirection,
  migrateTables,
  type SqliteTables,
} from '@grantd/core/sqlite';

/** The program’s tables, next to the library’s in the same file. Each migration is applied once and never edited. */
export const SQLITE_MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE people (
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    claims        TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE demo_issuers (
    issuer TEXT NOT NULL PRIMARY KEY
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE sessions (
    issuer          TEXT NOT NULL,
    id              TEXT NOT NULL,
    secret_digest   TEXT NOT NULL,
    subject         TEXT NOT NULL,
    amr             TEXT NOT NULL,
    user_agent      TEXT NOT NULL,
    signed_in_at_ms INTEGER NOT NULL,
    last_seen_at_ms INTEGER NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    ended_at_ms     INTEGER,
    PRIMARY KEY (issuer, id),
    UNIQUE (issuer, secret_digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_subject ON sessions (issuer, subject);
  CREATE INDEX sessions_by_expiry ON sessions (issuer, expires_at_ms);
  CREATE INDEX sessions_to_end ON sessions (issuer, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

  CREATE TABLE session_clients (
    issuer     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    PRIMARY KEY (issuer, session_id, client_id),
    FOREIGN KEY (issuer, session_id) REFERENCES sessions (issuer, id) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE consents (
    issuer            TEXT NOT NULL,
    subject           TEXT NOT NULL,
    client_id         TEXT NOT NULL,
    client_generation INTEGER NOT NULL,
    scopes            TEXT NOT NULL,
    resources         TEXT NOT NULL,
    version           INTEGER NOT NULL,
    given_at_ms       INTEGER NOT NULL,
    withdrawn_at_ms   INTEGER,
    PRIMARY KEY (issuer, subject, client_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX consents_by_client ON consents (issuer, client_id, client_generation);
  CREATE INDEX consents_to_end ON consents (issuer, withdrawn_at_ms) WHERE withdrawn_at_ms IS NOT NULL;

  CREATE TABLE sign_in_attempts (
    issuer     TEXT NOT NULL,
    key_digest TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    ends_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, key_digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sign_in_attempts_by_end ON sign_in_attempts (issuer, ends_at_ms);

  CREATE TABLE logout_deliveries (
    issuer     TEXT NOT NULL,
    session_id TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    subject    TEXT NOT NULL,
    attempts   INTEGER NOT NULL,
    due_at_ms  INTEGER NOT NULL,
    PRIMARY KEY (issuer, session_id, client_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX logout_deliveries_by_time ON logout_deliveries (issuer, due_at_ms);
  `,
  // Pairwise subject identifiers.
  `
  CREATE TABLE pairwise_secrets (
    issuer TEXT NOT NULL PRIMARY KEY,
    sealed TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // Ties consents and logout notifications to the client as it was registered.
  `
  ALTER TABLE consents ADD COLUMN client_revision INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE session_clients ADD COLUMN sid TEXT;
  ALTER TABLE session_clients ADD COLUMN sub TEXT;
  ALTER TABLE logout_deliveries ADD COLUMN sid TEXT;
  ALTER TABLE logout_deliveries ADD COLUMN sub TEXT;
  `,
  // Consents by decision.
  `
  -- Each row was one union of several decisions. With resources in it nobody knows which scopes were agreed to for which.
  -- A withdrawal that has begun still has to end its grants.
  DELETE FROM consents WHERE resources <> '' AND withdrawn_at_ms IS NULL;
  ALTER TABLE consents ADD COLUMN entries TEXT NOT NULL DEFAULT '[]';
  UPDATE consents
  SET entries = '[{"scopes":['
    || CASE scopes WHEN '' THEN '' ELSE '"' || replace(scopes, ' ', '","') || '"' END
    || '],"resources":[],"claims":[],"givenAtMs":' || given_at_ms || '}]'
  WHERE resources = '';
  ALTER TABLE consents DROP COLUMN scopes;
  ALTER TABLE consents DROP COLUMN resources;

  -- What scopes mean; api is a client identifier, or empty for the server's own.
  CREATE TABLE scope_texts (
    issuer TEXT NOT NULL,
    api    TEXT NOT NULL,
    scope  TEXT NOT NULL,
    texts  TEXT NOT NULL,
    PRIMARY KEY (issuer, api, scope)
  ) STRICT, WITHOUT ROWID;

  -- When it was last checked that something can be written.
  CREATE TABLE write_checks (
    issuer        TEXT NOT NULL PRIMARY KEY,
    checked_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A name without a key was stored before names had them.
  ALTER TABLE people ADD COLUMN name_key TEXT;
  ALTER TABLE people ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  CREATE UNIQUE INDEX people_by_name_key ON people (issuer, name_key);

  -- Subject identifiers of people who were removed: they are never given again.
  CREATE TABLE removed_people (
    issuer         TEXT NOT NULL,
    subject        TEXT NOT NULL,
    removed_at_ms  INTEGER NOT NULL,
    finished_at_ms INTEGER,
    PRIMARY KEY (issuer, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX removed_people_to_finish ON removed_people (issuer, removed_at_ms) WHERE finished_at_ms IS NULL;

  -- Where everything was copied to, so that nothing is served from this file any more; one row, or none.
  CREATE TABLE copied_to (
    address      TEXT NOT NULL PRIMARY KEY,
    copied_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // Groups, search and import.
  `
  CREATE TABLE groups (
    issuer        TEXT NOT NULL,
    name          TEXT NOT NULL,
    name_key      TEXT NOT NULL,
    description   TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, name),
    UNIQUE (issuer, name_key)
  ) STRICT, WITHOUT ROWID;

  -- A membership with ended_at_ms has ended, and tokens that depend on it may still have to be revoked.
  CREATE TABLE group_members (
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    group_name  TEXT NOT NULL,
    added_at_ms INTEGER NOT NULL,
    ended_at_ms INTEGER,
    PRIMARY KEY (issuer, subject, group_name),
    FOREIGN KEY (issuer, subject) REFERENCES people (issuer, subject) ON DELETE CASCADE,
    FOREIGN KEY (issuer, group_name) REFERENCES groups (issuer, name) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX group_members_by_group ON group_members (issuer, group_name);
  CREATE INDEX group_members_to_end ON group_members (issuer, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

  -- A person without a search_text was stored before there was a search.
  ALTER TABLE people ADD COLUMN search_text TEXT;
  ALTER TABLE people ADD COLUMN import_digest TEXT;
  CREATE INDEX people_to_make_searchable ON people (issuer) WHERE search_text IS NULL;
  `,
  // Emails and mailed links.
  `
  -- The email claim in lower case, if it is verified. Several people may share an address.
  ALTER TABLE people ADD COLUMN verified_email TEXT;
  UPDATE people SET verified_email = lower(json_extract(claims, '$.email'))
  WHERE json_type(claims, '$.email') = 'text' AND json_type(claims, '$.email_verified') = 'true';
  CREATE INDEX people_by_verified_email ON people (issuer, verified_email) WHERE verified_email IS NOT NULL;

  CREATE TABLE mails (
    issuer        TEXT NOT NULL,
    id            TEXT NOT NULL,
    subject       TEXT,
    recipient     TEXT NOT NULL,
    template      TEXT NOT NULL,
    language      TEXT NOT NULL,
    sealed        TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    due_at_ms     INTEGER NOT NULL,
    attempts      INTEGER NOT NULL,
    last_error    TEXT,
    failed_at_ms  INTEGER,
    boxed_at_ms   INTEGER,
    expires_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX mails_due ON mails (issuer, due_at_ms) WHERE failed_at_ms IS NULL AND boxed_at_ms IS NULL;
  CREATE INDEX mails_by_subject ON mails (issuer, subject) WHERE subject IS NOT NULL;
  CREATE INDEX mails_by_expiry ON mails (issuer, expires_at_ms);

  CREATE TABLE mailed_links (
    issuer          TEXT NOT NULL,
    token_digest    TEXT NOT NULL,
    purpose         TEXT NOT NULL,
    subject         TEXT,
    address         TEXT NOT NULL,
    password_digest TEXT,
    browser_digest  TEXT,
    expires_at_ms   INTEGER NOT NULL,
    PRIMARY KEY (issuer, token_digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX mailed_links_by_subject ON mailed_links (issuer, subject) WHERE subject IS NOT NULL;
  CREATE INDEX mailed_links_by_expiry ON mailed_links (issuer, expires_at_ms);
  `,
  // Tells earlier programs whether they can use the tables of a later one.
  'CREATE TABLE IF NOT EXISTS program_schema_floor (version INTEGER NOT NULL) STRICT',
  // Requests to the admin API that have an Idempotency-Key.
  {
    expand: `
    CREATE TABLE api_requests (
      issuer         TEXT NOT NULL,
      key_digest     TEXT NOT NULL,
      request_digest TEXT NOT NULL,
      attempt        TEXT NOT NULL,
      sealed         TEXT,
      expires_at_ms  INTEGER NOT NULL,
      PRIMARY KEY (issuer, key_digest)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX api_requests_by_expiry ON api_requests (issuer, expires_at_ms);
    `,
    down: 'DROP TABLE api_requests',
  },
  // Users of a directory.
  {
    expand: `
    -- The stable identifier of the user's entry. It counts only while the user has no local password.
    ALTER TABLE people ADD COLUMN directory_id TEXT;
    CREATE UNIQUE INDEX people_by_directory_id ON people (issuer, directory_id) WHERE directory_id IS NOT NULL;
    `,
    down: 'DROP INDEX people_by_directory_id; ALTER TABLE people DROP COLUMN directory_id',
  },
  // Sign-in through other providers.
  {
    expand: `
    CREATE TABLE upstream_identities (
      issuer          TEXT NOT NULL,
      id              TEXT NOT NULL,
      subject         TEXT NOT NULL,
      provider        TEXT NOT NULL,
      upstream_issuer TEXT NOT NULL,
      upstream_sub    TEXT NOT NULL,
      label           TEXT NOT NULL,
      linked_at_ms    INTEGER NOT NULL,
      PRIMARY KEY (issuer, id),
      UNIQUE (issuer, provider, upstream_issuer, upstream_sub),
      FOREIGN KEY (issuer, subject) REFERENCES people (issuer, subject) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX upstream_identities_by_subject ON upstream_identities (issuer, subject);

    -- The identities that a session depends on.
    CREATE TABLE upstream_sessions (
      issuer       TEXT NOT NULL,
      session_id   TEXT NOT NULL,
      identity_id  TEXT NOT NULL,
      upstream_sid TEXT,
      PRIMARY KEY (issuer, session_id, identity_id),
      FOREIGN KEY (issuer, session_id) REFERENCES sessions (issuer, id) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX upstream_sessions_by_identity ON upstream_sessions (issuer, identity_id);
    `,
    down: 'DROP TABLE upstream_sessions; DROP TABLE upstream_identities',
  },
  // Passkeys, authenticator apps and recovery codes. An earlier program would ask for none of them.
  `
  -- The id is a WebAuthn credential ID; public_key is a COSE key.
  CREATE TABLE passkeys (
    issuer          TEXT NOT NULL,
    id              TEXT NOT NULL,
    subject         TEXT NOT NULL,
    public_key      TEXT NOT NULL,
    counter         INTEGER NOT NULL,
    transports      TEXT NOT NULL,
    is_backed_up    INTEGER NOT NULL,
    name            TEXT NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    last_used_at_ms INTEGER,
    PRIMARY KEY (issuer, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX passkeys_by_subject ON passkeys (issuer, subject);

  -- A code counts once: last_step is the time step of the last accepted one.
  CREATE TABLE totp_secrets (
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    sealed        TEXT NOT NULL,
    last_step     INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE recovery_codes (
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    code_digest   TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (issuer, subject, code_digest)
  ) STRICT, WITHOUT ROWID;

  -- Challenges that were answered, until they expire.
  CREATE TABLE used_challenges (
    issuer           TEXT NOT NULL,
    challenge_digest TEXT NOT NULL,
    expires_at_ms    INTEGER NOT NULL,
    PRIMARY KEY (issuer, challenge_digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX used_challenges_by_expiry ON used_challenges (issuer, expires_at_ms);
  `,
  // What a sign-in of a member needs. An earlier program would not ask for it.
  'ALTER TABLE groups ADD COLUMN sign_in_policy TEXT',
  // Where a sign-in came from, for the user.
  {
    expand: 'ALTER TABLE sessions ADD COLUMN network TEXT',
    down: 'ALTER TABLE sessions DROP COLUMN network',
  },
  // The chain of the audit trail.
  {
    expand: `
    CREATE TABLE audit_heads (
      issuer             TEXT NOT NULL PRIMARY KEY,
      beginning_sequence INTEGER NOT NULL,
      beginning_hash     TEXT NOT NULL,
      last_sequence      INTEGER NOT NULL,
      last_hash          TEXT NOT NULL,
      sealed_at_ms       INTEGER NOT NULL,
      mac                TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    -- Parts of the chain, each with an index of the values of its events.
    CREATE TABLE audit_blocks (
      issuer         TEXT NOT NULL,
      number         INTEGER NOT NULL,
      first_sequence INTEGER NOT NULL,
      last_sequence  INTEGER NOT NULL,
      row_count      INTEGER NOT NULL,
      earliest_ms    INTEGER NOT NULL,
      latest_ms      INTEGER NOT NULL,
      hash           TEXT NOT NULL,
      terms          TEXT NOT NULL,
      PRIMARY KEY (issuer, number)
    ) STRICT;
    `,
    down: 'DROP TABLE audit_blocks; DROP TABLE audit_heads',
  },
  // The history of sign-ins that users see. Of a failed one, the reason is not empty, and there is no session.
  {
    expand: `
    CREATE TABLE sign_ins (
      issuer        TEXT NOT NULL,
      id            TEXT NOT NULL,
      subject       TEXT NOT NULL,
      session_id    TEXT NOT NULL,
      at_ms         INTEGER NOT NULL,
      amr           TEXT NOT NULL,
      reason        TEXT NOT NULL,
      user_agent    TEXT NOT NULL,
      network       TEXT,
      expires_at_ms INTEGER NOT NULL,
      PRIMARY KEY (issuer, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sign_ins_by_subject ON sign_ins (issuer, subject, at_ms);
    CREATE INDEX sign_ins_by_expiry ON sign_ins (issuer, expires_at_ms);
    `,
    down: 'DROP TABLE sign_ins',
  },
  // What was added with a recovery code counts later. An earlier program would let it count at once.
  `
  ALTER TABLE passkeys ADD COLUMN counts_from_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE totp_secrets ADD COLUMN counts_from_ms INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE people ADD COLUMN held_level INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE people ADD COLUMN held_until_ms INTEGER NOT NULL DEFAULT 0;
  -- The verified address, if the user has shown that it is theirs. An earlier program would keep it after a change.
  ALTER TABLE people ADD COLUMN claimed_email TEXT;
  CREATE UNIQUE INDEX people_by_claimed_email ON people (issuer, claimed_email) WHERE claimed_email IS NOT NULL;
  -- Used challenges are among the one-time identifiers of the library.
  INSERT INTO one_time_identifiers (issuer_id, id, expires_at)
  SELECT i.id, 'passkey_challenge ' || c.challenge_digest, (c.expires_at_ms + 999) / 1000
  FROM used_challenges c JOIN issuers i ON i.issuer = c.issuer;
  DROP TABLE used_challenges;
  `,
  // Recovery codes, sealed until the user says that they are saved.
  {
    expand: 'ALTER TABLE recovery_codes ADD COLUMN sealed TEXT',
    down: 'ALTER TABLE recovery_codes DROP COLUMN sealed',
  },
];

/** The tables to copy to another database. Attempts and API requests are left out: they expire soon. */
export const SQLITE_TABLES_TO_COPY = [
  'people',
  'removed_people',
  'groups',
  'group_members',
  'demo_issuers',
  'sessions',
  'session_clients',
  'upstream_identities',
  'upstream_sessions',
  'consents',
  'scope_texts',
  'logout_deliveries',
  'mails',
  'mailed_links',
  'pairwise_secrets',
  'passkeys',
  'totp_secrets',
  'recovery_codes',
  'sign_ins',
  'audit_heads',
  'audit_blocks',
];

/**
 * Overwrites deleted user data, also in freed pages. Not for the tables of the library: sweeping expired tokens would write
 * each freed page.
 */
export function overwritingDeleted<T>(database: DatabaseSync, work: () => T): T {
  // Takes effect when SQLite compiles it, so a prepared statement would change nothing.
  database.exec('PRAGMA secure_delete = ON');
  try {
    return work();
  } finally {
    database.exec('PRAGMA secure_delete = OFF');
  }
}

/**
 * Opens a connection for marks of the program in a file that the library’s store has created.
 * @throws {Error} the file does not exist, was written by a newer program, or cannot be made durable
 */
export function openSqliteTables(path: string): DatabaseSync {
  const database = openSqliteConnection(path);
  try {
    if (!canUse(usableState(database, path, SQLITE_PROGRAM_TABLES), SQLITE_MIGRATIONS))
      inTransaction(database, () => migrateProgramTables(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Call it inside a write transaction, so that only one of several starting processes migrates. */
export function migrateProgramTables(
  database: DatabaseSync,
  path: string,
  direction?: MigrationDirection,
): void {
  database.exec('CREATE TABLE IF NOT EXISTS program_schema (version INTEGER NOT NULL) STRICT');
  overwritingDeleted(database, () => migrateTables(database, path, SQLITE_PROGRAM_TABLES, direction));
}

/** The program’s tables, next to the library’s. */
export const SQLITE_PROGRAM_TABLES: SqliteTables = {
  version: 'SELECT version AS user_version FROM program_schema',
  stateIn(database) {
    const numberIn = (table: string): unknown =>
      database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) &&
      database.prepare(`SELECT version FROM ${table}`).get()?.version;
    const version = Number(numberIn('program_schema') ?? 0);
    return { version, floor: Number(numberIn('program_schema_floor') ?? version) };
  },
  store(database, { version, floor }) {
    for (const [table, value] of [
      ['program_schema', version],
      ['program_schema_floor', floor],
    ] as const) {
      database.exec(`DELETE FROM ${table}`);
      database.prepare(`INSERT INTO ${table} (version) VALUES (?)`).run(value);
    }
  },
  migrations: SQLITE_MIGRATIONS,
};
