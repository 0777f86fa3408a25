import type { AdministrableStorage } from '@grantd/core';
import type { PostgresDeadlines } from '@grantd/core/postgres';
import type { Environment } from '../../server/test/harness/program.ts';
import type { DatabaseControl } from './database_control.ts';
import type { ServerProcess } from './server_process.ts';

/** A way to run grantd. Every promise must hold for it. */
export interface Deployment {
  readonly name: string;
  /** Why it cannot run on this machine; absent if it can. */
  unavailable(): string | undefined;
  /** Starts servers on a new, empty database. */
  start(order: ClusterOrder): Promise<Cluster>;
}

export interface ClusterOrder {
  /** The number of processes that respond to requests. */
  readonly processes: number;
  /** Flags of `grantd serve` besides those that the deployment sets. */
  readonly flags?: readonly string[];
  /** Variables of the servers besides those that the deployment sets. */
  readonly environment?: Environment;
}

/** Servers of one issuer that share a database. */
export interface Cluster {
  readonly issuer: string;
  /** The value for `--database`. */
  readonly database: string;
  readonly servers: readonly ServerProcess[];
  /** Connections per server that are needed to reach all of its processes. */
  readonly connectionsToReachAll: number;
  /**
   * A handle of the library, as in a separate process that embeds it.
   * @param deadlines how long it waits for PostgreSQL
   */
  openStorage(deadlines?: PostgresDeadlines): Promise<AdministrableStorage>;
  /**
   * Runs a command of the program.
   * @returns its output
   */
  command(args: readonly string[], input?: string): Promise<string>;
  /** Queries the database directly. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Present if the database is a separate server. */
  readonly databaseServer?: DatabaseControl;
  /** Errors that the database finds in its own files; `undefined` if there are none, or if it cannot check. */
  integrityFault(): Promise<string | undefined>;
}
