import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresDeadlines } from '@grantd/core/postgres';
import { Client, Pool } from 'pg';
import { Refused } from '../refused.ts';

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
export interface PostgresAddress {
  /** For messages: `postgres://user@host:port/database`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

export interface ClosablePool {
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
