// Tables of the PostgreSQL store, and their migrations.
import {
  canUse,
  isTooNew,
  type Migration,
  type MigrationDirection,
  migrationPlan,
  NO_TABLES,
  type SchemaState,
} from '../migrations.ts';
import {
  ended,
  namedStatements,
  PostgresConnections,
  type PostgresDeadlines,
  type PostgresPool,
  rowsOf,
  unnamed,
} from './connections.ts';

/** Tables with a versioned schema: the store's own, or those that a host keeps next to them. */
export interface PostgresTables {
  /**
   * The table that keeps the version, as `schema.table` in lower case. Table and schema are created if they are
   * missing.
   */
  readonly versions: string;
  /** The script of each version, which may hold several statements. Applied in order, never edited once released. */
  readonly migrations: readonly Migration[];
}

/** Migrating may take longer than a request would wait. */
const MIGRATION_TIMEOUT_MS = 10 * 60 * 1000;

/** While a migration waits for the lock of a table, every statement of other processes on it waits as well. */
const QUICKLY = "SET LOCAL lock_timeout = '1s'";

/** How soon a program notices that a newer one has migrated the tables. */
const LOOK_AGAIN_MS = 1000;

/**
 * Migrates tables. If several processes start together, one migrates and the others wait for it.
 * @returns the version that the tables had before; 0 if there were none
 * @throws Error if the database or the role lacks what the tables need,
 *   if a newer program has changed them so that this one cannot use them, or if an expansion or a
 *   contraction has waited a second for the lock of a table (its `code` is `55P03`); nothing is changed then
 */
export async function migratePostgres(
  connections: PostgresConnections,
  tables: PostgresTables,
  direction: MigrationDirection = 'up',
): Promise<number> {
  const rights = await rightsOn(connections, tables);
  const state = await usableState(connections, tables);
  if (migrationPlan(direction, state, tables.migrations).scripts.length === 0) return state.version;
  requireRightToCreate(rights);
  return migrate(connections.withStatementTimeout(MIGRATION_TIMEOUT_MS), tables, direction);
}

/**
 * The state of tables; `NO_TABLES` if there are none yet.
 * @throws Error as `migratePostgres`
 */
export async function usableState(
  connections: PostgresConnections,
  tables: PostgresTables,
): Promise<SchemaState> {
  return usable(await storedState(connections, tables), tables);
}

/** The state of tables, which this program may be unable to use; `NO_TABLES` if there are none yet. Changes nothing. */
export async function storedState(
  connections: PostgresConnections,
  { versions }: Pick<PostgresTables, 'versions'>,
): Promise<SchemaState> {
  const sql = await namedStatements(statementsOn({ versions }));
  const [found] = rowsOf<{ is_there: boolean }>(await connections.read([sql.isThere]));
  if (found?.is_there !== true) return NO_TABLES;
  return stateOf(rowsOf(await connections.read([sql.state])));
}

/** What a role may do, with names as SQL writes them. */
interface Rights {
  readonly role: string;
  readonly database: string;
  readonly encoding: string;
  readonly schema: string;
  readonly has_schema: boolean;
  readonly may_use: boolean;
  readonly may_create_tables: boolean;
  readonly may_create_schema: boolean;
}

/**
 * Looks at the database before anything is read from its tables or created.
 * @throws Error if it cannot hold every text, or if the role may not use the schema
 */
async function rightsOn(
  connections: PostgresConnections,
  { versions }: Pick<PostgresTables, 'versions'>,
): Promise<Rights> {
  const sql = await namedStatements(rightsStatements(schemaOf(versions)));
  const [rights] = rowsOf<Rights>(await connections.read([sql.rights]));
  if (rights === undefined) throw new TypeError('PostgreSQL does not list its current database');
  const { role, database, encoding, schema, has_schema, may_use } = rights;
  if (encoding !== 'UTF8')
    throw new Error(
      `the database ${database} has the encoding ${encoding}, which cannot hold every text: create another one with ` +
        "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
    );
  if (has_schema && !may_use)
    throw new Error(
      `the role ${role} may not use the schema ${schema}: run GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`,
    );
  return rights;
}

/** @throws Error if the role may not create the schema, or tables in it */
function requireRightToCreate(rights: Rights): void {
  const { role, database, schema, has_schema, may_create_tables, may_create_schema } = rights;
  if (has_schema ? may_create_tables : may_create_schema) return;
  throw new Error(
    has_schema
      ? `the role ${role} may not create tables in the schema ${schema}: run GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}`
      : `the role ${role} may not create the schema ${schema} in the database ${database}: ` +
          `run GRANT CREATE ON DATABASE ${database} TO ${role}, or CREATE SCHEMA ${schema} AUTHORIZATION ${role}`,
  );
}

function rightsStatements(schema: string) {
  return {
    rights: `
      SELECT quote_ident(current_user) AS role, quote_ident(d.datname) AS database, '${schema}' AS schema,
        pg_encoding_to_char(d.encoding) AS encoding, n.oid IS NOT NULL AS has_schema,
        has_database_privilege(d.oid, 'CREATE') AS may_create_schema,
        coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_use,
        coalesce(has_schema_privilege(n.oid, 'CREATE'), false) AS may_create_tables
      FROM pg_database d LEFT JOIN pg_namespace n ON n.nspname = '${schema}'
      WHERE d.datname = current_database()`,
  };
}

const FIRST_ISSUER_SQL = { first: 'SELECT issuer FROM grantd.issuers ORDER BY id LIMIT 1' };

/**
 * The issuer for which a database was opened first.
 * @returns `undefined` if there is none in it yet
 * @throws Error if the database cannot be reached in time, or was written by a newer program
 */
export async function readStoredIssuer(
  pool: PostgresPool,
  deadlines: PostgresDeadlines = {},
): Promise<string | undefined> {
  const connections = new PostgresConnections(pool, deadlines);
  await rightsOn(connections, STORE_TABLES);
  if ((await usableState(connections, STORE_TABLES)).version === 0) return undefined;
  const sql = await namedStatements(FIRST_ISSUER_SQL);
  return rowsOf<{ issuer: string }>(await connections.read([sql.first]))[0]?.issuer;
}

/**
 * @returns a function that rejects once the tables can no longer be used; it checks at most once in `LOOK_AGAIN_MS`
 */
export function requireUsableTables(
  connections: PostgresConnections,
  tables: PostgresTables,
): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let pending: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    if (!canUse(await usableState(connections, tables), tables.migrations)) throw new Error(OTHER_VERSION);
    goodUntilMs = performance.now() + LOOK_AGAIN_MS;
  };
  return async () => {
    if (performance.now() < goodUntilMs) return;
    pending ??= look().finally(() => {
      pending = undefined;
    });
    await pending;
  };
}

/** Another program has undone migrations meanwhile. */
const OTHER_VERSION = 'the tables were changed while they were open: the program has to be started again';

async function migrate(
  connections: PostgresConnections,
  tables: PostgresTables,
  direction: MigrationDirection,
): Promise<number> {
  const sql = await namedStatements(statementsOn(tables));
  const prepare = [sql.lock, sql.createSchema, sql.createVersions, sql.state] as const;
  return connections.transaction(
    prepare.map((statement) => [statement]),
    (found) => {
      const before = usable(stateOf(rowsOf(found.at(-1))), tables);
      const { scripts, state, isExpansion } = migrationPlan(direction, before, tables.migrations);
      if (scripts.length === 0) return ended(before.version);
      return {
        calls: [
          ...(isExpansion || direction === 'contract' ? [QUICKLY, ...scripts] : scripts).map(
            (script) => [unnamed(script)] as const,
          ),
          [sql.forgetLater, state.version],
          [sql.store, state.version, state.floor],
        ],
        outcome: () => before.version,
      };
    },
  );
}

/** @throws {TypeError} the name of the table has another form */
function schemaOf(versions: string): string {
  const [, schema] = /^([a-z_]\w*)\.[a-z_]\w*$/.exec(versions) ?? [];
  if (schema !== undefined && versions === versions.toLowerCase()) return schema;
  throw new TypeError(`versions: expected schema.table in lower case, not ${versions}`);
}

function statementsOn({ versions }: Pick<PostgresTables, 'versions'>) {
  const schema = schemaOf(versions);
  return {
    isThere: `SELECT to_regclass('${versions}') IS NOT NULL AS is_there`,
    // Databases of early versions have no column for the floor.
    state: `
      SELECT version, coalesce((to_jsonb(v) ->> 'floor')::integer, version) AS floor
      FROM ${versions} v ORDER BY version DESC LIMIT 1`,
    // Any number that other programs are unlikely to lock.
    lock: `SELECT pg_advisory_xact_lock(hashtext('${versions}'))`,
    // `CREATE SCHEMA IF NOT EXISTS` needs the right to create one, even if it exists.
    createSchema: `
      DO $$ BEGIN
        IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA IF NOT EXISTS ${schema}; END IF;
      END $$`,
    createVersions: `CREATE TABLE IF NOT EXISTS ${versions} (version integer PRIMARY KEY, floor integer)`,
    forgetLater: `DELETE FROM ${versions} WHERE version > $1`,
    store: `
      INSERT INTO ${versions} (version, floor) VALUES ($1, $2)
      ON CONFLICT (version) DO UPDATE SET floor = excluded.floor`,
  };
}

function stateOf([row]: readonly SchemaState[]): SchemaState {
  return row ?? NO_TABLES;
}

function usable(state: SchemaState, { versions, migrations }: PostgresTables): SchemaState {
  if (!isTooNew(state, migrations)) return state;
  throw new Error(
    `the database was written by a newer program: ${versions} says ${state.version}, usable from ${state.floor}, ` +
      `and this one knows versions up to ${migrations.length}`,
  );
}

/**
 * Version 1, in the schema `grantd`. Columns mean the same as in SQLite. Identifiers compare by their bytes, which is
 * fast and independent of the system's collations. Tables that grow have no foreign keys: each insertion would lock
 * the row of its issuer.
 */
const VERSION_1 = `
  CREATE TABLE grantd.issuers (
    id                  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issuer              text COLLATE "C" NOT NULL UNIQUE,
    not_before_ms       bigint,
    last_event_sequence bigint NOT NULL DEFAULT 0,
    -- Which primary wrote here last, by its timeline; see primary.ts.
    epoch               integer NOT NULL DEFAULT 0,
    epoch_timeline      text,
    epoch_since         timestamptz NOT NULL DEFAULT to_timestamp(0)
  );

  -- One row an issuer, locked by whoever sweeps.
  CREATE TABLE grantd.sweeps (
    issuer_id integer PRIMARY KEY REFERENCES grantd.issuers (id)
  );

  CREATE TABLE grantd.clients (
    issuer_id              integer NOT NULL REFERENCES grantd.issuers (id),
    id                     text COLLATE "C" NOT NULL,
    name                   text,
    secret_hash            text,
    grant_types            text NOT NULL,
    scopes                 text NOT NULL,
    redirect_uris          text NOT NULL,
    resource               text,
    rotate_refresh_tokens  boolean,
    access_token_format    text,
    access_token_algorithm text,
    id_token_algorithm     text,
    generation             bigint NOT NULL DEFAULT 0,
    raised_at_ms           bigint,
    disabled_at_ms         bigint,
    PRIMARY KEY (issuer_id, id)
  );

  CREATE TABLE grantd.redirect_origins (
    issuer_id integer NOT NULL,
    origin    text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer_id, origin, client_id),
    FOREIGN KEY (issuer_id, client_id) REFERENCES grantd.clients (issuer_id, id)
  );

  -- Subjects, sessions and grants. Subjects have no keep_until: they stay for ever.
  CREATE TABLE grantd.principals (
    issuer_id      integer NOT NULL,
    kind           text COLLATE "C" NOT NULL CHECK (kind IN ('subject', 'session', 'grant')),
    id             text COLLATE "C" NOT NULL,
    generation     bigint NOT NULL,
    raised_at_ms   bigint,
    disabled_at_ms bigint,
    keep_until     bigint,
    PRIMARY KEY (issuer_id, kind, id)
  );
  CREATE INDEX principals_by_keep_until ON grantd.principals (issuer_id, keep_until) WHERE keep_until IS NOT NULL;

  -- Room on each page, so that revoking and superseding a row touches no index.
  CREATE TABLE grantd.tokens (
    issuer_id          integer NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    kind               text COLLATE "C" NOT NULL CHECK (kind IN ('access_token', 'refresh_token')),
    digest             text COLLATE "C" NOT NULL,
    client_id          text COLLATE "C" NOT NULL,
    scopes             text NOT NULL,
    token_type         text,
    subject            text COLLATE "C",
    claims             text,
    issued_at_ms       bigint NOT NULL,
    expires_at         bigint NOT NULL,
    keep_until         bigint NOT NULL CHECK (keep_until >= expires_at),
    key_id             text COLLATE "C",
    pair_id            text COLLATE "C",
    family_id          text COLLATE "C",
    grant_id           text COLLATE "C",
    session_id         text COLLATE "C",
    superseded_at_ms   bigint,
    successor_id       text COLLATE "C",
    revoked_at_ms      bigint,
    client_generation  bigint NOT NULL,
    subject_generation bigint,
    session_generation bigint,
    grant_generation   bigint,
    PRIMARY KEY (issuer_id, id)
  ) WITH (fillfactor = 90);
  CREATE INDEX tokens_by_pair ON grantd.tokens (issuer_id, pair_id) WHERE pair_id IS NOT NULL;
  CREATE INDEX tokens_by_family ON grantd.tokens (issuer_id, family_id) WHERE family_id IS NOT NULL;
  CREATE INDEX tokens_by_keep_until ON grantd.tokens (issuer_id, keep_until);

  CREATE TABLE grantd.authorization_codes (
    issuer_id          integer NOT NULL,
    id                 text COLLATE "C" NOT NULL,
    client_id          text COLLATE "C" NOT NULL,
    redirect_uri       text NOT NULL,
    redirect_uri_given boolean NOT NULL,
    code_challenge     text,
    scopes             text NOT NULL,
    subject            text COLLATE "C" NOT NULL,
    grant_id           text COLLATE "C" NOT NULL,
    session_id         text COLLATE "C",
    nonce              text,
    claims             text NOT NULL,
    issued_at_ms       bigint NOT NULL,
    expires_at         bigint NOT NULL,
    keep_until         bigint NOT NULL CHECK (keep_until >= expires_at),
    redeemed_at_ms     bigint,
    revoked_at_ms      bigint,
    client_generation  bigint NOT NULL,
    subject_generation bigint NOT NULL,
    session_generation bigint,
    grant_generation   bigint NOT NULL,
    PRIMARY KEY (issuer_id, id)
  );
  CREATE INDEX authorization_codes_by_keep_until ON grantd.authorization_codes (issuer_id, keep_until);

  CREATE TABLE grantd.signing_keys (
    issuer_id          integer NOT NULL REFERENCES grantd.issuers (id),
    kid                text COLLATE "C" NOT NULL,
    algorithm          text COLLATE "C" NOT NULL,
    status             text COLLATE "C" NOT NULL CHECK (status IN ('next', 'current', 'retired')),
    public_jwk         text NOT NULL,
    sealed_private_key text NOT NULL,
    created_at_ms      bigint NOT NULL,
    retired_at_ms      bigint,
    needed_until       bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (issuer_id, kid)
  );
  CREATE UNIQUE INDEX signing_keys_current ON grantd.signing_keys (issuer_id, algorithm) WHERE status = 'current';
  CREATE UNIQUE INDEX signing_keys_next ON grantd.signing_keys (issuer_id, algorithm) WHERE status = 'next';

  -- Transactions commit in another order than they take their ids. The sequence that readers follow is given to rows
  -- that are committed already.
  CREATE TABLE grantd.events (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issuer_id integer NOT NULL,
    sequence  bigint,
    at_ms     bigint NOT NULL,
    type      text COLLATE "C" NOT NULL,
    target    text NOT NULL
  );
  CREATE UNIQUE INDEX events_by_sequence ON grantd.events (issuer_id, sequence) WHERE sequence IS NOT NULL;
  CREATE INDEX events_without_sequence ON grantd.events (issuer_id, id) WHERE sequence IS NULL;
  CREATE INDEX events_by_age ON grantd.events (issuer_id, at_ms);
`;

/**
 * Version 2. Grants from before this version have no row: they are not listed, and can be revoked as before. A
 * grant's row is deleted with its principal's.
 */
const VERSION_2 = `
  -- Above the generation of every client that was removed: none that is registered begins where tokens are left.
  ALTER TABLE grantd.issuers ADD COLUMN first_client_generation bigint NOT NULL DEFAULT 0;

  ALTER TABLE grantd.clients
    ADD COLUMN metadata text,
    ADD COLUMN registration_token_digest text,
    ADD COLUMN registered_at bigint,
    ADD COLUMN revision bigint NOT NULL DEFAULT 0;
  CREATE INDEX clients_by_resource ON grantd.clients (issuer_id, resource) WHERE resource IS NOT NULL;
  CREATE INDEX clients_by_themselves ON grantd.clients (issuer_id) WHERE registration_token_digest IS NOT NULL;
  CREATE INDEX redirect_origins_by_client ON grantd.redirect_origins (issuer_id, client_id);

  ALTER TABLE grantd.tokens ADD COLUMN claims_request text, ADD COLUMN resources text;
  ALTER TABLE grantd.authorization_codes ADD COLUMN claims_request text, ADD COLUMN resources text;

  -- What people are shown of grants, apart from principals, which every look-up of a token reads.
  CREATE TABLE grantd.grants (
    issuer_id          integer NOT NULL,
    grant_id           text COLLATE "C" NOT NULL,
    client_id          text COLLATE "C" NOT NULL,
    subject            text COLLATE "C" NOT NULL,
    scopes             text NOT NULL,
    session_id         text COLLATE "C",
    created_at_ms      bigint NOT NULL,
    client_generation  bigint NOT NULL,
    subject_generation bigint NOT NULL,
    session_generation bigint,
    grant_generation   bigint NOT NULL,
    PRIMARY KEY (issuer_id, grant_id)
  );
  CREATE INDEX grants_by_subject ON grantd.grants (issuer_id, subject);

  CREATE TABLE grantd.one_time_identifiers (
    issuer_id  integer NOT NULL,
    id         text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (issuer_id, id)
  );
  CREATE INDEX one_time_identifiers_by_expiry ON grantd.one_time_identifiers (issuer_id, expires_at);

  CREATE TABLE grantd.pushed_requests (
    issuer_id  integer NOT NULL,
    id         text COLLATE "C" NOT NULL,
    client_id  text COLLATE "C" NOT NULL,
    parameters text NOT NULL,
    expires_at bigint NOT NULL,
    PRIMARY KEY (issuer_id, id)
  );
  CREATE INDEX pushed_requests_by_expiry ON grantd.pushed_requests (issuer_id, expires_at);
`;

/**
 * Version 3. APIs own scopes, and clients are allowed APIs. Every client that the operator added may still ask for
 * the APIs that exist. Clients that registered themselves may ask for none.
 */
const VERSION_3 = `
  -- Who acted, of events that were recorded as acts.
  ALTER TABLE grantd.events ADD COLUMN actor text;

  -- What consent rests upon: writing when a secret was used changes the row, but not what the client registered.
  ALTER TABLE grantd.clients ADD COLUMN registration_revision bigint NOT NULL DEFAULT 0;
  UPDATE grantd.clients SET registration_revision = revision;

  -- A client has a list of secrets.
  ALTER TABLE grantd.clients ADD COLUMN secrets text;
  UPDATE grantd.clients SET secrets = json_build_array(json_build_object('hash', secret_hash))::text
    WHERE secret_hash IS NOT NULL;
  ALTER TABLE grantd.clients DROP COLUMN secret_hash;

  CREATE TABLE grantd.api_scopes (
    issuer_id integer NOT NULL,
    scope     text COLLATE "C" NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer_id, scope, client_id),
    FOREIGN KEY (issuer_id, client_id) REFERENCES grantd.clients (issuer_id, id)
  );
  CREATE INDEX api_scopes_by_client ON grantd.api_scopes (issuer_id, client_id);

  UPDATE grantd.clients c SET metadata = (coalesce(c.metadata, '{}')::jsonb || jsonb_build_object('apis', a.uris))::text
  FROM (
    SELECT issuer_id, jsonb_agg(DISTINCT resource) AS uris FROM grantd.clients
    WHERE resource IS NOT NULL GROUP BY issuer_id) a
  WHERE a.issuer_id = c.issuer_id AND c.registration_token_digest IS NULL AND c.grant_types <> '[]';
`;

/** Version 4. Tokens and codes can be bound to a key. */
const VERSION_4 = `
  ALTER TABLE grantd.tokens ADD COLUMN cnf text;
  ALTER TABLE grantd.authorization_codes ADD COLUMN cnf text;
`;

/** Version 5. Codes and refresh tokens keep the authorization details of their grant. */
const VERSION_5 = `
  ALTER TABLE grantd.tokens ADD COLUMN authorization_details text;
  ALTER TABLE grantd.authorization_codes ADD COLUMN authorization_details text;
`;

/** Version 6. Tells earlier programs whether they can use the tables of a later one. */
const VERSION_6 = `
  ALTER TABLE grantd.schema_versions ADD COLUMN IF NOT EXISTS floor integer;
`;

/** Version 7. Events tell where a change came from. Events of earlier programs lack these columns. */
const VERSION_7 = {
  expand: `
  ALTER TABLE grantd.events
    ADD COLUMN address text, ADD COLUMN client_id text, ADD COLUMN subject text, ADD COLUMN reason text,
    ADD COLUMN request_id text;
`,
  down: `
  ALTER TABLE grantd.events
    DROP COLUMN address, DROP COLUMN client_id, DROP COLUMN subject, DROP COLUMN reason, DROP COLUMN request_id;
`,
};

/**
 * Version 8. Programs insert events into `unnumbered_events`. While earlier ones use the same tables, this is a view of
 * the rows without a number, so that all events get their numbers in one order.
 */
const VERSION_8 = {
  expand: `
  CREATE VIEW grantd.unnumbered_events AS
    SELECT id, at_ms, issuer_id, type, target, actor, address, client_id, subject, reason, request_id
    FROM grantd.events WHERE sequence IS NULL;
`,
  down: `
  DROP VIEW grantd.unnumbered_events;
`,
};

/**
 * Version 9. Events wait for their number in a small table, so that numbering updates no index of the large one. Its ids
 * continue those of the large one. Earlier programs notice that they may no longer use the tables only after they have
 * written, so what they insert is refused.
 */
const VERSION_9 = {
  contract: `
  DROP VIEW grantd.unnumbered_events;
  CREATE TABLE grantd.unnumbered_events (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    at_ms      bigint NOT NULL,
    issuer_id  integer NOT NULL,
    type       text COLLATE "C" NOT NULL,
    target     text NOT NULL,
    actor      text,
    address    text,
    client_id  text,
    subject    text,
    reason     text,
    request_id text,
    PRIMARY KEY (issuer_id, id)
  );
  SELECT setval(pg_get_serial_sequence('grantd.unnumbered_events', 'id'), nextval('grantd.events_id_seq'));
  WITH moved AS (
    DELETE FROM grantd.events WHERE sequence IS NULL
    RETURNING id, at_ms, issuer_id, type, target, actor, address, client_id, subject, reason, request_id)
  INSERT INTO grantd.unnumbered_events OVERRIDING SYSTEM VALUE SELECT * FROM moved;
  DROP INDEX grantd.events_by_age;
  ALTER TABLE grantd.events DROP COLUMN id, ADD CONSTRAINT events_are_numbered CHECK (sequence IS NOT NULL) NOT VALID;
`,
};

/**
 * Version 10. APIs are found by every spelling of their URI. Clients that registered themselves tell until when they are
 * used, and from where they came. Those that were there before count as used now, and as long as they have tokens.
 * The records of clients that were public only by having no secret say it. Earlier versions read both alike. An issuer
 * has the end of the last one-time identifier that a sweep has forgotten. The function is volatile, so that it sees what
 * was committed after its statement began. Pushed requests are pending rows. Earlier versions find them in a view. It has
 * row addresses, because their sweep goes by these.
 */
const VERSION_10 = {
  expand: `
  ALTER TABLE grantd.issuers ADD COLUMN forgotten_until bigint NOT NULL DEFAULT 0;
  CREATE FUNCTION grantd.forgotten_until(issuer integer) RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT forgotten_until FROM grantd.issuers WHERE id = $1';
  DROP INDEX grantd.clients_by_resource;
  CREATE INDEX clients_by_lower_resource ON grantd.clients (issuer_id, lower(resource COLLATE "C"))
    WHERE resource IS NOT NULL;
  ALTER TABLE grantd.clients ADD COLUMN used_until bigint, ADD COLUMN registered_from text,
    ADD COLUMN document_valid_at bigint;
  UPDATE grantd.clients SET used_until = extract(epoch FROM now())::bigint WHERE registration_token_digest IS NOT NULL;
  UPDATE grantd.clients c SET used_until = greatest(c.used_until, t.latest)
  FROM (SELECT issuer_id, client_id, max(expires_at) AS latest FROM grantd.tokens GROUP BY issuer_id, client_id) t
  WHERE t.issuer_id = c.issuer_id AND t.client_id = c.id AND c.used_until IS NOT NULL;
  CREATE INDEX clients_by_last_use ON grantd.clients (issuer_id, coalesce(used_until, registered_at))
    WHERE registration_token_digest IS NOT NULL OR document_valid_at IS NOT NULL;
  CREATE INDEX clients_by_place ON grantd.clients (issuer_id, registered_from) WHERE registered_from IS NOT NULL;
  UPDATE grantd.clients
     SET metadata = CASE
           WHEN metadata IS NULL OR metadata = '{}' THEN '{"token_endpoint_auth_method":"none"}'
           ELSE substr(metadata, 1, length(metadata) - 1) || ',"token_endpoint_auth_method":"none"}'
         END
   WHERE secrets IS NULL AND coalesce(metadata, '') NOT LIKE '%"token_endpoint_auth_method":%';
  ALTER TABLE grantd.pushed_requests RENAME TO pending;
  ALTER TABLE grantd.pending RENAME COLUMN parameters TO data;
  ALTER TABLE grantd.pending
    ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'pushed_request', ADD COLUMN other_id text COLLATE "C",
    ADD COLUMN version bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT pushed_requests_pkey, ADD PRIMARY KEY (issuer_id, kind, id);
  ALTER INDEX grantd.pushed_requests_by_expiry RENAME TO pending_by_expiry;
  CREATE UNIQUE INDEX pending_by_other_id ON grantd.pending (issuer_id, kind, other_id) WHERE other_id IS NOT NULL;
  CREATE VIEW grantd.pushed_requests AS
    SELECT ctid, issuer_id, id, client_id, data AS parameters, expires_at
    FROM grantd.pending WHERE kind = 'pushed_request';
`,
  down: `
  DROP VIEW grantd.pushed_requests;
  DELETE FROM grantd.pending WHERE kind <> 'pushed_request';
  ALTER TABLE grantd.pending RENAME TO pushed_requests;
  ALTER TABLE grantd.pushed_requests RENAME COLUMN data TO parameters;
  ALTER TABLE grantd.pushed_requests DROP COLUMN kind, DROP COLUMN other_id, DROP COLUMN version,
    ADD CONSTRAINT pushed_requests_pkey PRIMARY KEY (issuer_id, id);
  ALTER INDEX grantd.pending_by_expiry RENAME TO pushed_requests_by_expiry;
  DROP FUNCTION grantd.forgotten_until(integer);
  ALTER TABLE grantd.issuers DROP COLUMN forgotten_until;
  DROP INDEX grantd.clients_by_place;
  DROP INDEX grantd.clients_by_last_use;
  ALTER TABLE grantd.clients DROP COLUMN document_valid_at, DROP COLUMN registered_from,
    DROP COLUMN used_until;
  DROP INDEX grantd.clients_by_lower_resource;
  CREATE INDEX clients_by_resource ON grantd.clients (issuer_id, resource) WHERE resource IS NOT NULL;
`,
};

/** Migrating a database from a version before this one makes an assumption. */
export const ALLOWED_APIS_SINCE = 3;

export const STORE_TABLES: PostgresTables = {
  versions: 'grantd.schema_versions',
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
  ],
};

const SOUNDNESS_SQL = {
  settings: `
    SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
      pg_is_in_recovery() AS is_standby, 1::bigint AS one`,
};

type SettingsRow = {
  readonly fsync: string;
  readonly synchronous_commit: string;
  readonly is_standby: boolean;
  readonly one: unknown;
};

/** Settings of `synchronous_commit` with which a completed commit survives the loss of the server. */
const DURABLE = ['on', 'remote_apply'];

/**
 * Checks that PostgreSQL is writable and that its commits are durable.
 * @throws Error names the wrong setting
 */
export async function assertSound(connections: PostgresConnections): Promise<void> {
  const sql = await namedStatements(SOUNDNESS_SQL);
  const [row] = rowsOf<SettingsRow>(await connections.read([sql.settings]));
  if (row === undefined) throw new Error('PostgreSQL does not tell its settings');
  if (row.one !== 1)
    throw new Error('the pool must leave it to each query how its values are read (`types`)');
  if (row.is_standby) throw new Error('PostgreSQL is a standby here: grantd needs the primary');
  if (row.fsync !== 'on') {
    throw new Error(`PostgreSQL runs with fsync=${row.fsync} instead of on: a commit could be lost`);
  }
  if (!DURABLE.includes(row.synchronous_commit)) {
    throw new Error(
      `PostgreSQL runs with synchronous_commit=${row.synchronous_commit} instead of on: a commit could be lost`,
    );
  }
}

/** SQLSTATE of a table, column or function that does not exist. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '42703', '42883']);

/**
 * Lets PostgreSQL parse every statement without running it, so that a missing table or column is found when the store
 * opens and not by a request.
 * @throws Error names what is missing; `cause` is the driver's error
 */
export async function requireTables(
  connections: PostgresConnections,
  statements: readonly string[],
): Promise<void> {
  const readings = statements.map(
    (text, index) => `PREPARE grantd_reading_${index} AS ${text}; DEALLOCATE grantd_reading_${index};`,
  );
  try {
    await connections.read([unnamed(readings.join('\n'))]);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && MISSING.has(error.code))) throw error;
    throw new Error(
      `the database lacks a part of the tables that grantd made (${error.message}): restore it from a backup`,
      { cause: error },
    );
  }
}
