import type { AdministrableStorage } from '@grantd/core';
import type { DatabaseControl } from './database_control.ts';
import type { ServerProcess } from './server_process.ts';

/** A way to run grantd that every claim has to hold for. */
export interface Deployment {
  readonly name: string;
  /** Why it cannot run on this machine; absent where it can. */
  unavailable(): string | undefined;
  /** Starts servers on a new, empty database. */
  start(order: ClusterOrder): Promise<Cluster>;
}

export interface ClusterOrder {
  /** How many processes answer requests. */
  readonly processes: number;
  /** Flags of `grantd serve` besides those that the deployment sets. */
  readonly flags?: readonly string[];
}

/** Servers of one issuer that share one database. */
export interface Cluster {
  readonly issuer: string;
  /** As `--database` takes it. */
  readonly database: string;
  readonly servers: readonly ServerProcess[];
  /** How many connections to each server are needed for all of its processes to be reached. */
  readonly connectionsToReachAll: number;
  /** A handle of the library, as a process of its own that embeds it would have. */
  openStorage(): Promise<AdministrableStorage>;
  /** Runs a command of the program to its end. @returns what it prints */
  command(args: readonly string[], input?: string): Promise<string>;
  /** Asks the database itself, past grantd. */
  rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Where the database is a server of its own. */
  readonly databaseServer?: DatabaseControl;
  /** What the database finds wrong with its own files; `undefined` where nothing is, or where it cannot tell. */
  integrityFault(): Promise<string | undefined>;
}
