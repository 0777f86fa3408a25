// The tables of the PostgreSQL store.
import {
  namedStatements,
  PostgresConnections,
  type PostgresDeadlines,
  type PostgresPool,
  rowsOf,
} from './connections.ts';
import { type PostgresTables, rightsOn, usableState } from './migrate.ts';

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
  ALTER TABLE grantd.tokens ADD COLUMN ancestors text;
  CREATE INDEX tokens_exchanged ON grantd.tokens (issuer_id, expires_at) WHERE ancestors IS NOT NULL;
  CREATE INDEX tokens_exchanged_for ON grantd.tokens (issuer_id, subject, expires_at) WHERE ancestors IS NOT NULL;
  CREATE INDEX tokens_by_grant ON grantd.tokens (issuer_id, grant_id, expires_at)
    WHERE grant_id IS NOT NULL AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL;
  CREATE INDEX authorization_codes_by_grant ON grantd.authorization_codes (issuer_id, grant_id);
  CREATE TABLE grantd.exchange_ends (
    issuer_id   integer NOT NULL,
    client_id   text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    ended_at_ms bigint NOT NULL,
    keep_until  bigint NOT NULL,
    PRIMARY KEY (issuer_id, client_id, subject)
  );
  CREATE INDEX exchange_ends_by_keep_until ON grantd.exchange_ends (issuer_id, keep_until);
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
  DELETE FROM grantd.tokens WHERE ancestors IS NOT NULL;
  DROP TABLE grantd.exchange_ends;
  DROP INDEX grantd.authorization_codes_by_grant;
  DROP INDEX grantd.tokens_by_grant;
  DROP INDEX grantd.tokens_exchanged_for;
  DROP INDEX grantd.tokens_exchanged;
  ALTER TABLE grantd.tokens DROP COLUMN ancestors;
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

/** Version 11. Disabled users are found without reading all users. */
const VERSION_11 = {
  expand: `
  CREATE INDEX disabled_subjects ON grantd.principals (issuer_id, kind, id) WHERE disabled_at_ms IS NOT NULL`,
  down: 'DROP INDEX grantd.disabled_subjects',
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
    VERSION_11,
  ],
};

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
