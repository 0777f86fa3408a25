// Tables of the SQLite store, and their migrations.
// Long: a migration stays as it was applied.
import type { DatabaseSync } from 'node:sqlite';
import type { MigrationAssumption } from '../contract.ts';
import {
  canUse,
  isTooNew,
  type Migration,
  type MigrationDirection,
  migrationPlan,
  type SchemaState,
} from '../migrations.ts';

/**
 * Version 1. Every key begins with the issuer. Times ending in `_ms` are milliseconds, all others seconds; lists and
 * claims are JSON text, which keeps the order of their members.
 */
const VERSION_1 = `
  CREATE TABLE issuers (
    id            INTEGER PRIMARY KEY,
    issuer        TEXT NOT NULL UNIQUE,
    not_before_ms INTEGER
  ) STRICT;

  CREATE TABLE clients (
    issuer_id              INTEGER NOT NULL REFERENCES issuers (id),
    id                     TEXT NOT NULL,
    name                   TEXT,
    secret_hash            TEXT,
    grant_types            TEXT NOT NULL,
    scopes                 TEXT NOT NULL,
    redirect_uris          TEXT NOT NULL,
    resource               TEXT,
    rotate_refresh_tokens  INTEGER,
    access_token_format    TEXT,
    access_token_algorithm TEXT,
    id_token_algorithm     TEXT,
    generation             INTEGER NOT NULL DEFAULT 0,
    raised_at_ms           INTEGER,
    disabled_at_ms         INTEGER,
    PRIMARY KEY (issuer_id, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE redirect_origins (
    issuer_id INTEGER NOT NULL,
    origin    TEXT NOT NULL,
    client_id TEXT NOT NULL,
    PRIMARY KEY (issuer_id, origin, client_id),
    FOREIGN KEY (issuer_id, client_id) REFERENCES clients (issuer_id, id)
  ) STRICT, WITHOUT ROWID;

  -- Subjects, sessions and grants. Subjects have no keep_until: they stay for ever.
  CREATE TABLE principals (
    issuer_id      INTEGER NOT NULL REFERENCES issuers (id),
    kind           TEXT NOT NULL CHECK (kind IN ('subject', 'session', 'grant')),
    id             TEXT NOT NULL,
    generation     INTEGER NOT NULL,
    raised_at_ms   INTEGER,
    disabled_at_ms INTEGER,
    keep_until     INTEGER,
    PRIMARY KEY (issuer_id, kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX principals_by_keep_until ON principals (issuer_id, keep_until) WHERE keep_until IS NOT NULL;

  -- With a rowid: new rows go to the end of the file whatever their random key, and each index stays narrow.
  CREATE TABLE tokens (
    issuer_id          INTEGER NOT NULL REFERENCES issuers (id),
    id                 TEXT NOT NULL,
    kind               TEXT NOT NULL CHECK (kind IN ('access_token', 'refresh_token')),
    digest             TEXT NOT NULL,
    client_id          TEXT NOT NULL,
    scopes             TEXT NOT NULL,
    token_type         TEXT,
    subject            TEXT,
    claims             TEXT,
    issued_at_ms       INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL,
    keep_until         INTEGER NOT NULL CHECK (keep_until >= expires_at),
    key_id             TEXT,
    pair_id            TEXT,
    family_id          TEXT,
    grant_id           TEXT,
    session_id         TEXT,
    superseded_at_ms   INTEGER,
    successor_id       TEXT,
    revoked_at_ms      INTEGER,
    client_generation  INTEGER NOT NULL,
    subject_generation INTEGER,
    session_generation INTEGER,
    grant_generation   INTEGER,
    PRIMARY KEY (issuer_id, id)
  ) STRICT;
  CREATE INDEX tokens_by_pair ON tokens (issuer_id, pair_id) WHERE pair_id IS NOT NULL;
  CREATE INDEX tokens_by_family ON tokens (issuer_id, family_id, kind, superseded_at_ms)
    WHERE family_id IS NOT NULL;
  CREATE INDEX tokens_by_keep_until ON tokens (issuer_id, keep_until);

  CREATE TABLE authorization_codes (
    issuer_id          INTEGER NOT NULL REFERENCES issuers (id),
    id                 TEXT NOT NULL,
    client_id          TEXT NOT NULL,
    redirect_uri       TEXT NOT NULL,
    redirect_uri_given INTEGER NOT NULL,
    code_challenge     TEXT,
    scopes             TEXT NOT NULL,
    subject            TEXT NOT NULL,
    grant_id           TEXT NOT NULL,
    session_id         TEXT,
    nonce              TEXT,
    claims             TEXT NOT NULL,
    issued_at_ms       INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL,
    keep_until         INTEGER NOT NULL CHECK (keep_until >= expires_at),
    redeemed_at_ms     INTEGER,
    revoked_at_ms      INTEGER,
    client_generation  INTEGER NOT NULL,
    subject_generation INTEGER NOT NULL,
    session_generation INTEGER,
    grant_generation   INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, id)
  ) STRICT;
  CREATE INDEX authorization_codes_by_keep_until ON authorization_codes (issuer_id, keep_until);

  CREATE TABLE signing_keys (
    issuer_id          INTEGER NOT NULL REFERENCES issuers (id),
    kid                TEXT NOT NULL,
    algorithm          TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('next', 'current', 'retired')),
    public_jwk         TEXT NOT NULL,
    sealed_private_key TEXT NOT NULL,
    created_at_ms      INTEGER NOT NULL,
    retired_at_ms      INTEGER,
    needed_until       INTEGER CHECK (needed_until IS NOT NULL OR status <> 'retired'),
    PRIMARY KEY (issuer_id, kid)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX signing_keys_current ON signing_keys (issuer_id, algorithm) WHERE status = 'current';
  CREATE UNIQUE INDEX signing_keys_next ON signing_keys (issuer_id, algorithm) WHERE status = 'next';
  CREATE INDEX signing_keys_retired ON signing_keys (issuer_id, needed_until) WHERE status = 'retired';

  -- AUTOINCREMENT: a number is never given twice, not even after the newest rows were swept.
  CREATE TABLE events (
    sequence  INTEGER PRIMARY KEY AUTOINCREMENT,
    issuer_id INTEGER NOT NULL REFERENCES issuers (id),
    at_ms     INTEGER NOT NULL,
    type      TEXT NOT NULL,
    target    TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_sequence ON events (issuer_id, sequence);
  CREATE INDEX events_by_age ON events (issuer_id, at_ms);
`;

/**
 * Version 2. Every issuance updates a key's `needed_until`, whatever the key's status. Before, it was set when the
 * key retired. No row that a current key has signed is kept longer than the row that is kept longest.
 */
const VERSION_2 = `
  CREATE TABLE signing_keys_2 (
    issuer_id          INTEGER NOT NULL REFERENCES issuers (id),
    kid                TEXT NOT NULL,
    algorithm          TEXT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('next', 'current', 'retired')),
    public_jwk         TEXT NOT NULL,
    sealed_private_key TEXT NOT NULL,
    created_at_ms      INTEGER NOT NULL,
    retired_at_ms      INTEGER,
    needed_until       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (issuer_id, kid)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO signing_keys_2
  SELECT issuer_id, kid, algorithm, status, public_jwk, sealed_private_key, created_at_ms, retired_at_ms,
    coalesce(needed_until, CASE status WHEN 'current' THEN (
      SELECT (max(t.keep_until) + 86399) / 86400 * 86400 FROM tokens t WHERE t.issuer_id = k.issuer_id) END, 0)
  FROM signing_keys k;

  DROP TABLE signing_keys;
  ALTER TABLE signing_keys_2 RENAME TO signing_keys;
  CREATE UNIQUE INDEX signing_keys_current ON signing_keys (issuer_id, algorithm) WHERE status = 'current';
  CREATE UNIQUE INDEX signing_keys_next ON signing_keys (issuer_id, algorithm) WHERE status = 'next';
  CREATE INDEX signing_keys_retired ON signing_keys (issuer_id, needed_until) WHERE status = 'retired';
`;

/**
 * Version 3. Grants from before this version have no row: they are not listed, and can be revoked as before. A
 * grant's row is deleted with its principal's.
 */
const VERSION_3 = `
  -- Above the generation of every client that was removed: none that is registered begins where tokens are left.
  ALTER TABLE issuers ADD COLUMN first_client_generation INTEGER NOT NULL DEFAULT 0;

  ALTER TABLE clients ADD COLUMN metadata TEXT;
  ALTER TABLE clients ADD COLUMN registration_token_digest TEXT;
  ALTER TABLE clients ADD COLUMN registered_at INTEGER;
  ALTER TABLE clients ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX clients_by_resource ON clients (issuer_id, resource) WHERE resource IS NOT NULL;
  CREATE INDEX clients_by_themselves ON clients (issuer_id) WHERE registration_token_digest IS NOT NULL;
  CREATE INDEX redirect_origins_by_client ON redirect_origins (issuer_id, client_id);

  ALTER TABLE tokens ADD COLUMN claims_request TEXT;
  ALTER TABLE tokens ADD COLUMN resources TEXT;
  ALTER TABLE authorization_codes ADD COLUMN claims_request TEXT;
  ALTER TABLE authorization_codes ADD COLUMN resources TEXT;

  -- What people are shown of grants, apart from principals, which every look-up of a token reads.
  CREATE TABLE grants (
    issuer_id          INTEGER NOT NULL REFERENCES issuers (id),
    grant_id           TEXT NOT NULL,
    client_id          TEXT NOT NULL,
    subject            TEXT NOT NULL,
    scopes             TEXT NOT NULL,
    session_id         TEXT,
    created_at_ms      INTEGER NOT NULL,
    client_generation  INTEGER NOT NULL,
    subject_generation INTEGER NOT NULL,
    session_generation INTEGER,
    grant_generation   INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, grant_id)
  ) STRICT;
  CREATE INDEX grants_by_subject ON grants (issuer_id, subject);

  CREATE TABLE one_time_identifiers (
    issuer_id  INTEGER NOT NULL REFERENCES issuers (id),
    id         TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX one_time_identifiers_by_expiry ON one_time_identifiers (issuer_id, expires_at);

  CREATE TABLE pushed_requests (
    issuer_id  INTEGER NOT NULL REFERENCES issuers (id),
    id         TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    parameters TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, id)
  ) STRICT;
  CREATE INDEX pushed_requests_by_expiry ON pushed_requests (issuer_id, expires_at);
`;

/**
 * Version 4. Events are numbered by issuer, in one tree: writing one changes one page. Numbers continue after all
 * earlier ones.
 */
const VERSION_4 = `
  -- The greatest number of an event that was swept: none is given twice, not even after the newest events are gone.
  ALTER TABLE issuers ADD COLUMN last_event_sequence INTEGER NOT NULL DEFAULT 0;
  UPDATE issuers SET last_event_sequence = coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0);

  CREATE TABLE events_4 (
    issuer_id INTEGER NOT NULL REFERENCES issuers (id),
    sequence  INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    type      TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (issuer_id, sequence)
  ) STRICT, WITHOUT ROWID;

  INSERT INTO events_4
  SELECT issuer_id, sequence, at_ms, type, target FROM events ORDER BY issuer_id, sequence;

  DROP TABLE events;
  ALTER TABLE events_4 RENAME TO events;
`;

/**
 * Version 5. APIs own scopes, and clients are allowed APIs. Every client that the operator added may still ask for
 * the APIs that exist. Clients that registered themselves may ask for none.
 */
const VERSION_5 = `
  -- The latest time, in seconds, at which a sweep deleted rows that were no longer kept.
  CREATE TABLE sweeps (
    issuer_id   INTEGER PRIMARY KEY REFERENCES issuers (id),
    swept_until INTEGER NOT NULL
  ) STRICT;

  -- Who acted, of events that were recorded as acts.
  ALTER TABLE events ADD COLUMN actor TEXT;

  -- What consent rests upon: writing when a secret was used changes the row, but not what the client registered.
  ALTER TABLE clients ADD COLUMN registration_revision INTEGER NOT NULL DEFAULT 0;
  UPDATE clients SET registration_revision = revision;

  -- A client has a list of secrets.
  ALTER TABLE clients ADD COLUMN secrets TEXT;
  UPDATE clients SET secrets = json_array(json_object('hash', secret_hash)) WHERE secret_hash IS NOT NULL;
  ALTER TABLE clients DROP COLUMN secret_hash;

  CREATE TABLE api_scopes (
    issuer_id INTEGER NOT NULL,
    scope     TEXT NOT NULL,
    client_id TEXT NOT NULL,
    PRIMARY KEY (issuer_id, scope, client_id),
    FOREIGN KEY (issuer_id, client_id) REFERENCES clients (issuer_id, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX api_scopes_by_client ON api_scopes (issuer_id, client_id);

  UPDATE clients SET metadata = json_set(coalesce(metadata, '{}'), '$.apis', (
    SELECT json_group_array(resource) FROM (
      SELECT DISTINCT a.resource FROM clients a
      WHERE a.issuer_id = clients.issuer_id AND a.resource IS NOT NULL ORDER BY a.resource)))
  WHERE registration_token_digest IS NULL AND grant_types <> '[]' AND EXISTS (
    SELECT 1 FROM clients a WHERE a.issuer_id = clients.issuer_id AND a.resource IS NOT NULL);
`;

/**
 * Version 6. A grant's principal is swept with the last token or code of the grant. An index of the time until which
 * it is kept would change with every refresh.
 */
const VERSION_6 = `
  -- Grants that were over when rows were last swept may have lost their last token or code already.
  DELETE FROM grants WHERE (issuer_id, grant_id) IN (
    SELECT p.issuer_id, p.id FROM sweeps s
    CROSS JOIN principals p ON p.issuer_id = s.issuer_id AND p.keep_until <= s.swept_until AND p.kind = 'grant');
  DELETE FROM principals WHERE (issuer_id, kind, id) IN (
    SELECT p.issuer_id, p.kind, p.id FROM sweeps s
    CROSS JOIN principals p ON p.issuer_id = s.issuer_id AND p.keep_until <= s.swept_until AND p.kind = 'grant');

  DROP INDEX principals_by_keep_until;
  CREATE INDEX sessions_by_keep_until ON principals (issuer_id, keep_until) WHERE kind = 'session';
`;

/** Version 7. Tokens and codes can be bound to a key. */
const VERSION_7 = `
  ALTER TABLE tokens ADD COLUMN cnf TEXT;
  ALTER TABLE authorization_codes ADD COLUMN cnf TEXT;
`;

/** Version 8. Codes and refresh tokens keep the authorization details of their grant. */
const VERSION_8 = `
  ALTER TABLE tokens ADD COLUMN authorization_details TEXT;
  ALTER TABLE authorization_codes ADD COLUMN authorization_details TEXT;
`;

/** Version 9. Tells earlier programs whether they can use the tables of a later one. */
const VERSION_9 = `
  CREATE TABLE IF NOT EXISTS schema_floor (version INTEGER NOT NULL) STRICT;
`;

/** Version 10. Events tell where a change came from. Events of earlier programs lack these columns. */
const VERSION_10 = {
  expand: `
  ALTER TABLE events ADD COLUMN address TEXT;
  ALTER TABLE events ADD COLUMN client_id TEXT;
  ALTER TABLE events ADD COLUMN subject TEXT;
  ALTER TABLE events ADD COLUMN reason TEXT;
  ALTER TABLE events ADD COLUMN request_id TEXT;
`,
  down: `
  ALTER TABLE events DROP COLUMN request_id;
  ALTER TABLE events DROP COLUMN reason;
  ALTER TABLE events DROP COLUMN subject;
  ALTER TABLE events DROP COLUMN client_id;
  ALTER TABLE events DROP COLUMN address;
`,
};

/**
 * Version 11. The table of one-time identifiers has row numbers. Before, its index by time contained the random
 * identifiers, so most insertions changed a page of their own there.
 */
const VERSION_11 = {
  expand: rebuiltIdentifiers('STRICT'),
  down: rebuiltIdentifiers('STRICT, WITHOUT ROWID'),
};

function rebuiltIdentifiers(options: string): string {
  return `
  CREATE TABLE one_time_identifiers_11 (
    issuer_id  INTEGER NOT NULL REFERENCES issuers (id),
    id         TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, id)
  ) ${options};
  INSERT INTO one_time_identifiers_11 SELECT issuer_id, id, expires_at FROM one_time_identifiers ORDER BY expires_at;
  DROP TABLE one_time_identifiers;
  ALTER TABLE one_time_identifiers_11 RENAME TO one_time_identifiers;
  CREATE INDEX one_time_identifiers_by_expiry ON one_time_identifiers (issuer_id, expires_at);
`;
}

/**
 * Version 12. APIs are found by every spelling of their URI. Clients that registered themselves tell until when they are
 * used, and from where they came. Those that were there before count as used now, and as long as they have tokens.
 * The records of clients that were public only by having no secret say it. Earlier versions read both alike. An issuer
 * has the end of the last one-time identifier that a sweep has forgotten. Pushed requests are pending rows. Earlier
 * versions find them in a view. It has row numbers, because their sweep goes by these. Exchanged tokens name their
 * ancestors. Earlier versions do not know that such a token ends with them, so it ends on the way back.
 */
const VERSION_12 = {
  expand: `
  ALTER TABLE issuers ADD COLUMN forgotten_until INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tokens ADD COLUMN ancestors TEXT;
  CREATE INDEX tokens_exchanged ON tokens (issuer_id, expires_at) WHERE ancestors IS NOT NULL;
  CREATE INDEX tokens_exchanged_for ON tokens (issuer_id, subject, expires_at) WHERE ancestors IS NOT NULL;
  CREATE INDEX tokens_by_grant ON tokens (issuer_id, grant_id, expires_at)
    WHERE grant_id IS NOT NULL AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL;
  CREATE INDEX authorization_codes_by_grant ON authorization_codes (issuer_id, grant_id);
  CREATE TABLE exchange_ends (
    issuer_id   INTEGER NOT NULL REFERENCES issuers (id),
    client_id   TEXT NOT NULL,
    subject     TEXT NOT NULL,
    ended_at_ms INTEGER NOT NULL,
    keep_until  INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, client_id, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX exchange_ends_by_keep_until ON exchange_ends (issuer_id, keep_until);
  DROP INDEX clients_by_resource;
  CREATE INDEX clients_by_lower_resource ON clients (issuer_id, lower(resource)) WHERE resource IS NOT NULL;
  ALTER TABLE clients ADD COLUMN used_until INTEGER;
  ALTER TABLE clients ADD COLUMN registered_from TEXT;
  ALTER TABLE clients ADD COLUMN document_valid_at INTEGER;
  UPDATE clients SET used_until = unixepoch() WHERE registration_token_digest IS NOT NULL;
  UPDATE clients SET used_until = max(used_until, t.latest)
  FROM (SELECT issuer_id, client_id, max(expires_at) AS latest FROM tokens GROUP BY issuer_id, client_id) t
  WHERE t.issuer_id = clients.issuer_id AND t.client_id = clients.id AND used_until IS NOT NULL;
  CREATE INDEX clients_by_last_use ON clients (issuer_id, coalesce(used_until, registered_at))
    WHERE registration_token_digest IS NOT NULL OR document_valid_at IS NOT NULL;
  CREATE INDEX clients_by_place ON clients (issuer_id, registered_from) WHERE registered_from IS NOT NULL;
  UPDATE clients
     SET metadata = CASE
           WHEN metadata IS NULL OR metadata = '{}' THEN '{"token_endpoint_auth_method":"none"}'
           ELSE substr(metadata, 1, length(metadata) - 1) || ',"token_endpoint_auth_method":"none"}'
         END
   WHERE secrets IS NULL AND coalesce(metadata, '') NOT LIKE '%"token_endpoint_auth_method":%';
  CREATE TABLE pending (
    issuer_id  INTEGER NOT NULL REFERENCES issuers (id),
    kind       TEXT NOT NULL,
    id         TEXT NOT NULL,
    other_id   TEXT,
    client_id  TEXT NOT NULL,
    data       TEXT NOT NULL,
    version    INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, kind, id)
  ) STRICT;
  CREATE UNIQUE INDEX pending_by_other_id ON pending (issuer_id, kind, other_id) WHERE other_id IS NOT NULL;
  CREATE INDEX pending_by_expiry ON pending (issuer_id, expires_at);
  INSERT INTO pending (issuer_id, kind, id, client_id, data, expires_at)
    SELECT issuer_id, 'pushed_request', id, client_id, parameters, expires_at FROM pushed_requests;
  DROP TABLE pushed_requests;
  CREATE VIEW pushed_requests AS
    SELECT rowid AS rowid, issuer_id, id, client_id, data AS parameters, expires_at
    FROM pending WHERE kind = 'pushed_request';
  CREATE TRIGGER pushed_requests_insert INSTEAD OF INSERT ON pushed_requests BEGIN
    INSERT INTO pending (issuer_id, kind, id, client_id, data, expires_at)
    VALUES (NEW.issuer_id, 'pushed_request', NEW.id, NEW.client_id, NEW.parameters, NEW.expires_at);
  END;
  CREATE TRIGGER pushed_requests_delete INSTEAD OF DELETE ON pushed_requests BEGIN
    DELETE FROM pending WHERE issuer_id = OLD.issuer_id AND kind = 'pushed_request' AND id = OLD.id;
  END;
`,
  down: `
  DROP VIEW pushed_requests;
  CREATE TABLE pushed_requests (
    issuer_id  INTEGER NOT NULL REFERENCES issuers (id),
    id         TEXT NOT NULL,
    client_id  TEXT NOT NULL,
    parameters TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (issuer_id, id)
  ) STRICT;
  CREATE INDEX pushed_requests_by_expiry ON pushed_requests (issuer_id, expires_at);
  INSERT INTO pushed_requests
    SELECT issuer_id, id, client_id, data, expires_at FROM pending WHERE kind = 'pushed_request';
  DROP TABLE pending;
  DELETE FROM tokens WHERE ancestors IS NOT NULL;
  DROP TABLE exchange_ends;
  DROP INDEX authorization_codes_by_grant;
  DROP INDEX tokens_by_grant;
  DROP INDEX tokens_exchanged_for;
  DROP INDEX tokens_exchanged;
  ALTER TABLE tokens DROP COLUMN ancestors;
  ALTER TABLE issuers DROP COLUMN forgotten_until;
  DROP INDEX clients_by_place;
  DROP INDEX clients_by_last_use;
  ALTER TABLE clients DROP COLUMN document_valid_at;
  ALTER TABLE clients DROP COLUMN registered_from;
  ALTER TABLE clients DROP COLUMN used_until;
  DROP INDEX clients_by_lower_resource;
  CREATE INDEX clients_by_resource ON clients (issuer_id, resource) WHERE resource IS NOT NULL;
`,
};

/** Version 13. Disabled users are found without reading all users. */
const VERSION_13 = {
  expand:
    'CREATE INDEX disabled_subjects ON principals (issuer_id, kind, id) WHERE disabled_at_ms IS NOT NULL',
  down: 'DROP INDEX disabled_subjects',
};

const FLOOR_SINCE = 9;

/** Migrating a database from a version before this one makes an assumption. */
const ALLOWED_APIS_SINCE = 5;

/** Tables in a file: the store's own, or those that a host keeps next to them. */
export interface SqliteTables {
  /** Reads the version as `user_version`. */
  readonly version: string;
  /** The state of the tables in a file. */
  stateIn(database: DatabaseSync): SchemaState;
  /** Stores the state after a migration. */
  store(database: DatabaseSync, state: SchemaState): void;
  /** One entry for each version, applied in order and never edited once released. */
  readonly migrations: readonly Migration[];
}

export const SQLITE_STORE_TABLES: SqliteTables = {
  version: 'PRAGMA user_version',
  stateIn(database) {
    const version = Number(database.prepare('PRAGMA user_version').get()?.user_version);
    if (version < FLOOR_SINCE) return { version, floor: version };
    return { version, floor: Number(database.prepare('SELECT version FROM schema_floor').get()?.version) };
  },
  store(database, { version, floor }) {
    database.exec(`PRAGMA user_version = ${version}`);
    database.exec('DELETE FROM schema_floor');
    database.prepare('INSERT INTO schema_floor (version) VALUES (?)').run(floor);
  },
  migrations: [
    VERSION_1,
    VERSION_2,
    VERSION_3,
    VERSION_4,
    VERSION_5,
    VERSION_6,
    VERSION_7,
    VERSION_8,
    VERSION_9,
    VERSION_10,
    VERSION_11,
    VERSION_12,
    VERSION_13,
  ],
};

export const ISSUER_SQL = {
  find: 'SELECT id FROM issuers WHERE issuer = ?',
  add: 'INSERT INTO issuers (issuer) VALUES (?) ON CONFLICT (issuer) DO NOTHING',
  first: 'SELECT issuer FROM issuers ORDER BY id LIMIT 1',
};

/**
 * Brings the store's tables up to date. Call it inside a write transaction: if several processes start together, one
 * migrates and the others find it done.
 * @returns what was assumed about existing rows
 * @throws Error if a newer program has changed the tables so that this one cannot use them
 */
export function migrate(
  database: DatabaseSync,
  path: string,
  direction: MigrationDirection = 'up',
): readonly MigrationAssumption[] {
  const version = migrateTables(database, path, SQLITE_STORE_TABLES, direction);
  return version > 0 && version < ALLOWED_APIS_SINCE ? ['clients_allowed_every_api'] : [];
}

/**
 * Migrates tables. Call it inside a write transaction.
 * @returns the version that they had before
 * @throws Error as `migrate`
 */
export function migrateTables(
  database: DatabaseSync,
  path: string,
  tables: SqliteTables,
  direction: MigrationDirection = 'up',
): number {
  const before = usableState(database, path, tables);
  const { scripts, state } = migrationPlan(direction, before, tables.migrations);
  if (scripts.length === 0) return before.version;
  for (const script of scripts) database.exec(script);
  tables.store(database, state);
  return before.version;
}

/**
 * The state of a file's tables; `NO_TABLES` if it has none yet.
 * @throws Error as `migrate`
 */
export function usableState(database: DatabaseSync, path: string, tables: SqliteTables): SchemaState {
  const state = tables.stateIn(database);
  if (!isTooNew(state, tables.migrations)) return state;
  throw new Error(
    `${path} was written by a newer grantd (schema ${state.version}, usable from schema ${state.floor}); ` +
      `this one knows schemas up to ${tables.migrations.length}`,
  );
}

/** Whether a file needs no migration. @throws Error as `migrate` */
export function isUpToDate(database: DatabaseSync, path: string, tables: SqliteTables): boolean {
  return canUse(usableState(database, path, tables), tables.migrations);
}

/**
 * Checks that a file is a store's before it is changed. Other programs number their schemas as well, so the tables
 * decide.
 * @throws Error if the file has tables that are not a store's
 */
export function requireNotForeign(database: DatabaseSync, path: string): void {
  // One statement, since another process may be creating the tables.
  const found = database
    .prepare(`
      SELECT count(*) AS tables, total(name = 'issuers') AS own, (SELECT user_version FROM pragma_user_version) AS version
      FROM sqlite_schema WHERE type = 'table'`)
    .get();
  if (Number(found?.tables) === 0) return;
  if (Number(found?.own) === 0 || Number(found?.version) === 0)
    throw new Error(`${path} is not a grantd database`);
}
