// The tables of the PostgreSQL store, and the functions that write its tokens.
// Long: migrations are read in their order.
import { scriptOf } from '../migrations.ts';
import {
  NEEDS_BEGIN,
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

/** Columns of a new token, as PostgreSQL reads them from JSON. A version that adds one has functions with it. */
const NEW_TOKEN = `id text, kind text, digest text, client_id text, scopes text, token_type text, cnf text, subject text,
      claims text, claims_request text, resources text, authorization_details text, issued_at_ms bigint,
      expires_at bigint, keep_until bigint, key_id text, pair_id text, family_id text, grant_id text, session_id text,
      ancestors text`;

/** What every function returns: the stamp of `primary.ts`. */
const STAMPED =
  'OUT epoch integer, OUT is_known boolean, OUT age_ms bigint, OUT version integer, OUT floor integer';

/**
 * A function that is a whole write, of which every statement sees what was committed before it began. It makes sure of
 * what `BEGIN` does in `connections.ts`, waits for a lock as long as `p_wait` says, and writes the message for standbys.
 */
const writeFunction = (name: string, parameters: string, body: string) => `
  CREATE FUNCTION grantd.${name}(p_issuer integer, ${parameters}, p_wait text,
    ${STAMPED}, OUT outcome text) LANGUAGE plpgsql AS $$
  #variable_conflict use_column
  DECLARE
    v text; v_row record; v_grant bigint; v_is_first boolean;
  BEGIN
    IF current_setting('transaction_isolation') <> 'read committed'
      OR (current_setting('transaction_read_only') = 'on' AND NOT pg_is_in_recovery()) THEN
      RAISE EXCEPTION 'the settings of the role need an explicit transaction' USING ERRCODE = '${NEEDS_BEGIN}';
    END IF;
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
      v := set_config('synchronous_commit', 'on', true);
    END IF;
    IF current_setting('client_min_messages') = 'error' THEN
      v := set_config('client_min_messages', 'warning', true);
    END IF;
    v := set_config('lock_timeout', p_wait, true);
    IF current_setting('synchronous_standby_names') <> '' THEN
      PERFORM pg_logical_emit_message(true, 'grantd', '');
    END IF;
    ${body}
  END $$;`;

/** Reads the stamp together with what else a function needs. */
const stampAnd = (columns: string, joins: string) => `
    SELECT i.epoch, i.epoch_timeline IS NOT DISTINCT FROM substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS is_known,
      (extract(epoch FROM clock_timestamp() - i.epoch_since) * 1000)::bigint AS age_ms,
      n.version, coalesce(n.floor, n.version) AS floor ${columns}
    INTO v_row
    FROM grantd.issuers i CROSS JOIN grantd.schema_versions n ${joins}
    WHERE i.id = p_issuer ORDER BY n.version DESC LIMIT 1;
    epoch := v_row.epoch; is_known := v_row.is_known; age_ms := v_row.age_ms;
    version := v_row.version; floor := v_row.floor; outcome := 'refused';`;

const RECORD = `
    IF p_event IS NOT NULL THEN
      INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target, actor, address, client_id, subject, reason,
        request_id)
      SELECT p_issuer, e.* FROM json_to_record(p_event) AS e (at_ms bigint, type text, target text, actor text,
        address text, client_id text, subject text, reason text, request_id text);
    END IF;`;

/**
 * Stores tokens upon a refresh token or code that is alive at `p_now`. They copy its generations: one that is raised
 * meanwhile is ahead of them as well. Every change of a grant's tokens begins with the lock of its row, which is updated
 * if the tokens outlive it. The rules are those of `outcomeUpon`.
 * Of the times until which keys are kept, the latest is the first.
 * @param columns of a new token
 * @param used the type of `p_used`
 * @param use sets columns of the row
 */
const upon = (columns: string, name: string, table: string, used: string, isUnused: string, use: string) =>
  writeFunction(
    name,
    `p_id text, p_now bigint, p_client text, p_subject text, p_session text, p_grant text, p_tokens json,
    p_issued bigint, p_grant_until bigint, p_session_until bigint, p_keys text[], p_keys_until bigint[],
    p_once text, p_once_until bigint, p_used ${used}, p_event json`,
    `IF p_grant IS NULL THEN
      PERFORM 1 FROM grantd.${table} t WHERE t.issuer_id = p_issuer AND t.id = p_id FOR UPDATE;
    ELSE
      UPDATE grantd.principals p SET keep_until = p_grant_until
      WHERE p.issuer_id = p_issuer AND p.kind = 'grant' AND p.id = p_grant AND p.keep_until < p_grant_until
      RETURNING p.generation INTO v_grant;
      IF NOT FOUND THEN
        SELECT p.generation INTO v_grant FROM grantd.principals p
        WHERE p.issuer_id = p_issuer AND p.kind = 'grant' AND p.id = p_grant FOR UPDATE;
      END IF;
    END IF;
    ${stampAnd(
      `, t.client_generation, t.subject_generation, t.session_generation, t.grant_generation,
      t.client_generation >= c.generation AND (p_subject IS NULL OR t.subject_generation >= s.generation)
        AND (p_session IS NULL OR t.session_generation >= e.generation)
        AND (p_grant IS NULL OR t.grant_generation >= v_grant) AS is_alive,
      e.keep_until AS session_until, EXISTS (
        SELECT 1 FROM grantd.signing_keys k
        WHERE k.issuer_id = p_issuer AND k.kid = ANY (p_keys) AND k.needed_until < p_keys_until[1]) AS may_outlive_keys`,
      `LEFT JOIN grantd.${table} t ON t.issuer_id = p_issuer AND t.id = p_id AND ${isUnused}
        AND t.expires_at > p_now / 1000 AND t.revoked_at_ms IS NULL
        AND least(t.issued_at_ms, p_issued) >= coalesce(i.not_before_ms, 0)
        AND t.client_id = p_client AND t.subject IS NOT DISTINCT FROM p_subject
        AND t.session_id IS NOT DISTINCT FROM p_session AND t.grant_id IS NOT DISTINCT FROM p_grant
      LEFT JOIN grantd.clients c ON c.issuer_id = p_issuer AND c.id = p_client
      LEFT JOIN grantd.principals s ON s.issuer_id = p_issuer AND s.kind = 'subject' AND s.id = p_subject
      LEFT JOIN grantd.principals e ON e.issuer_id = p_issuer AND e.kind = 'session' AND e.id = p_session`,
    )}
    IF v_row.is_alive IS NOT TRUE THEN RETURN; END IF;
    IF p_once IS NOT NULL THEN
      INSERT INTO grantd.one_time_identifiers AS known (issuer_id, id, expires_at)
      VALUES (p_issuer, p_once, p_once_until)
      ON CONFLICT (issuer_id, id) DO UPDATE SET expires_at = excluded.expires_at
      WHERE known.expires_at <= p_now / 1000 AND known.expires_at < excluded.expires_at
      RETURNING expires_at > grantd.forgotten_until(issuer_id) INTO v_is_first;
      IF v_is_first IS NOT TRUE THEN
        outcome := 'already_used';
        RETURN;
      END IF;
    END IF;
    IF p_used IS NOT NULL THEN
      UPDATE grantd.${table} t SET ${use}
      WHERE t.issuer_id = p_issuer AND t.id = p_id AND t.revoked_at_ms IS NULL AND ${isUnused};
      IF NOT FOUND THEN RETURN; END IF;
    END IF;
    IF v_row.session_until < p_session_until THEN
      UPDATE grantd.principals p SET keep_until = p_session_until
      WHERE p.issuer_id = p_issuer AND p.kind = 'session' AND p.id = p_session AND p.keep_until < p_session_until;
    END IF;
    INSERT INTO grantd.tokens (issuer_id, ${columns.replaceAll(/ (text|bigint)/g, '')},
      client_generation, subject_generation, session_generation, grant_generation)
    SELECT p_issuer, n.*, v_row.client_generation, CASE WHEN n.subject IS NOT NULL THEN v_row.subject_generation END,
      CASE WHEN n.session_id IS NOT NULL THEN v_row.session_generation END,
      CASE WHEN n.grant_id IS NOT NULL THEN v_row.grant_generation END
    FROM json_to_recordset(p_tokens) AS n (${columns});
    IF v_row.may_outlive_keys THEN
      UPDATE grantd.signing_keys k SET needed_until = u.until FROM unnest(p_keys, p_keys_until) AS u (kid, until)
      WHERE k.issuer_id = p_issuer AND k.kid = u.kid AND k.needed_until < u.until;
    END IF;
    ${RECORD}
    outcome := 'issued';`,
  );

/**
 * The functions of a version: a write of tokens or codes is one call (ADR 208). A subquery in place of a join: without
 * statistics, a join goes through all tokens for each grant. Functions are never changed: a later
 * version adds others with its number, and removes these in a contraction.
 * @param columns of a new token
 */
const functionsOf = (version: number, columns: string) => `
  ${upon(
    columns,
    `issue_upon_refresh_token_${version}`,
    'tokens',
    'text',
    "t.kind = 'refresh_token' AND t.superseded_at_ms IS NULL",
    'superseded_at_ms = p_now, successor_id = p_used',
  )}
  ${upon(
    columns,
    `redeem_${version}`,
    'authorization_codes',
    'bigint',
    't.redeemed_at_ms IS NULL',
    'redeemed_at_ms = p_now, keep_until = greatest(t.keep_until, p_used)',
  )}
  ${writeFunction(
    `revoke_${version}`,
    `p_id text, p_kind text, p_now bigint, p_pair text, p_family text, p_grant text, p_event json`,
    `IF p_grant IS NOT NULL THEN
      PERFORM 1 FROM grantd.principals p WHERE p.issuer_id = p_issuer AND p.kind = 'grant' AND p.id = p_grant FOR UPDATE;
    END IF;
    ${stampAnd('', '')}
    UPDATE grantd.tokens t SET revoked_at_ms = p_now
    WHERE t.issuer_id = p_issuer AND t.id = p_id AND t.revoked_at_ms IS NULL;
    IF FOUND THEN outcome := 'revoked'; END IF;
    IF p_pair IS NOT NULL THEN
      UPDATE grantd.tokens t SET revoked_at_ms = p_now
      WHERE t.issuer_id = p_issuer AND t.pair_id = p_pair AND t.revoked_at_ms IS NULL;
      IF FOUND THEN outcome := 'revoked'; END IF;
    END IF;
    IF p_kind = 'family' THEN
      UPDATE grantd.tokens t SET revoked_at_ms = p_now
      WHERE t.issuer_id = p_issuer AND t.family_id = p_family AND t.revoked_at_ms IS NULL;
      IF FOUND THEN outcome := 'revoked'; END IF;
    ELSIF p_kind = 'access_token' AND p_family IS NOT NULL THEN
      -- Also the current refresh token of its family with its pair. Revoked ones count: their pair may still be alive.
      UPDATE grantd.tokens t SET revoked_at_ms = p_now
      WHERE t.issuer_id = p_issuer AND t.revoked_at_ms IS NULL AND t.id = ANY (ARRAY(
        SELECT p.id FROM grantd.tokens p WHERE p.issuer_id = p_issuer AND p.pair_id = ANY (ARRAY(
          SELECT r.pair_id FROM grantd.tokens r WHERE r.issuer_id = p_issuer AND r.family_id = p_family
            AND r.kind = 'refresh_token' AND r.superseded_at_ms IS NULL))
        UNION ALL SELECT r.id FROM grantd.tokens r
        WHERE r.issuer_id = p_issuer AND r.family_id = p_family AND r.kind = 'refresh_token'
          AND r.superseded_at_ms IS NULL));
      IF FOUND THEN outcome := 'revoked'; END IF;
    ELSIF p_kind = 'refresh_token' AND p_grant IS NOT NULL THEN
      -- RFC 7009 §2.1: all tokens of its grant, unless the grant was revoked since.
      UPDATE grantd.principals p SET generation = p.generation + 1, raised_at_ms = p_now
      WHERE p.issuer_id = p_issuer AND p.kind = 'grant' AND p.id = p_grant AND p.generation = (
        SELECT t.grant_generation FROM grantd.tokens t
        WHERE t.issuer_id = p_issuer AND t.id = p_id AND t.grant_id = p_grant);
      IF FOUND THEN outcome := 'revoked'; END IF;
    END IF;
    IF outcome = 'revoked' THEN ${RECORD} END IF;`,
  )}
`;

/** Version 12. */
const VERSION_12 = {
  expand: functionsOf(12, NEW_TOKEN),
  down: `
  DROP FUNCTION grantd.issue_upon_refresh_token_12;
  DROP FUNCTION grantd.redeem_12;
  DROP FUNCTION grantd.revoke_12;
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
    VERSION_11,
    VERSION_12,
  ],
};

/** The version whose functions the store calls. */
export const FUNCTIONS =
  STORE_TABLES.migrations.findLastIndex((each) => scriptOf(each).includes('CREATE FUNCTION grantd.redeem_')) +
  1;

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
