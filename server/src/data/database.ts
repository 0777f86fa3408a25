import { setTimeout as pause } from 'node:timers/promises';
import type { AdministrableStorage, MigrationAssumption } from '@grantd/core';
import {
  canUse,
  isTooNew,
  type MigrationPlan,
  migrationPlan,
} from '@grantd/core/internal/storage/migrations';
import type { Migration, MigrationDirection, SchemaState } from '@grantd/core/sqlite';
import { Refused } from '../config/refused.ts';
import type { ActorKind } from '../log/log.ts';
import type { ProgramData } from './program_data.ts';

/** Seconds. Sweeps leave events to the audit trail, which signs what it removes. */
export const KEPT_BY_SWEEPS = 10_000 * 365 * 24 * 60 * 60;

/** A database, as the program uses it in addition to the library’s store. */
export interface Database {
  /** Name for messages and logs: a path, or a URL without its password. */
  readonly name: string;
  /** The database file. Absent for a database server, which never blocks the calling thread. */
  readonly file?: string;
  /**
   * The issuer that owns the database, read each time; `undefined` before the database is created. Changes nothing.
   * @throws {Refused} the database is not reachable
   */
  storedIssuer(): Promise<string | undefined>;
  /**
   * Why a missing database should not be created without `--create`, and what to do instead, as part of a message.
   * `undefined` if there is no sign of an earlier database.
   */
  doubtAboutCreating(): Promise<string | undefined>;
  /**
   * Creates the server’s secret before the database, if no option sets it.
   * @throws {Refused} an option must set it
   */
  prepareSecret(): void;
  /**
   * The server’s secret that is stored next to the database.
   * @throws {Refused} there is none
   */
  keptSecret(): readonly string[];
  /**
   * Changes the stored secret atomically.
   * @param change maps the current secrets to the new secrets
   * @returns the path of the file
   * @throws {Refused} there is no stored secret, or it cannot be changed
   */
  changeKeptSecret(change: (secrets: readonly string[]) => readonly string[]): string;
  /** The versions of its tables; `undefined` before the database is created. Changes nothing. */
  schemas(): Promise<Schemas | undefined>;
  /**
   * Migrates the tables, in one transaction with SQLite.
   * @param whileInUse although other processes use the database; those that cannot use the new tables then answer 503
   * @throws {Refused} another process uses the database, and could not use the new tables
   */
  migrate(migrating: Migrating, whileInUse: boolean): Promise<void>;
  /**
   * Opens the database for an issuer and creates it if necessary. Call it once.
   * @param actor who makes changes outside of requests. Default: the server
   */
  open(issuer: string, actor?: ActorKind): Promise<OpenDatabase>;
  /** Closes everything that is open. Idempotent. */
  close(): Promise<void>;
}

/** Versions of the library’s and the program’s tables. */
export interface Schemas {
  readonly library: SchemaVersions;
  readonly program: SchemaVersions;
}

export interface SchemaVersions {
  readonly state: SchemaState;
  /** Those that this program knows. */
  readonly migrations: readonly Migration[];
}

/** What a program can do with the tables of a database. */
export type Usability = 'usable' | 'outdated' | 'too_new';

/** If only the program’s tables are missing, another process is just creating the database. */
export function usabilityOf({ library, program }: Schemas): Usability {
  const all = [library, program];
  if (all.some(({ state, migrations }) => isTooNew(state, migrations))) return 'too_new';
  const canServe = ({ state, migrations }: SchemaVersions) => canUse(state, migrations);
  return canServe(library) && (program.state.version === 0 || canServe(program)) ? 'usable' : 'outdated';
}

/** Whether a database needs a migration before this program can use it. */
export function isOutdated(schemas: Schemas): boolean {
  return usabilityOf(schemas) === 'outdated';
}

/** `to`: undoes expansions back to these versions. Tables without one stay as they are. */
export type Migrating = 'up' | 'contract' | { readonly to: Readonly<Partial<Record<keyof Schemas, number>>> };

/** What a migration means for one set of tables. */
export function directionOf(migrating: Migrating, tables: keyof Schemas): MigrationDirection {
  if (typeof migrating === 'string') return migrating;
  return { downTo: migrating.to[tables] ?? Number.POSITIVE_INFINITY };
}

/** What a migration would do with both sets of tables. */
export function plansOf(schemas: Schemas, migrating: Migrating): readonly MigrationPlan[] {
  return (['library', 'program'] as const).map((tables) => {
    const { state, migrations } = schemas[tables];
    return migrationPlan(directionOf(migrating, tables), state, migrations);
  });
}

/** Whether a migration would change anything. */
export function isMigrated(schemas: Schemas, migrating: Migrating): boolean {
  return plansOf(schemas, migrating).every(({ scripts }) => scripts.length === 0);
}

/** Milliseconds for which a migration waits for other processes to end. */
const MAX_USE_MS = 5000;

/**
 * Migrates as soon as no other process uses the database, or at once if those that use it can continue (ADR 87).
 * @param order.attempt migrates; returns `false` while another process is in the way
 * @throws {Refused} another process still uses the database
 */
export async function migrateDatabase(
  { name, schemas }: Pick<Database, 'name' | 'schemas'>,
  {
    migrating,
    whileInUse,
    attempt,
  }: {
    readonly migrating: Migrating;
    readonly whileInUse: boolean;
    attempt(whileInUse: boolean): Promise<boolean>;
  },
): Promise<void> {
  for (const endsAt = performance.now() + MAX_USE_MS; ; await pause(100)) {
    const found = await schemas();
    if (found !== undefined && isMigrated(found, migrating)) return;
    const isExpansion = found !== undefined && plansOf(found, migrating).every((plan) => plan.isExpansion);
    if (await attempt(whileInUse || isExpansion)) return;
    if (performance.now() > endsAt)
      throw new Refused(
        migrating === 'contract'
          ? `the tables of ${name} are in use, for example by a backup: try again when it has ended.`
          : `the tables of ${name} are of an earlier version, and other processes use them: stop every server of the ` +
              'earlier version, every command, and everything else that reads them, such as a backup or an open ' +
              'transaction of another program, then start again (or run grantd migrate up).',
      );
  }
}

/** A time that does not come from this process's clock. */
export interface ReferenceTime {
  /** Milliseconds since 1970. `undefined` if nothing was recorded yet. */
  readonly atMs: number | undefined;
  /** Whether a database server's clock says so now. Otherwise, it is the time of the newest event or token. */
  readonly isNow: boolean;
  /**
   * On a file whose records of the last minutes follow a gap: the newest time before it. Processes with a wrong clock, which
   * soon ended, may have recorded the others.
   */
  readonly settledMs?: number | undefined;
}

/** One issuer’s part of a database. */
export interface OpenDatabase extends ProgramData {
  readonly storage: AdministrableStorage;
  /**
   * Whether the path still leads to the opened file. Writes to a replaced file are lost. Absent for a database server.
   * @throws {Error} the file system does not answer
   */
  isInPlace?(): boolean;
  /** Whether any process has found the file corrupt. Absent for a database server. */
  isDamaged?(): boolean;
  /** Reads a time that this process's clock should agree with. */
  referenceTime(): Promise<ReferenceTime>;
  /** The state of the connection pool. Absent for a file. */
  connections?(): { readonly idle: number; readonly used: number; readonly pending: number };
  /** Whether the last process crashed. Absent for a database server. */
  readonly isAfterCrash?: boolean;
}

/** Reports on stderr what a migration assumed and what the operator can do. */
export async function reportAssumptions(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  assumptions: readonly MigrationAssumption[],
): Promise<void> {
  if (!assumptions.includes('clients_allowed_every_api')) return;
  const all = await clients.list();
  const allowed = all.filter(({ metadata }) => (metadata?.apis ?? []).length > 0);
  const apis = new Set(all.flatMap(({ resource }) => resource ?? []));
  if (apis.size === 0) return;
  const selfRegistered = all.filter(({ registrationTokenDigest }) => registrationTokenDigest !== undefined);
  const lines = [
    `every client that an operator added may request every registered API: ${idsOf(allowed)}`,
    'restrict clients with grantd client update ID --api URI, and declare the scopes of APIs with grantd client update API --api-scope SCOPE',
    ...(selfRegistered.length === 0
      ? []
      : [
          `self-registered clients (${selfRegistered.length}) may request no API: allow APIs with ` +
            'grantd client update ID --api URI, and --registration-apis for new ones',
        ]),
  ];
  for (const line of lines) console.error(`grantd: migration: ${line}`);
}

/** Users after which progress is reported. */
const REPORTED_USERS = 10_000;

/** Reports on stderr how many users of an earlier version a search finds by their words. */
export function reportWords(done: number, all: number): void {
  if (all >= REPORTED_USERS && (done % REPORTED_USERS === 0 || done >= all))
    console.error(`grantd: migration: the search finds ${done} of ${all} users by their words`);
}

/** Reports on stderr which users have names that resemble another user’s name. */
export function reportSharedNames(names: readonly string[]): void {
  if (names.length === 0) return;
  const shown = idsOf(names.map((name) => ({ id: JSON.stringify(name) })));
  console.error(
    `grantd: users whose names differ from another name only by case, width or look-alike letters: ${shown}. ` +
      'They can sign in only with this exact spelling. Rename them with grantd user update NAME --username NEW.',
  );
}

/** Further names are only counted. */
const MAX_NAMED = 10;

function idsOf(clients: readonly { readonly id: string }[]): string {
  const named = clients.slice(0, MAX_NAMED).map(({ id }) => id);
  const others = clients.length - named.length;
  return [named.join(', '), ...(others > 0 ? [`and ${others} more`] : [])].join(' ');
}
