// Opens a PostgreSQL store.

import type { AuditOptions } from '../../protocol/event_records.ts';
import {
  anyFunction,
  anyText,
  anyValue,
  type KindsOf,
  milliseconds,
  requireKinds,
  wholeNumber,
} from '../../protocol/option_kinds.ts';
import type { AdministrableStorage, MigrationAssumption } from '../contract.ts';
import { unguarded } from '../faults.ts';
import { DEFAULT_EVENT_RETENTION_SECONDS } from '../issuing.ts';
import { RememberedAnswers } from '../remembered_answers.ts';
import { CLIENTS_SQL, postgresClients } from './clients.ts';
import {
  namedStatements,
  PostgresConnections,
  type PostgresDeadlines,
  type PostgresPool,
  rowsOf,
} from './connections.ts';
import { EVENTS_SQL, postgresEvents, postgresSweep, SWEEP_SQL } from './events.ts';
import {
  KEYS_SQL,
  ONE_TIME_IDENTIFIERS_SQL,
  PENDING_SQL,
  postgresKeys,
  postgresOneTimeIdentifiers,
  postgresPending,
} from './keys.ts';
import { LOOK_UPS_SQL, LookUps, type PostgresHandle } from './lookups.ts';
import { migratePostgres } from './migrate.ts';
import { Primary } from './primary.ts';
import {
  ADMINISTRATION_SQL,
  PRINCIPALS_SQL,
  postgresAdministration,
  postgresPrincipals,
} from './principals.ts';
import { ALLOWED_APIS_SINCE, STORE_TABLES } from './schema.ts';
import { assertSound, requireTables } from './soundness.ts';
import {
  AUTHORIZATION_CODES_SQL,
  GRANTS_SQL,
  postgresAuthorizationCodes,
  postgresGrants,
  postgresTokens,
  TOKENS_SQL,
} from './tokens.ts';

export type {
  PostgresClient,
  PostgresDeadlines,
  PostgresPool,
  PostgresQuery,
  PostgresResult,
} from './connections.ts';
export { type EventInsertion, eventOf, insertEvent } from './events.ts';

export interface PostgresStorageOptions extends PostgresDeadlines {
  /**
   * A `Pool` of `pg`, or a compatible one. `pipeline: true` saves round trips. Its owner listens to its `error`
   * event, since a lost idle connection would otherwise end the process, and ends it.
   */
  readonly pool: PostgresPool;
  /** The issuer whose records this handle sees; one database can hold several. */
  readonly issuer: string;
  /** Milliseconds. Default: the system's clock. */
  readonly clock?: () => number;
  /** The age in seconds at which events are swept. Default: 30 days. */
  readonly eventRetentionSeconds?: number;
  /**
   * Records issuance and changes to clients and keys as events, and for every event where it came from. Default: events
   * record only what ended tokens.
   */
  readonly audit?: AuditOptions;
  /**
   * Returns SQL with which a transaction begins, called in the context of its caller. If it fails, nothing is changed. For
   * hosts that keep tables in the same database.
   */
  readonly hostCondition?: () => string | undefined;
  /** Receives what a migration assumed, once, when opening brought the tables up to date. */
  readonly onAssumption?: (assumption: MigrationAssumption) => void;
}

const OPTIONS: KindsOf<PostgresStorageOptions> = {
  pool: anyValue,
  issuer: anyText,
  clock: anyFunction,
  connectionTimeoutMs: milliseconds(1),
  statementTimeoutMs: milliseconds(1),
  eventRetentionSeconds: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  onAssumption: anyFunction,
  hostCondition: anyFunction,
  audit: anyValue,
};

const STATEMENTS: readonly string[] = [
  CLIENTS_SQL,
  KEYS_SQL,
  TOKENS_SQL,
  LOOK_UPS_SQL,
  AUTHORIZATION_CODES_SQL,
  ONE_TIME_IDENTIFIERS_SQL,
  PENDING_SQL,
  PRINCIPALS_SQL,
  ADMINISTRATION_SQL,
  GRANTS_SQL,
  EVENTS_SQL,
  SWEEP_SQL,
].flatMap((statements) => Object.values<string>(statements));

/**
 * Opens a store in a PostgreSQL database (14 or later). Any number of processes on any number of machines may share it.
 * Its tables are in the schema `grantd`, which is created if it is missing.
 * @throws Error the database is unreachable, a standby, not durable, from a newer program, or lacks a table or column
 * @example
 * const storage = await openPostgresStorage({ pool: new Pool({ connectionString }), issuer: 'https://login.example' });
 */
export async function openPostgresStorage(options: PostgresStorageOptions): Promise<AdministrableStorage> {
  requireKinds(options, OPTIONS);
  const { pool, issuer, clock = Date.now } = options;
  const connections = new PostgresConnections(pool, options, options.hostCondition);
  await assertSound(connections);
  const version = await migratePostgres(connections, STORE_TABLES);
  if (version > 0 && version < ALLOWED_APIS_SINCE) options.onAssumption?.('clients_allowed_every_api');
  await requireTables(connections, STATEMENTS);
  const issuerId = await issuerIdOf(connections, issuer);
  const primary = await Primary.of(connections, issuerId);
  const { audit } = options;
  const handle: PostgresHandle = {
    ...{ primary, lookUps: await LookUps.of(primary, issuerId), issuerId, clock },
    originOf: () => audit?.originOf(),
    recordsIssuance: audit !== undefined && audit.issuance !== false,
  };
  const storage = await storageOn(handle, options.eventRetentionSeconds ?? DEFAULT_EVENT_RETENTION_SECONDS);
  return { ...storage, close: async () => connections.close() };
}

async function storageOn(
  handle: PostgresHandle,
  eventRetentionSeconds: number,
): Promise<Omit<AdministrableStorage, 'close'>> {
  const principals = await postgresPrincipals(handle);
  const clients = unguarded(await postgresClients(handle));
  const tokens = unguarded({ ...(await postgresTokens(handle, principals)), joinedClients: clients });
  const answers = new RememberedAnswers(clients, tokens, handle.lookUps.versions);
  return {
    answersPlainRecords: true,
    clients,
    keys: unguarded(await postgresKeys(handle)),
    tokens,
    authorizationCodes: unguarded(await postgresAuthorizationCodes(handle, principals)),
    oneTimeIdentifiers: unguarded(await postgresOneTimeIdentifiers(handle)),
    pending: unguarded(await postgresPending(handle)),
    ...(await postgresAdministration(handle, principals)),
    ...(await postgresGrants(handle)),
    ...(await postgresEvents(handle)),
    sweep: await postgresSweep(handle, eventRetentionSeconds),
    cache: {
      answers,
      limitTokens: (most) => answers.limitTo(most),
      forgetCached: () => answers.clear(),
    },
    statistics: () => ({ caches: { answers: answers.use } }),
  };
}

const ISSUER_SQL = {
  find: 'SELECT id FROM grantd.issuers WHERE issuer = $1',
  // Serializes processes that start with different issuers, so that the first one also gets the lowest number.
  lock: 'LOCK TABLE grantd.issuers IN SHARE ROW EXCLUSIVE MODE',
  add: 'INSERT INTO grantd.issuers (issuer) VALUES ($1) ON CONFLICT (issuer) DO NOTHING',
  addSweep: `
    INSERT INTO grantd.sweeps (issuer_id) SELECT id FROM grantd.issuers WHERE issuer = $1
    ON CONFLICT (issuer_id) DO NOTHING`,
};

/** The number of an issuer in every key; it gets one if it has none yet. */
async function issuerIdOf(connections: PostgresConnections, issuer: string): Promise<number> {
  const sql = await namedStatements(ISSUER_SQL);
  const find = async () => rowsOf<{ id: number }>(await connections.read([sql.find, issuer]))[0]?.id;
  const known = await find();
  if (known !== undefined) return known;
  await connections.write([[sql.lock], [sql.add, issuer], [sql.addSweep, issuer]]);
  const added = await find();
  if (added === undefined) throw new Error(`the issuer ${issuer} was not stored`);
  return added;
}
