// The migrations of the program's tables, for both databases.
import { identifiersFrom } from '@grantd/core/internal/storage/statements';
import type { Migration } from '@grantd/core/sqlite';
import { type Dialect, HAS_NO_WORDS, WORDS_KEPT } from './people_words.ts';

/** Of a table with large rows: SQLite searches trees of small rows faster. */
const WITH_ROW_NUMBERS = '/* with row numbers */';

/** Where everything was copied to, so that nothing is served from this file any more; one row, or none. */
const COPIED_TO = `
  CREATE TABLE copied_to (
    address      text NOT NULL PRIMARY KEY,
    copied_at_ms bigint NOT NULL
  );`;

const VERIFIED_EMAILS: Readonly<Record<Dialect, string>> = {
  sqlite: `
    UPDATE people SET verified_email = lower(json_extract(claims, '$.email'))
    WHERE json_type(claims, '$.email') = 'text' AND json_type(claims, '$.email_verified') = 'true'`,
  postgres: `
    UPDATE grantd.people SET verified_email = lower((claims::json ->> 'email') COLLATE "C")
    WHERE json_typeof(claims::json -> 'email') = 'string' AND json_typeof(claims::json -> 'email_verified') = 'boolean'
      AND claims::json ->> 'email_verified' = 'true'`,
};

/** A search reads an index instead of whole rows. PostgreSQL refuses texts as long as some are in an index. */
const SEARCHED_IN_INDEX: Readonly<Record<Dialect, Readonly<Record<'expand' | 'down', string>>>> = {
  sqlite: {
    expand: 'CREATE INDEX people_to_search ON grantd.people (issuer, name, search_text);',
    down: 'DROP INDEX grantd.people_to_search;',
  },
  postgres: { expand: '', down: '' },
};

/** Hashes that this server does not make: their check costs something else. */
export const IS_IMPORTED_HASH =
  "password_hash <> '' AND substr(password_hash, 1, 31) <> '$argon2id$v=19$m=65536,t=3,p=4$'";

/** Each migration is applied once and never edited. They are written as for PostgreSQL. */
const migrations = (dialect: Dialect): readonly Migration[] => [
  `
  CREATE TABLE grantd.people (
    issuer        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    password_hash text NOT NULL,
    claims        text NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (issuer, name)
  );

  CREATE TABLE grantd.demo_issuers (
    issuer text COLLATE "C" NOT NULL PRIMARY KEY
  );
  `,
  `
  CREATE TABLE grantd.sessions (
    issuer          text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    secret_digest   text COLLATE "C" NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    amr             text NOT NULL,
    user_agent      text NOT NULL,
    signed_in_at_ms bigint NOT NULL,
    last_seen_at_ms bigint NOT NULL,
    expires_at_ms   bigint NOT NULL,
    ended_at_ms     bigint,
    PRIMARY KEY (issuer, id),
    UNIQUE (issuer, secret_digest)
  );
  CREATE INDEX sessions_by_subject ON grantd.sessions (issuer, subject);
  CREATE INDEX sessions_by_expiry ON grantd.sessions (issuer, expires_at_ms);
  CREATE INDEX sessions_to_end ON grantd.sessions (issuer, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

  CREATE TABLE grantd.session_clients (
    issuer     text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    client_id  text COLLATE "C" NOT NULL,
    PRIMARY KEY (issuer, session_id, client_id),
    FOREIGN KEY (issuer, session_id) REFERENCES grantd.sessions (issuer, id) ON DELETE CASCADE
  );

  CREATE TABLE grantd.consents (
    issuer            text COLLATE "C" NOT NULL,
    subject           text COLLATE "C" NOT NULL,
    client_id         text COLLATE "C" NOT NULL,
    client_generation bigint NOT NULL,
    scopes            text NOT NULL,
    resources         text NOT NULL,
    version           bigint NOT NULL,
    given_at_ms       bigint NOT NULL,
    withdrawn_at_ms   bigint,
    PRIMARY KEY (issuer, subject, client_id)
  );
  CREATE INDEX consents_by_client ON grantd.consents (issuer, client_id, client_generation);
  CREATE INDEX consents_to_end ON grantd.consents (issuer, withdrawn_at_ms) WHERE withdrawn_at_ms IS NOT NULL;

  CREATE TABLE grantd.sign_in_attempts (
    issuer     text COLLATE "C" NOT NULL,
    key_digest text COLLATE "C" NOT NULL,
    attempts   bigint NOT NULL,
    ends_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, key_digest)
  );
  CREATE INDEX sign_in_attempts_by_end ON grantd.sign_in_attempts (issuer, ends_at_ms);

  CREATE TABLE grantd.logout_deliveries (
    issuer     text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    client_id  text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    attempts   bigint NOT NULL,
    due_at_ms  bigint NOT NULL,
    PRIMARY KEY (issuer, session_id, client_id)
  );
  CREATE INDEX logout_deliveries_by_time ON grantd.logout_deliveries (issuer, due_at_ms);
  `,
  // Pairwise subject identifiers.
  `
  CREATE TABLE grantd.pairwise_secrets (
    issuer text COLLATE "C" NOT NULL PRIMARY KEY,
    sealed text NOT NULL
  );
  `,
  // Ties consents and logout notifications to the client as it was registered.
  `
  ALTER TABLE grantd.consents ADD COLUMN client_revision bigint NOT NULL DEFAULT 0;
  ALTER TABLE grantd.session_clients ADD COLUMN sid text COLLATE "C";
  ALTER TABLE grantd.session_clients ADD COLUMN sub text COLLATE "C";
  ALTER TABLE grantd.logout_deliveries ADD COLUMN sid text COLLATE "C";
  ALTER TABLE grantd.logout_deliveries ADD COLUMN sub text COLLATE "C";
  `,
  // Consents by decision.
  `
  -- Each row was one union of several decisions. With resources in it it is unknown which scopes were agreed to for which.
  -- A withdrawal that has begun still has to end its grants.
  DELETE FROM grantd.consents WHERE resources <> '' AND withdrawn_at_ms IS NULL;
  ALTER TABLE grantd.consents ADD COLUMN entries text NOT NULL DEFAULT '[]';
  UPDATE grantd.consents
  SET entries = '[{"scopes":['
    || CASE scopes WHEN '' THEN '' ELSE '"' || replace(scopes, ' ', '","') || '"' END
    || '],"resources":[],"claims":[],"givenAtMs":' || given_at_ms || '}]'
  WHERE resources = '';
  ALTER TABLE grantd.consents DROP COLUMN scopes;
  ALTER TABLE grantd.consents DROP COLUMN resources;

  -- What scopes mean; api is a client identifier, or empty for the server's own.
  CREATE TABLE grantd.scope_texts (
    issuer text COLLATE "C" NOT NULL,
    api    text COLLATE "C" NOT NULL,
    scope  text COLLATE "C" NOT NULL,
    texts  text NOT NULL,
    PRIMARY KEY (issuer, api, scope)
  );

  -- A name without a key was stored before names had them.
  ALTER TABLE grantd.people ADD COLUMN name_key text COLLATE "C";
  ALTER TABLE grantd.people ADD COLUMN revision bigint NOT NULL DEFAULT 0;
  CREATE UNIQUE INDEX people_by_name_key ON grantd.people (issuer, name_key);

  -- Subject identifiers of people who were removed: they are never given again.
  CREATE TABLE grantd.removed_people (
    issuer         text COLLATE "C" NOT NULL,
    subject        text COLLATE "C" NOT NULL,
    removed_at_ms  bigint NOT NULL,
    finished_at_ms bigint,
    PRIMARY KEY (issuer, subject)
  );
  CREATE INDEX removed_people_to_finish ON grantd.removed_people (issuer, removed_at_ms) WHERE finished_at_ms IS NULL;

  -- When it was last checked that something can be written.
  CREATE TABLE grantd.write_checks (
    issuer        text COLLATE "C" NOT NULL PRIMARY KEY,
    checked_at_ms bigint NOT NULL
  );
  ${dialect === 'sqlite' ? COPIED_TO : ''}
  `,
  // Groups, search and import.
  `
  CREATE TABLE grantd.groups (
    issuer        text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    name_key      text COLLATE "C" NOT NULL,
    description   text NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, name),
    UNIQUE (issuer, name_key)
  );

  -- A membership with ended_at_ms has ended, and tokens that depend on it may still have to be revoked.
  CREATE TABLE grantd.group_members (
    issuer      text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    group_name  text COLLATE "C" NOT NULL,
    added_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    PRIMARY KEY (issuer, subject, group_name),
    FOREIGN KEY (issuer, subject) REFERENCES grantd.people (issuer, subject) ON DELETE CASCADE,
    FOREIGN KEY (issuer, group_name) REFERENCES grantd.groups (issuer, name) ON DELETE CASCADE
  );
  CREATE INDEX group_members_by_group ON grantd.group_members (issuer, group_name);
  CREATE INDEX group_members_to_end ON grantd.group_members (issuer, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

  -- A person without a search_text was stored before there was a search.
  ALTER TABLE grantd.people ADD COLUMN search_text text COLLATE "C";
  ALTER TABLE grantd.people ADD COLUMN import_digest text COLLATE "C";
  CREATE INDEX people_to_make_searchable ON grantd.people (issuer) WHERE search_text IS NULL;
  `,
  // Emails and mailed links.
  `
  -- The email claim in lower case, if it is verified. Several people may share an address.
  ALTER TABLE grantd.people ADD COLUMN verified_email text COLLATE "C";
  ${VERIFIED_EMAILS[dialect]};
  CREATE INDEX people_by_verified_email ON grantd.people (issuer, verified_email) WHERE verified_email IS NOT NULL;

  CREATE TABLE grantd.mails (
    issuer        text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    subject       text COLLATE "C",
    recipient     text NOT NULL,
    template      text NOT NULL,
    language      text NOT NULL,
    sealed        text NOT NULL,
    created_at_ms bigint NOT NULL,
    due_at_ms     bigint NOT NULL,
    attempts      bigint NOT NULL,
    last_error    text,
    failed_at_ms  bigint,
    boxed_at_ms   bigint,
    expires_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, id)
  );
  CREATE INDEX mails_due ON grantd.mails (issuer, due_at_ms) WHERE failed_at_ms IS NULL AND boxed_at_ms IS NULL;
  CREATE INDEX mails_by_subject ON grantd.mails (issuer, subject) WHERE subject IS NOT NULL;
  CREATE INDEX mails_by_expiry ON grantd.mails (issuer, expires_at_ms);

  CREATE TABLE grantd.mailed_links (
    issuer          text COLLATE "C" NOT NULL,
    token_digest    text COLLATE "C" NOT NULL,
    purpose         text NOT NULL,
    subject         text COLLATE "C",
    address         text NOT NULL,
    password_digest text,
    browser_digest  text,
    expires_at_ms   bigint NOT NULL,
    PRIMARY KEY (issuer, token_digest)
  );
  CREATE INDEX mailed_links_by_subject ON grantd.mailed_links (issuer, subject) WHERE subject IS NOT NULL;
  CREATE INDEX mailed_links_by_expiry ON grantd.mailed_links (issuer, expires_at_ms);
  `,
  // Tells earlier programs whether they can use the tables of a later one.
  dialect === 'sqlite'
    ? 'CREATE TABLE IF NOT EXISTS program_schema_floor (version INTEGER NOT NULL) STRICT'
    : 'ALTER TABLE grantd.program_schema ADD COLUMN IF NOT EXISTS floor integer',
  // Requests to the admin API that have an Idempotency-Key.
  {
    expand: `
    CREATE TABLE grantd.api_requests (
      issuer         text COLLATE "C" NOT NULL,
      key_digest     text COLLATE "C" NOT NULL,
      request_digest text COLLATE "C" NOT NULL,
      attempt        text COLLATE "C" NOT NULL,
      sealed         text COLLATE "C",
      expires_at_ms  bigint NOT NULL,
      PRIMARY KEY (issuer, key_digest)
    );
    CREATE INDEX api_requests_by_expiry ON grantd.api_requests (issuer, expires_at_ms);
    `,
    down: 'DROP TABLE grantd.api_requests',
  },
  // Users of a directory.
  {
    expand: `
    -- The stable identifier of the user's entry. It counts only while the user has no local password.
    ALTER TABLE grantd.people ADD COLUMN directory_id text COLLATE "C";
    CREATE UNIQUE INDEX people_by_directory_id ON grantd.people (issuer, directory_id) WHERE directory_id IS NOT NULL;
    `,
    down: 'DROP INDEX grantd.people_by_directory_id; ALTER TABLE grantd.people DROP COLUMN directory_id',
  },
  // Sign-in through other providers.
  {
    expand: `
    CREATE TABLE grantd.upstream_identities (
      issuer          text COLLATE "C" NOT NULL,
      id              text COLLATE "C" NOT NULL,
      subject         text COLLATE "C" NOT NULL,
      provider        text COLLATE "C" NOT NULL,
      upstream_issuer text COLLATE "C" NOT NULL,
      upstream_sub    text COLLATE "C" NOT NULL,
      label           text NOT NULL,
      linked_at_ms    bigint NOT NULL,
      PRIMARY KEY (issuer, id),
      UNIQUE (issuer, provider, upstream_issuer, upstream_sub),
      FOREIGN KEY (issuer, subject) REFERENCES grantd.people (issuer, subject) ON DELETE CASCADE
    );
    CREATE INDEX upstream_identities_by_subject ON grantd.upstream_identities (issuer, subject);

    -- The identities that a session depends on.
    CREATE TABLE grantd.upstream_sessions (
      issuer       text COLLATE "C" NOT NULL,
      session_id   text COLLATE "C" NOT NULL,
      identity_id  text COLLATE "C" NOT NULL,
      upstream_sid text COLLATE "C",
      PRIMARY KEY (issuer, session_id, identity_id),
      FOREIGN KEY (issuer, session_id) REFERENCES grantd.sessions (issuer, id) ON DELETE CASCADE
    );
    CREATE INDEX upstream_sessions_by_identity ON grantd.upstream_sessions (issuer, identity_id);
    `,
    down: 'DROP TABLE grantd.upstream_sessions; DROP TABLE grantd.upstream_identities',
  },
  // Passkeys, authenticator apps and recovery codes. An earlier program would ask for none of them.
  `
  -- The id is a WebAuthn credential ID; public_key is a COSE key.
  CREATE TABLE grantd.passkeys (
    issuer          text COLLATE "C" NOT NULL,
    id              text COLLATE "C" NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    public_key      text NOT NULL,
    counter         bigint NOT NULL,
    transports      text NOT NULL,
    is_backed_up    bigint NOT NULL,
    name            text NOT NULL,
    created_at_ms   bigint NOT NULL,
    last_used_at_ms bigint,
    PRIMARY KEY (issuer, id)
  );
  CREATE INDEX passkeys_by_subject ON grantd.passkeys (issuer, subject);

  -- A code counts once: last_step is the time step of the last accepted one.
  CREATE TABLE grantd.totp_secrets (
    issuer        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    sealed        text NOT NULL,
    last_step     bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject)
  );

  CREATE TABLE grantd.recovery_codes (
    issuer        text COLLATE "C" NOT NULL,
    subject       text COLLATE "C" NOT NULL,
    code_digest   text COLLATE "C" NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (issuer, subject, code_digest)
  );

  -- Challenges that were answered, until they expire.
  CREATE TABLE grantd.used_challenges (
    issuer           text COLLATE "C" NOT NULL,
    challenge_digest text COLLATE "C" NOT NULL,
    expires_at_ms    bigint NOT NULL,
    PRIMARY KEY (issuer, challenge_digest)
  );
  CREATE INDEX used_challenges_by_expiry ON grantd.used_challenges (issuer, expires_at_ms);
  `,
  // What a sign-in of a member needs. An earlier program would not ask for it.
  'ALTER TABLE grantd.groups ADD COLUMN sign_in_policy text COLLATE "C"',
  // Where a sign-in came from, for the user.
  {
    expand: 'ALTER TABLE grantd.sessions ADD COLUMN network text COLLATE "C"',
    down: 'ALTER TABLE grantd.sessions DROP COLUMN network',
  },
  // The chain of the audit trail.
  {
    expand: `
    CREATE TABLE grantd.audit_heads (
      issuer             text COLLATE "C" NOT NULL PRIMARY KEY,
      beginning_sequence bigint NOT NULL,
      beginning_hash     text NOT NULL,
      last_sequence      bigint NOT NULL,
      last_hash          text NOT NULL,
      sealed_at_ms       bigint NOT NULL,
      mac                text NOT NULL
    );

    -- Parts of the chain, each with an index of the values of its events.
    CREATE TABLE grantd.audit_blocks (
      issuer         text COLLATE "C" NOT NULL,
      number         bigint NOT NULL,
      first_sequence bigint NOT NULL,
      last_sequence  bigint NOT NULL,
      row_count      bigint NOT NULL,
      earliest_ms    bigint NOT NULL,
      latest_ms      bigint NOT NULL,
      hash           text NOT NULL,
      terms          text NOT NULL,
      PRIMARY KEY (issuer, number)
    ) ${WITH_ROW_NUMBERS};
    `,
    down: 'DROP TABLE grantd.audit_blocks; DROP TABLE grantd.audit_heads',
  },
  // The history of sign-ins that users see. Of a failed one, the reason is not empty, and there is no session.
  {
    expand: `
    CREATE TABLE grantd.sign_ins (
      issuer        text COLLATE "C" NOT NULL,
      id            text COLLATE "C" NOT NULL,
      subject       text COLLATE "C" NOT NULL,
      session_id    text COLLATE "C" NOT NULL,
      at_ms         bigint NOT NULL,
      amr           text NOT NULL,
      reason        text NOT NULL,
      user_agent    text NOT NULL,
      network       text COLLATE "C",
      expires_at_ms bigint NOT NULL,
      PRIMARY KEY (issuer, id)
    );
    CREATE INDEX sign_ins_by_subject ON grantd.sign_ins (issuer, subject, at_ms);
    CREATE INDEX sign_ins_by_expiry ON grantd.sign_ins (issuer, expires_at_ms);
    `,
    down: 'DROP TABLE grantd.sign_ins',
  },
  // What was added with a recovery code counts later. An earlier program would let it count at once.
  `
  ALTER TABLE grantd.passkeys ADD COLUMN counts_from_ms bigint NOT NULL DEFAULT 0;
  ALTER TABLE grantd.totp_secrets ADD COLUMN counts_from_ms bigint NOT NULL DEFAULT 0;
  ALTER TABLE grantd.people ADD COLUMN held_level bigint NOT NULL DEFAULT 0;
  ALTER TABLE grantd.people ADD COLUMN held_until_ms bigint NOT NULL DEFAULT 0;
  -- The verified address, if the user has shown that it is theirs. An earlier program would keep it after a change.
  ALTER TABLE grantd.people ADD COLUMN claimed_email text COLLATE "C";
  CREATE UNIQUE INDEX people_by_claimed_email ON grantd.people (issuer, claimed_email) WHERE claimed_email IS NOT NULL;
  -- Used challenges are among the one-time identifiers of the library.
  ${identifiersFrom(`
    SELECT issuer, 'passkey_challenge ' || challenge_digest AS id, (expires_at_ms + 999) / 1000 AS expires_at
    FROM grantd.used_challenges`)};
  DROP TABLE grantd.used_challenges;
  `,
  // Recovery codes, sealed until the user says that they are saved. Who has acted for users, to the hour.
  {
    expand: `
    ALTER TABLE grantd.recovery_codes ADD COLUMN sealed text;

    CREATE TABLE grantd.acting_uses (
      issuer         text COLLATE "C" NOT NULL,
      subject        text COLLATE "C" NOT NULL,
      client_id      text COLLATE "C" NOT NULL,
      application_id text COLLATE "C" NOT NULL,
      since_ms       bigint NOT NULL,
      last_used_ms   bigint NOT NULL,
      expires_at_ms  bigint NOT NULL,
      PRIMARY KEY (issuer, subject, client_id, application_id)
    );
    CREATE INDEX acting_uses_by_expiry ON grantd.acting_uses (issuer, expires_at_ms);
    `,
    down: `
    DROP TABLE grantd.acting_uses;
    ALTER TABLE grantd.recovery_codes DROP COLUMN sealed;
    `,
  },
  // What users see of their personal access tokens. The tokens themselves are the library's.
  {
    expand: `
    CREATE TABLE grantd.personal_tokens (
      issuer        text COLLATE "C" NOT NULL,
      id            text COLLATE "C" NOT NULL,
      token_id      text COLLATE "C" NOT NULL,
      subject       text COLLATE "C" NOT NULL,
      name          text NOT NULL,
      resource      text COLLATE "C" NOT NULL,
      scopes        text NOT NULL,
      binding       text,
      created_at_ms bigint NOT NULL,
      expires_at_ms bigint NOT NULL,
      last_used_ms  bigint,
      sealed        text,
      PRIMARY KEY (issuer, id)
    );
    CREATE INDEX personal_tokens_by_subject ON grantd.personal_tokens (issuer, subject);
    CREATE INDEX personal_tokens_by_expiry ON grantd.personal_tokens (issuer, expires_at_ms);
    `,
    down: 'DROP TABLE grantd.personal_tokens',
  },
  // Keys that do not verify their user. An earlier program takes them for passkeys, and refuses them for this.
  {
    expand: 'ALTER TABLE grantd.passkeys ADD COLUMN is_security_key bigint NOT NULL DEFAULT 0',
    down: `
    DELETE FROM grantd.passkeys WHERE is_security_key = 1;
    ALTER TABLE grantd.passkeys DROP COLUMN is_security_key;
    `,
  },
  // Lists of users by when they were added.
  {
    expand: 'CREATE INDEX people_by_creation ON grantd.people (issuer, created_at_ms, subject)',
    down: 'DROP INDEX grantd.people_by_creation',
  },
  // Lists that do not read all rows: members of groups, and emails by when they were queued.
  {
    expand: `
    DROP INDEX grantd.group_members_by_group;
    CREATE INDEX group_members_of_group ON grantd.group_members (issuer, group_name, ended_at_ms);
    CREATE INDEX passkeys_by_kind ON grantd.passkeys (issuer, is_security_key, subject);
    CREATE INDEX mails_by_creation ON grantd.mails (issuer, created_at_ms, id) WHERE boxed_at_ms IS NULL;
    CREATE INDEX mails_failed ON grantd.mails (issuer, created_at_ms, id) WHERE failed_at_ms IS NOT NULL;
    CREATE INDEX mails_in_mailbox ON grantd.mails (issuer, boxed_at_ms, id) WHERE boxed_at_ms IS NOT NULL;
    ${SEARCHED_IN_INDEX[dialect].expand}
    `,
    down: `
    ${SEARCHED_IN_INDEX[dialect].down}
    DROP INDEX grantd.mails_in_mailbox;
    DROP INDEX grantd.mails_failed;
    DROP INDEX grantd.mails_by_creation;
    DROP INDEX grantd.passkeys_by_kind;
    DROP INDEX grantd.group_members_of_group;
    CREATE INDEX group_members_by_group ON grantd.group_members (issuer, group_name);
    `,
  },
  // Metadata documents of clients that operators have denied. An earlier program would accept them.
  `
  CREATE TABLE grantd.document_denials (
    issuer       text COLLATE "C" NOT NULL,
    rule         text COLLATE "C" NOT NULL,
    denied_by    text NOT NULL,
    denied_at_ms bigint NOT NULL,
    note         text,
    PRIMARY KEY (issuer, rule)
  );
  `,
  // Which work imported hashes need. A refused sign-in reads it.
  {
    expand: `
    CREATE INDEX people_by_imported_hash ON grantd.people (issuer, password_hash COLLATE "C") WHERE ${IS_IMPORTED_HASH}`,
    down: 'DROP INDEX grantd.people_by_imported_hash',
  },
  // Lists of locked users. Attempts that an earlier program counts are in no list.
  {
    expand: `
    ALTER TABLE grantd.sign_in_attempts ADD COLUMN subject text COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE grantd.sign_in_attempts ADD COLUMN most bigint NOT NULL DEFAULT 0;
    CREATE INDEX sign_in_attempts_by_lock ON grantd.sign_in_attempts (issuer, subject, ends_at_ms)
      WHERE subject <> '' AND attempts >= most;
    `,
    down: `
    DROP INDEX grantd.sign_in_attempts_by_lock;
    ALTER TABLE grantd.sign_in_attempts DROP COLUMN most;
    ALTER TABLE grantd.sign_in_attempts DROP COLUMN subject;
    `,
  },
  // Search by words. An earlier program finds users by parts of these words.
  {
    expand: `
    CREATE TABLE grantd.people_words (
      issuer  text COLLATE "C" NOT NULL,
      word    text COLLATE "C" NOT NULL,
      subject text COLLATE "C" NOT NULL,
      PRIMARY KEY (issuer, word, subject)
    );
    DROP INDEX grantd.people_to_make_searchable;
    CREATE INDEX people_without_words ON grantd.people (issuer) WHERE ${HAS_NO_WORDS};
    ${WORDS_KEPT[dialect].expand}
    `,
    down: `
    ${WORDS_KEPT[dialect].down}
    DROP TABLE grantd.people_words;
    DROP INDEX grantd.people_without_words;
    CREATE INDEX people_to_make_searchable ON grantd.people (issuer) WHERE search_text IS NULL;
    UPDATE grantd.people SET search_text = NULL;
    `,
  },
  // The acts of an audit block. Blocks of an earlier program have none.
  {
    expand: "ALTER TABLE grantd.audit_blocks ADD COLUMN runs text NOT NULL DEFAULT ''",
    down: 'ALTER TABLE grantd.audit_blocks DROP COLUMN runs',
  },
];

/** A script of PostgreSQL as SQLite takes it. */
function sqliteScript(script: string): string {
  return script
    .replaceAll('grantd.', '')
    .replaceAll(' COLLATE "C"', '')
    .replaceAll(/(?<=\w +)text(?!\w)/g, 'TEXT')
    .replaceAll(/(?<=\w +)bigint/g, 'INTEGER')
    .replaceAll(`) ${WITH_ROW_NUMBERS};`, ') STRICT;')
    .replaceAll(/^( *)\);$/gm, '$1) STRICT, WITHOUT ROWID;');
}

export const POSTGRES_MIGRATIONS: readonly Migration[] = migrations('postgres');

export const SQLITE_MIGRATIONS: readonly Migration[] = migrations('sqlite').map((migration) => {
  if (typeof migration === 'string') return sqliteScript(migration);
  const scripts = Object.entries(migration).map(([name, script]) => [name, sqliteScript(script)]);
  return Object.fromEntries(scripts);
});

/** Not copied to another database: they expire soon, are about this database, or come from another table. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  ...['sign_in_attempts', 'api_requests', 'used_challenges'],
  ...['write_checks', 'people_words'],
]);

/** The tables to copy to another database, each after those that it references. */
export const TABLES_TO_COPY: readonly string[] = POSTGRES_MIGRATIONS.flatMap((migration) => {
  const script = typeof migration === 'string' ? migration : 'expand' in migration ? migration.expand : '';
  return Array.from(script.matchAll(/CREATE TABLE grantd\.(\w+)/g), ([, name = '']) => name);
}).filter((name) => !NOT_COPIED.has(name));
