import {
  anyFunction,
  anyText,
  anyValue,
  type KindsOf,
  milliseconds,
  requireKinds,
  wholeNumber,
} from '../../../protocol/option_kinds.ts';
import type { AdministrableStorage, MigrationAssumption } from '../../contract.ts';
import { DEFAULT_EVENT_RETENTION_SECONDS } from '../../retention.ts';
import { ADMINISTRATION_SQL, postgresAdministration } from './administration.ts';
import { AUTHORIZATION_CODES_SQL, postgresAuthorizationCodes } from './authorization_codes.ts';
import { CLIENTS_SQL, postgresClients } from './clients.ts';
import { PostgresConnections } from './connections.ts';
import type { PostgresDeadlines } from './deadlines.ts';
import { EVENTS_SQL, postgresEvents } from './events.ts';
import { GRANTS_SQL, postgresGrants } from './grants.ts';
import type { PostgresHandle } from './handle.ts';
import { firstIssuer, issuerIdOf } from './issuer.ts';
import { KEYS_SQL, postgresKeys } from './keys.ts';
import { LOOK_UPS_SQL, LookUps } from './look_ups.ts';
import { migratePostgres, schemaVersion } from './migration.ts';
import { ONE_TIME_IDENTIFIERS_SQL, postgresOneTimeIdentifiers } from './one_time_identifiers.ts';
import type { PostgresPool } from './pool.ts';
import { Primary } from './primary.ts';
import { PRINCIPALS_SQL, postgresPrincipals } from './principals.ts';
import { PUSHED_REQUESTS_SQL, postgresPushedRequests } from './pushed_requests.ts';
import { ALLOWED_APIS_SINCE, STORE_TABLES } from './schema.ts';
import { assertSound, requireTables } from './soundness.ts';
import { postgresSweep, SWEEP_SQL } from './sweep.ts';
import { postgresTokens, TOKENS_SQL } from './tokens.ts';

export { PostgresConnections, rowsOf } from './connections.ts';
export type { PostgresDeadlines } from './deadlines.ts';
export { importPostgres, type PostgresImportOptions } from './import.ts';
export { migratePostgres, type PostgresTables, requireSameTables } from './migration.ts';
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './pool.ts';
export { namedStatements, type PostgresCall, type PostgresStatement } from './statement.ts';

export interface PostgresStorageOptions extends PostgresDeadlines {
  /**
   * A `Pool` of `pg`, with `pipeline: true` for fewer round trips, or one in its likeness. Its owner listens to its
   * `error` event, which an idle connection that is lost would otherwise end the process with, and ends it.
   */
  readonly pool: PostgresPool;
  /** Whose records this handle sees; one database can hold several issuers. */
  readonly issuer: string;
  /** Milliseconds; the system's clock unless said otherwise. */
  readonly clock?: () => number;
  /** Age in seconds at which events are swept; 30 days unless said otherwise. */
  readonly eventRetentionSeconds?: number;
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
};

const STATEMENTS: readonly string[] = [
  CLIENTS_SQL,
  KEYS_SQL,
  TOKENS_SQL,
  LOOK_UPS_SQL,
  AUTHORIZATION_CODES_SQL,
  ONE_TIME_IDENTIFIERS_SQL,
  PUSHED_REQUESTS_SQL,
  PRINCIPALS_SQL,
  ADMINISTRATION_SQL,
  GRANTS_SQL,
  EVENTS_SQL,
  SWEEP_SQL,
].flatMap((statements) => Object.values<string>(statements));

/**
 * Opens a store in a PostgreSQL database (14 or later), which any number of processes on any number of machines may
 * share; its tables are in the schema `grantd`, made where it is missing.
 * @throws Error where the database cannot be reached in time, was written by a newer program, lacks a table
 * or column, is a standby, or does not keep what it commits
 */
export async function openPostgresStorage(options: PostgresStorageOptions): Promise<AdministrableStorage> {
  requireKinds(options, OPTIONS);
  const { pool, issuer, clock = Date.now } = options;
  const connections = new PostgresConnections(pool, options);
  await assertSound(connections);
  const version = await migratePostgres(connections, STORE_TABLES);
  if (version > 0 && version < ALLOWED_APIS_SINCE) options.onAssumption?.('clients_allowed_every_api');
  await requireTables(connections, STATEMENTS);
  const issuerId = await issuerIdOf(connections, issuer);
  const primary = await Primary.of(connections, issuerId);
  const handle = { primary, lookUps: await LookUps.of(primary, issuerId), issuerId, clock };
  const storage = await storageOn(handle, options.eventRetentionSeconds ?? DEFAULT_EVENT_RETENTION_SECONDS);
  return { ...storage, close: async () => connections.close() };
}

/**
 * The issuer for which a database was opened first.
 * @returns `undefined` where there is none in it yet
 * @throws Error where the database cannot be reached in time, or was written by a newer program
 */
export async function readStoredIssuer(
  pool: PostgresPool,
  deadlines: PostgresDeadlines = {},
): Promise<string | undefined> {
  const connections = new PostgresConnections(pool, deadlines);
  return (await schemaVersion(connections, STORE_TABLES)) === 0 ? undefined : firstIssuer(connections);
}

async function storageOn(
  handle: PostgresHandle,
  eventRetentionSeconds: number,
): Promise<Omit<AdministrableStorage, 'close'>> {
  const principals = await postgresPrincipals(handle);
  return {
    answersPlainRecords: true,
    clients: await postgresClients(handle),
    keys: await postgresKeys(handle),
    tokens: await postgresTokens(handle, principals),
    authorizationCodes: await postgresAuthorizationCodes(handle, principals),
    oneTimeIdentifiers: await postgresOneTimeIdentifiers(handle),
    pushedRequests: await postgresPushedRequests(handle),
    ...(await postgresAdministration(handle, principals)),
    ...(await postgresGrants(handle)),
    ...(await postgresEvents(handle)),
    sweep: await postgresSweep(handle, eventRetentionSeconds),
  };
}
