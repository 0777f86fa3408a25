import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { MigrationAssumption } from '@grantd/core';
import {
  migratePostgres,
  namedStatements,
  openPostgresStorage,
  PostgresConnections,
  type PostgresDeadlines,
  type PostgresStatement,
  readStoredIssuer,
  requireSameTables,
  rowsOf,
} from '@grantd/core/postgres';
import { Client, Pool } from 'pg';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { type Database, reportAssumptions, reportSharedNames } from './database.ts';
import { PROGRAM_TABLES } from './postgres_tables.ts';
import { programData } from './program_data.ts';
import { askStorage, type ProgramTables, type TableRow } from './tables.ts';

interface PostgresDatabaseOptions extends PostgresLimits {
  /** As the library's store takes it. */
  readonly eventRetentionSeconds?: number;
  /** Is told of a connection that was lost while nobody used it. */
  readonly onConnectionLost: (error: Error) => void;
}

/**
 * A database on PostgreSQL, which any number of processes of any number of machines may share. Nothing is asked of it
 * yet.
 * @throws {Refused} the URL names what cannot be read here
 */
export function postgresDatabase(url: string, options: PostgresDatabaseOptions): Database {
  const address = addressOf(url);
  const { pool, close } = openPool(url, options, options.onConnectionLost);
  const deadlines = deadlinesOf(options);

  return {
    name: address.name,
    async storedIssuer() {
      await requireConnection(pool, address);
      return asDatabase(address, () => readStoredIssuer(pool, deadlines));
    },
    // Empty is also the wrong one, or one that was lost: nothing on this machine tells.
    doubtAboutMaking: async () =>
      'which is empty: name another with --database (after a restore, the one that was restored)',
    prepareSecret: refuseWithoutSecret,
    keptSecret: refuseWithoutSecret,
    changeKeptSecret: refuseWithoutSecret,
    open: (issuer) =>
      asDatabase(address, async () => {
        const { eventRetentionSeconds } = options;
        const assumptions: MigrationAssumption[] = [];
        const onAssumption = (assumption: MigrationAssumption) => assumptions.push(assumption);
        const storage = await openPostgresStorage({
          pool,
          issuer,
          onAssumption,
          ...deadlines,
          ...(eventRetentionSeconds !== undefined && { eventRetentionSeconds }),
        });
        await reportAssumptions(storage, assumptions);
        const connections = new PostgresConnections(pool, deadlines);
        await migratePostgres(connections, PROGRAM_TABLES);
        const tables = postgresProgramTables(connections, requireSameTables(connections, PROGRAM_TABLES));
        const data = programData(tables, issuer, storage.clients);
        reportSharedNames(await data.people.keyNames());
        return { storage, ...data };
      }),
    close,
  };
}

function refuseWithoutSecret(): never {
  throw new ConfigurationRefused(
    'GRANTD_SECRET: expected the server’s secret, which cannot be kept beside a database on PostgreSQL: the one that ' +
      'it was made with (after a copy, what is in the file PATH.secret), or for a new database what ' +
      'openssl rand -base64 32 makes; the same for every process, in GRANTD_SECRET or as "secret" in the file of --config',
  );
}

/**
 * The program's tables beside the library's in the schema `grantd`.
 * @param requireSameTables rejects once a newer program has migrated them
 */
export function postgresProgramTables(
  connections: PostgresConnections,
  requireSameTables: () => Promise<void>,
): ProgramTables {
  const named = new Map<string, Promise<PostgresStatement>>();

  const statementOf = (sql: string): Promise<PostgresStatement> => {
    const known = named.get(sql);
    if (known !== undefined) return known;
    const statement = namedStatements({ sql }).then((statements) => statements.sql);
    named.set(sql, statement);
    return statement;
  };

  return {
    read: async (sql, ...values) => {
      const statement = await statementOf(sql);
      await askStorage(requireSameTables);
      return rowsOf<TableRow>(await askStorage(() => connections.read([statement, ...values])));
    },
    write: async (...calls) => {
      const statements = await Promise.all(
        calls.map(async ([sql, ...values]) => [await statementOf(sql), ...values] as const),
      );
      await askStorage(requireSameTables);
      return (await askStorage(() => connections.write(statements))).map((result) =>
        rowsOf<TableRow>(result),
      );
    },
  };
}

/** What one process may ask of PostgreSQL. */
export interface PostgresLimits {
  /** Connections at most. */
  readonly connections: number;
  /** Milliseconds for a connection: for making it, and for waiting until one is free. */
  readonly connectTimeoutMs: number;
  /** Milliseconds for the answer to a statement. */
  readonly statementTimeoutMs: number;
}

/** The limits as the library's functions take them. */
export function deadlinesOf({ connectTimeoutMs, statementTimeoutMs }: PostgresLimits): PostgresDeadlines {
  return { connectionTimeoutMs: connectTimeoutMs, statementTimeoutMs };
}

/** Where a URL leads, the PG… variables and defaults included; never with the password. */
interface PostgresAddress {
  /** For messages: `postgres://user@host:port/database`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

interface ClosablePool {
  readonly pool: Pool;
  /** Waits, bounded, for what is under way, and cuts the connections that are left. Idempotent. */
  close(): Promise<void>;
}

/** Milliseconds that a connection in use has at the end. */
const LONGEST_CLOSE_MS = 1000;

const KEEP_ALIVE_DELAY_MS = 10_000;

/** @throws {Refused} the URL names what cannot be read here, as a certificate */
export function addressOf(url: string): PostgresAddress {
  const { host, port, user, database } = clientOf(url);
  const authority = `${user === undefined ? '' : `${encodeURIComponent(user)}@`}${hostInUrl(host)}:${port}`;
  return { name: `postgres://${authority}/${encodeURIComponent(database ?? '')}`, host, port };
}

/**
 * Connections, whose startup message asks for no settings: a pooler that shares them among many refuses those.
 * @param onConnectionLost is told of a connection that was lost while nobody used it
 */
export function openPool(
  url: string,
  { connections, connectTimeoutMs }: PostgresLimits,
  onConnectionLost: (error: Error) => void,
): ClosablePool {
  const sockets = new Set<Socket>();
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'grantd',
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
  // In its pipelined mode the driver keeps one that is given back as broken until its last statement is answered,
  // which may be never.
  pool.on('release', (error, { connection }) => {
    if (error) connection.stream.destroy();
  });

  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await Promise.race([pool.end(), pause(LONGEST_CLOSE_MS, undefined, { ref: false })]);
    // The pool forgets those that it could not make, or that do not say goodbye; they would keep the process alive.
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

/** A client that never connects, since only the driver itself knows what it makes of a URL. */
function clientOf(url: string): Client {
  try {
    return new Client({ connectionString: url });
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? `${error.code}` : 'it cannot be read';
    throw new Refused(`the URL of the database names a file, or a setting, that does not fit: ${reason}`);
  }
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : encodeURIComponent(host);
}

const CHECK_ADDRESS = 'check that it runs there, and that the URL names it';
const CHECK_PASSWORD = 'check the password, in PGPASSWORD or in the URL';

/** What to do about a system's error, and about an SQLSTATE by which PostgreSQL says what is wrong with a newcomer. */
const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED: CHECK_ADDRESS,
  EHOSTUNREACH: CHECK_ADDRESS,
  ENETUNREACH: CHECK_ADDRESS,
  ENOENT: CHECK_ADDRESS,
  ENOTFOUND: CHECK_ADDRESS,
  ETIMEDOUT: CHECK_ADDRESS,
  '28000': 'name a user whom it lets in from here',
  '28P01': CHECK_PASSWORD,
  '3D000': 'make the database first (createdb)',
  '53300': 'let it have more connections, or grantd fewer (--database-connections)',
  '57P03': 'try again once it has started',
};

/** What the driver says by itself has no code. */
const REMEDIES_BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/password/, CHECK_PASSWORD],
  [/timeout/, CHECK_ADDRESS],
];

/** @throws {Refused} no connection comes about */
export function requireConnection(pool: Pool, address: PostgresAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    // Given back at once: nobody would hear that it is lost while a promise for it is on its way.
    pool.connect((error, client) => {
      client?.release();
      if (error === undefined) resolve();
      else reject(noConnection(address, error));
    });
  });
}

/** SQLSTATE of a table or column that does not exist. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '42703']);

/** @throws {Refused} a table or column is missing that grantd made */
export async function asDatabase<T>({ name }: PostgresAddress, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reasons = error instanceof Error ? [error, error.cause] : [];
    const missing = reasons.find((reason) => MISSING.has(codeOf(reason)));
    if (missing === undefined) throw error;
    throw new Refused(
      `${name} lacks a part of the tables that grantd made (${messageOf(missing)}): restore the database from a backup.`,
    );
  }
}

/** Why no connection came about, in one line with the host, the port and the code. */
function noConnection({ name, host, port }: PostgresAddress, error: unknown): Refused {
  const [code, message] = [codeOf(error), messageOf(error)];
  const remedy = REMEDIES[code ?? ''] ?? REMEDIES_BY_MESSAGE.find(([said]) => said.test(message))?.[1];
  const reason = code === undefined ? message : `${code}, ${message}`;
  const advice = remedy === undefined ? '' : `; ${remedy}`;
  return new Refused(`no connection to ${name} (host ${host}, port ${port}): ${reason}${advice}.`);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && error.code !== undefined ? `${error.code}` : undefined;
}

/** Of several addresses of a host that were all tried in vain, the last one's. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors.at(-1));
  return error instanceof Error ? error.message : String(error);
}
