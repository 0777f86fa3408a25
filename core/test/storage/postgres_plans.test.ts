import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CLIENTS_SQL } from '../../src/storage/postgres/clients.ts';
import { EVENTS_SQL, SWEEP_SQL } from '../../src/storage/postgres/events.ts';
import { KEYS_SQL, ONE_TIME_IDENTIFIERS_SQL, PENDING_SQL } from '../../src/storage/postgres/keys.ts';
import { LOOK_UPS_SQL } from '../../src/storage/postgres/lookups.ts';
import { ADMINISTRATION_SQL, PRINCIPALS_SQL } from '../../src/storage/postgres/principals.ts';
import { AUTHORIZATION_CODES_SQL, GRANTS_SQL, TOKENS_SQL } from '../../src/storage/postgres/tokens.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';

/** Large enough that a sequential scan costs more than any index. */
const FILL = `
  INSERT INTO grantd.issuers (issuer) SELECT 'https://issuer-' || n || '.example' FROM generate_series(1, 3000) n;
  INSERT INTO grantd.clients (issuer_id, id, grant_types, scopes, redirect_uris, resource)
  SELECT 1, 'client-' || n, '[]', '[]', '[]', 'https://api-' || n || '.example' FROM generate_series(1, 5000) n;
  INSERT INTO grantd.redirect_origins SELECT 1, 'https://app-' || n || '.example', 'client-' || n
  FROM generate_series(1, 5000) n;
  INSERT INTO grantd.api_scopes SELECT 1, 'scope-' || n, 'client-' || n FROM generate_series(1, 5000) n;
  INSERT INTO grantd.principals (issuer_id, kind, id, generation, keep_until)
  SELECT 1, kind, kind || '-' || n, 1, 2000000000 + n
  FROM generate_series(1, 10000) n, unnest(ARRAY['subject', 'session', 'grant']) kind;
  INSERT INTO grantd.tokens (issuer_id, id, kind, digest, client_id, scopes, subject, issued_at_ms, expires_at,
    keep_until, key_id, pair_id, family_id, grant_id, session_id, client_generation)
  SELECT 1, kind || '-' || n, kind, 'd', 'client-' || n % 5000, '[]', 'subject-' || n, 1, 2000000000 + n,
    2000000000 + n, 'current1', 'pair-' || n, 'family-' || n, 'grant-' || n, 'session-' || n, 0
  FROM generate_series(1, 10000) n, unnest(ARRAY['access_token', 'refresh_token']) kind;
  INSERT INTO grantd.authorization_codes (issuer_id, id, client_id, redirect_uri, redirect_uri_given, scopes, subject,
    grant_id, claims, issued_at_ms, expires_at, keep_until, client_generation, subject_generation, grant_generation)
  SELECT 1, 'code-' || n, 'client-' || n % 5000, 'r', true, '[]', 'subject-' || n, 'grant-' || n, '{}', 1, 2000000000 + n,
    2000000000 + n, 0, 0, 0 FROM generate_series(1, 10000) n;
  INSERT INTO grantd.grants (issuer_id, grant_id, client_id, subject, scopes, session_id, created_at_ms,
    client_generation, subject_generation, session_generation, grant_generation)
  SELECT 1, 'grant-' || n, 'client-' || n % 5000, 'subject-' || n, '[]', 'session-' || n, n, 0, 0, 0, 0
  FROM generate_series(1, 10000) n;
  INSERT INTO grantd.exchange_ends SELECT 1, 'client-' || n % 5000, 'subject-' || n, n, 2000000000 + n
  FROM generate_series(1, 10000) n;
  INSERT INTO grantd.one_time_identifiers SELECT 1, 'id-' || n, 2000000000 + n FROM generate_series(1, 10000) n;
  INSERT INTO grantd.pending (issuer_id, kind, id, other_id, client_id, data, version, expires_at)
  SELECT 1, 'kind-' || n % 5, 'id-' || n, 'other-' || n, 'client-' || n % 5000, '{}', 0,
    2000000000 + n FROM generate_series(1, 10000) n;
  INSERT INTO grantd.signing_keys (issuer_id, kid, algorithm, status, public_jwk, sealed_private_key, created_at_ms,
    needed_until)
  SELECT n, status || n, 'RS256', status, '{}', '', n, 2000000000 + n
  FROM generate_series(1, 3000) n, unnest(ARRAY['next', 'current', 'retired']) status;
  INSERT INTO grantd.sweeps SELECT n FROM generate_series(2, 3000) n ON CONFLICT DO NOTHING;
  INSERT INTO grantd.events (issuer_id, sequence, at_ms, type, target)
  SELECT 1, n, 2000000000000 + n, 'token_revoked', 'x' FROM generate_series(1, 10000) n;
  INSERT INTO grantd.unnumbered_events (issuer_id, at_ms, type, target)
  SELECT 1, 2000000000000 + n, 'token_revoked', 'x' FROM generate_series(1, 10000) n;
`;

/** They read whole sets, on an operator's request. */
const WHOLE_TABLES = new Set<string>([
  CLIENTS_SQL.list,
  KEYS_SQL.list,
  ...Object.entries(ADMINISTRATION_SQL).flatMap(([name, text]) => (name.startsWith('count') ? [text] : [])),
]);

const STATEMENTS = Object.entries({
  tokens: TOKENS_SQL,
  authorizationCodes: AUTHORIZATION_CODES_SQL,
  clients: CLIENTS_SQL,
  keys: KEYS_SQL,
  lookUps: LOOK_UPS_SQL,
  principals: PRINCIPALS_SQL,
  administration: ADMINISTRATION_SQL,
  events: EVENTS_SQL,
  grants: GRANTS_SQL,
  oneTimeIdentifiers: ONE_TIME_IDENTIFIERS_SQL,
  pending: PENDING_SQL,
  sweep: SWEEP_SQL,
}).flatMap(([group, statements]) =>
  Object.entries(statements).map(([name, text]) => ({ title: `${group}.${name}`, text })),
);

/** Indexes with few rows of an issuer, or with exactly the counted rows. */
const NARROW = new Set([
  'clients_by_themselves',
  'sweeps_pkey',
  'signing_keys_pkey',
  'signing_keys_current',
  'signing_keys_next',
  'unnumbered_events_pkey',
]);

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

describe('the plans of PostgreSQL', { skip: POSTGRES_ABSENCE, timeout: 60_000 }, () => {
  let stores: PostgresStores;
  let withoutStatistics: Plan;
  before(async () => {
    stores = new PostgresStores(await disposableDatabase(await sharedPostgres()), { max: 1 });
    await (await stores.open()).close();
    await stores.pool.query(FILL);
    withoutStatistics = await planOf(TOKENS_SQL.issue);
    await stores.pool.query('ANALYZE');
    await stores.pool.query('SET plan_cache_mode = force_generic_plan');
  });
  after(() => stores.end());

  const planOf = async (text: string): Promise<Plan> => {
    const { rows } = await stores.pool.query({ text: `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}` });
    return rows[0]['QUERY PLAN'][0].Plan;
  };

  for (const { title, text } of STATEMENTS) {
    if (WHOLE_TABLES.has(text)) continue;
    test(`${title} finds every row by an index`, async () => {
      for (const node of nodesOf(await planOf(text))) {
        const { 'Node Type': type, 'Index Name': index, 'Index Cond': condition = '' } = node;
        assert.notEqual(type, 'Seq Scan', JSON.stringify(node));
        const isNarrow = index === undefined || NARROW.has(index) || condition !== '(issuer_id = $1)';
        assert.ok(isNarrow, `${index} is read through: ${condition}`);
      }
    });
  }

  test('the functions that write tokens find every row by an index', async () => {
    const client = await stores.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(`
        UPDATE grantd.tokens SET subject_generation = 1, session_generation = 1, grant_generation = 1
        WHERE issuer_id = 1 AND id = 'refresh_token-1';
        UPDATE grantd.authorization_codes SET subject_generation = 1, grant_generation = 1
        WHERE issuer_id = 1 AND id = 'code-1'`);
      const upon = (id: string, session: string, used: string) =>
        `1, '${id}', 1, 'client-1', 'subject-1', ${session}, 'grant-1', '[]', 1, 2100000000, 2100000000,
         '{current1}', '{2100000000}', 'once ${id}', 2100000000, ${used}, NULL, '1s'`;
      const calls = [
        `issue_upon_refresh_token_12(${upon('refresh_token-1', "'session-1'", "'refresh_token-2'")})`,
        `redeem_12(${upon('code-1', 'NULL', '2100000000')})`,
        "revoke_12(1, 'access_token-1', 'access_token', 1, 'pair-1', 'family-1', 'grant-1', NULL, '1s')",
        "revoke_12(1, 'refresh_token-1', 'refresh_token', 1, 'pair-1', 'family-1', 'grant-1', NULL, '1s')",
        "revoke_12(1, 'refresh_token-2', 'family', 1, 'pair-2', 'family-2', 'grant-2', NULL, '1s')",
      ];
      for (const call of calls) {
        const { rows } = await client.query(`SELECT outcome FROM grantd.${call}`);
        assert.match(rows[0].outcome, /^(issued|revoked)$/, call);
      }
      const { rows } = await client.query({
        text: `SELECT relname AS table, seq_scan::int AS scans FROM pg_stat_xact_user_tables
          WHERE schemaname = 'grantd' AND relname = ANY ($1) AND seq_scan > 0`,
        values: [['tokens', 'principals', 'clients', 'authorization_codes', 'signing_keys', 'issuers']],
      });
      assert.deepEqual(rows, []);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  test('tokens.issue finds each ancestor by primary key, also before there are statistics', () => {
    const indexes = nodesOf(withoutStatistics)
      .flatMap((node) => node['Index Name'] ?? [])
      .filter((name) => name.startsWith('tokens_'));
    assert.deepEqual(indexes, ['tokens_pkey']);
  });

  test('lookUps.find reads tokens and clients, and what a token’s life depends on, by primary key', async () => {
    const indexes = nodesOf(await planOf(LOOK_UPS_SQL.find)).flatMap((node) => node['Index Name'] ?? []);
    assert.deepEqual(indexes.sort(), [
      'clients_pkey',
      'clients_pkey',
      'issuers_pkey',
      'principals_pkey',
      'principals_pkey',
      'principals_pkey',
      'tokens_pkey',
    ]);
  });

  test('lookUps.find is planned once, however many are asked for each time', async () => {
    const many = JSON.stringify(Array.from({ length: 64 }, (_, n) => `access_token-${n + 1}`));
    await stores.pool.query('SET plan_cache_mode = auto');
    await stores.pool.query(`PREPARE find AS ${LOOK_UPS_SQL.find}`);
    for (let n = 0; n < 10; n++) {
      const tokens = n % 2 === 0 ? '["access_token-1"]' : many;
      const found = await stores.pool.query(`EXECUTE find (1, '${tokens}', '["client-1"]')`);
      assert.equal(found.rows.length, n % 2 === 0 ? 2 : 65);
    }
    const plans = "SELECT custom_plans::int AS custom FROM pg_prepared_statements WHERE name = 'find'";
    // After five executions the planner decides about a generic plan.
    assert.deepEqual((await stores.pool.query(plans)).rows, [{ custom: 5 }]);
  });
});
