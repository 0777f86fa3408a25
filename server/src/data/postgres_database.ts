import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { MigrationAssumption } from '@grantd/core';
import {
  namedStatements,
  PostgresConnections,
  rowsOf,
} from '@grantd/core/internal/storage/postgres/connections';
import {
  migratePostgres,
  requireUsableTables,
  storedState,
} from '@grantd/core/internal/storage/postgres/migrate';
import {
  ALLOWED_APIS_SINCE,
  readStoredIssuer,
  STORE_TABLES,
} from '@grantd/core/internal/storage/postgres/schema';
import { openPostgresStorage, type PostgresDeadlines } from '@grantd/core/postgres';
import { Client, escapeLiteral, Pool } from 'pg';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { originOf } from '../log/log.ts';
import { conditionsNow, conditionText } from './conditions.ts';
import {
  type Database,
  directionOf,
  KEPT_BY_SWEEPS,
  migrateDatabase,
  reportAssumptions,
  reportSharedNames,
  reportWords,
  type Schemas,
} from './database.ts';
import { PROGRAM_TABLES, postgresProgramTables, recordedText } from './postgres_tables.ts';
import { connectionOf } from './postgres_url.ts';
import { programData } from './program_data.ts';
import { statement, type TableCall } from './tables.ts';

/** The name of every connection of grantd in `pg_stat_activity`. */
const APPLICATION = 'grantd';

export interface PostgresDatabaseOptions extends PostgresLimits {
  /** Whether each issuance of tokens is recorded. Default: true. */
  readonly recordsIssuance?: boolean;
  /** Receives the error when an idle connection is lost. */
  readonly onConnectionLost: (error: Error) => void;
}

/**
 * A PostgreSQL database, which any number of processes on any number of machines can share. Does not connect yet.
 * @throws {ConfigurationRefused} the URL has an unknown parameter, or a file that cannot be read here
 */
export function postgresDatabase(url: string, options: PostgresDatabaseOptions): Database {
  const address = addressOf(url);
  const { pool, close } = openPool(url, options, options.onConnectionLost);
  const disk = { failures: 0, probe: SPACE_PROBE };
  pool.on('connect', ({ connection }) =>
    connection.on('errorMessage', (error: unknown) => {
      if (codeOf(error) === DISK_FULL) disk.failures += 1;
    }),
  );
  const deadlines = deadlinesOf(options);
  const connections = new PostgresConnections(pool, deadlines, hostCondition);
  const assumptions: MigrationAssumption[] = [];
  const schemas = async (): Promise<Schemas | undefined> => {
    await requireConnection(pool, address);
    return asDatabase(address, () => postgresSchemas(connections));
  };

  return {
    name: address.name,
    async storedIssuer() {
      await requireConnection(pool, address);
      return asDatabase(address, () => readStoredIssuer(pool, deadlines));
    },
    // An empty database may be the wrong one or a lost one, and this machine has no way to tell.
    doubtAboutCreating: async () =>
      'or it is empty: choose another with --database (after a restore, the restored database)',
    prepareSecret: refuseWithoutSecret,
    keptSecret: refuseWithoutSecret,
    changeKeptSecret: refuseWithoutSecret,
    schemas,
    async migrate(migrating, whileInUse) {
      const attempt = async (isBesideOthers: boolean) => {
        if (!isBesideOthers && (await areOthersConnected(connections))) return false;
        const before = await migratePostgres(connections, STORE_TABLES, directionOf(migrating, 'library'));
        if (before > 0 && before < ALLOWED_APIS_SINCE) assumptions.push('clients_allowed_every_api');
        await migratePostgres(connections, PROGRAM_TABLES, directionOf(migrating, 'program'));
        return true;
      };
      await migrateDatabase(
        { name: address.name, schemas },
        {
          migrating,
          whileInUse,
          attempt: (isBesideOthers) =>
            asDatabase(address, () => attempt(isBesideOthers)).catch((error: unknown) => {
              if (codeOf(error) === LOCK_NOT_AVAILABLE) return false;
              throw error;
            }),
        },
      );
    },
    open: (issuer, actor) =>
      asDatabase(address, async () => {
        const onAssumption = (assumption: MigrationAssumption) => assumptions.push(assumption);
        const storage = await openPostgresStorage({
          pool,
          issuer,
          onAssumption,
          ...deadlines,
          eventRetentionSeconds: KEPT_BY_SWEEPS,
          audit: { originOf: originOf(actor), issuance: options.recordsIssuance ?? true },
          hostCondition,
        });
        await reportAssumptions(storage, assumptions);
        await migratePostgres(connections, PROGRAM_TABLES);
        const tables = postgresProgramTables(
          connections,
          issuer,
          requireUsableTables(connections, PROGRAM_TABLES),
          originOf(actor),
        );
        const data = programData(tables, issuer, storage, disk);
        reportSharedNames(await data.people.keyNames(reportWords));
        return {
          storage,
          ...data,
          connections: () => stateOf(pool),
          async referenceTime() {
            return { atMs: await tables.first(clockNow(), ({ now_ms }) => Number(now_ms)), isNow: true };
          },
        };
      }),
    close,
  };
}

/** SQLSTATE of a statement that found no space on the disk. */
const DISK_FULL = '53100';

/**
 * Needs a megabyte in new files, and gives it back. It is unlogged, because PostgreSQL ends if its write-ahead log finds
 * no space.
 */
const SPACE_PROBE: readonly TableCall[] = [
  statement(`
    CREATE UNLOGGED TABLE grantd.space_probe AS
    SELECT repeat('x', 1000) AS filler FROM generate_series(1, 1000)`)(),
  statement('DROP TABLE grantd.space_probe')(),
];

const clockNow = statement('SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now_ms');

/** What the transaction that begins now depends on, and also writes. */
function hostCondition(): string | undefined {
  return conditionsNow()
    ?.map((condition) =>
      conditionText(condition, escapeLiteral, ({ change, cause }) =>
        recordedText(change, condition.issuer, cause, escapeLiteral),
      ),
    )
    .join('; ');
}

async function postgresSchemas(connections: PostgresConnections): Promise<Schemas | undefined> {
  const library = await storedState(connections, STORE_TABLES);
  if (library.version === 0) return undefined;
  return {
    library: { state: library, migrations: STORE_TABLES.migrations },
    program: {
      state: await storedState(connections, PROGRAM_TABLES),
      migrations: PROGRAM_TABLES.migrations,
    },
  };
}

/** SQLSTATE of a statement that has waited too long for a lock. */
const LOCK_NOT_AVAILABLE = '55P03';

const OTHERS_SQL = {
  // Sessions of another user hide their application.
  others: `
    SELECT count(*)::integer AS others FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = '${APPLICATION}' AND pid <> pg_backend_pid()`,
};

/** Whether other connections to the database belong to grantd: servers, commands, or a pooler’s idle ones. */
async function areOthersConnected(connections: PostgresConnections): Promise<boolean> {
  const sql = await namedStatements(OTHERS_SQL);
  const [row] = rowsOf<{ others: number }>(await connections.read([sql.others]));
  return (row?.others ?? 0) > 0;
}

function stateOf({ idleCount, totalCount, waitingCount }: Pool) {
  return { idle: idleCount, used: totalCount - idleCount, pending: waitingCount };
}

function refuseWithoutSecret(): never {
  throw new ConfigurationRefused(
    'GRANTD_SECRET: expected the server’s secret, which is not stored next to a PostgreSQL database. Use the secret ' +
      'with which the database was created (after a copy, the content of the file PATH.secret), or for a new database ' +
      'the output of openssl rand -base64 32. Set the same secret for every process, in GRANTD_SECRET or as "secret" in the config file',
  );
}

/** Limits of one process. */
export interface PostgresLimits {
  /** Maximum connections. */
  readonly connections: number;
  /** Milliseconds to open a connection or wait for a free one. */
  readonly connectTimeoutMs: number;
  /** Milliseconds to wait for the answer to a statement. */
  readonly statementTimeoutMs: number;
}

/** The limits in the library’s form. */
export function deadlinesOf({ connectTimeoutMs, statementTimeoutMs }: PostgresLimits): PostgresDeadlines {
  return { connectionTimeoutMs: connectTimeoutMs, statementTimeoutMs };
}

/** The target of a URL, including PG… variables and defaults, without the password. */
export interface PostgresAddress {
  /** For messages: `postgres://user@host:port/database`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

interface ClosablePool {
  readonly pool: Pool;
  /** Waits a limited time for pending statements, then cuts the remaining connections. Idempotent. */
  close(): Promise<void>;
}

/** Milliseconds that busy connections get to finish. */
const MAX_CLOSE_MS = 1000;

const KEEP_ALIVE_DELAY_MS = 10_000;

/** @throws {ConfigurationRefused} the URL has an unknown parameter, or a file that cannot be read here */
export function addressOf(url: string): PostgresAddress {
  const { host, port, user, database } = new Client(connectionOf(url));
  const authority = `${user === undefined ? '' : `${encodeURIComponent(user)}@`}${hostInUrl(host)}:${port}`;
  return { name: `postgres://${authority}/${encodeURIComponent(database ?? '')}`, host, port };
}

/**
 * Opens a connection pool. Startup messages contain no settings, because shared poolers reject them.
 * @param onConnectionLost receives the error when an idle connection is lost
 */
export function openPool(
  url: string,
  { connections, connectTimeoutMs }: PostgresLimits,
  onConnectionLost: (error: Error) => void,
): ClosablePool {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    ...connectionOf(url),
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: APPLICATION,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    pipeline: true,
    stream() {
      const socket = new Socket();
      sockets.add(socket);
      return socket.once('close', () => sockets.delete(socket));
    },
  });
  pool.on('error', onConnectionLost);
  // In pipelined mode, the driver keeps a broken connection until its last statement is answered, which may never
  // happen.
  pool.on('release', (error, { connection }) => {
    if (error) connection.stream.destroy();
  });

  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await Promise.race([pool.end(), pause(MAX_CLOSE_MS, undefined, { ref: false })]);
    // The pool forgets connections that fail to open or close. They would keep the process alive.
    for (const socket of sockets) socket.destroy();
  };
  return {
    pool,
    close() {
      closing ??= end();
      return closing;
    },
  };
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}

const CHECK_ADDRESS = 'check that PostgreSQL runs there and that the URL is right';
const CHECK_CA = 'name the CA of the server in the URL, as in ?sslmode=verify-full&sslrootcert=FILE';
const CHECK_PASSWORD = 'check the password, in PGPASSWORD or in the URL';

/** Advice by system error code or by the SQLSTATE of a refused connection. */
const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED: CHECK_ADDRESS,
  EHOSTUNREACH: CHECK_ADDRESS,
  ENETUNREACH: CHECK_ADDRESS,
  ENOENT: CHECK_ADDRESS,
  ENOTFOUND: CHECK_ADDRESS,
  ETIMEDOUT: CHECK_ADDRESS,
  '28000': 'use a user who may connect from this machine',
  '28P01': CHECK_PASSWORD,
  '3D000': 'create the database first (createdb)',
  '53300': 'allow more connections in PostgreSQL, or fewer in grantd (--database-connections)',
  '57P03': 'try again when PostgreSQL has started',
  DEPTH_ZERO_SELF_SIGNED_CERT: CHECK_CA,
  SELF_SIGNED_CERT_IN_CHAIN: CHECK_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CHECK_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CHECK_CA,
  ERR_TLS_CERT_ALTNAME_INVALID: 'connect to a name that the certificate of the server contains',
};

/** Advice by message, for the driver’s own errors, which have no code. */
const REMEDIES_BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/password/, CHECK_PASSWORD],
  [/timeout/, CHECK_ADDRESS],
  [/does not support SSL/, 'turn TLS on in PostgreSQL, or set sslmode=disable in the URL'],
];

/** @throws {Refused} the connection fails */
export function requireConnection(pool: Pool, address: PostgresAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    // Releases the client at once. A loss would go unnoticed while a promise for the client is pending.
    pool.connect((error, client) => {
      client?.release();
      if (error === undefined) resolve();
      else reject(connectionRefused(address, error));
    });
  });
}

/** SQLSTATE of a statement that the role may not run. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** SQLSTATEs of missing tables and columns. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '42703']);

/** @throws {Refused} one of grantd’s tables or columns is missing, or the role may not use it */
export async function asDatabase<T>({ name }: PostgresAddress, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reasons = error instanceof Error ? [error, error.cause] : [];
    const denied = reasons.find((reason) => codeOf(reason) === INSUFFICIENT_PRIVILEGE);
    if (denied !== undefined)
      throw new Refused(
        `the role of ${name} may not use tables of grantd (${messageOf(denied)}): use the role that owns them.`,
      );
    const missing = reasons.find((reason) => MISSING.has(codeOf(reason)));
    if (missing === undefined) throw error;
    throw new Refused(
      `${name} lacks tables or columns of grantd (${messageOf(missing)}): restore the database from a backup.`,
    );
  }
}

/** The connection error in one line, with host, port and code. */
function connectionRefused({ name, host, port }: PostgresAddress, error: unknown): Refused {
  const [code, message] = [codeOf(error), messageOf(error)];
  const remedy = REMEDIES[code ?? ''] ?? REMEDIES_BY_MESSAGE.find(([said]) => said.test(message))?.[1];
  const reason = code === undefined ? message : `${code}, ${message}`;
  const advice = remedy === undefined ? '' : `; ${remedy}`;
  return new Refused(`cannot connect to ${name} (host ${host}, port ${port}): ${reason}${advice}.`);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && error.code !== undefined ? `${error.code}` : undefined;
}

/** If every address of a host failed, the message of the last one. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors.at(-1));
  return error instanceof Error ? error.message : String(error);
}
