import { type Configuration, typedPath } from '../config/configuration.ts';
import { flagOf, hasPassword, isPostgresUrl, type Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import type { Database } from './database.ts';
import type { PostgresLimits } from './postgres_database.ts';
import { connectionOf } from './postgres_url.ts';
import { sqliteDatabase } from './sqlite_database.ts';

/**
 * The database of the option `database`. Neither opens nor creates it.
 * @param onConnectionLost receives the error when an idle connection is lost
 * @throws {ConfigurationRefused} the URL has an unknown parameter, or a file that cannot be read here
 */
export async function databaseOf(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
  onConnectionLost: (error: Error) => void = () => {},
): Promise<Database> {
  const { database: url, auditTokens: recordsIssuance } = settings;
  if (!isPostgresUrl(url)) return sqliteDatabase(databasePath(url, environment), { recordsIssuance });
  connectionOf(url, sourceOf('database'), environment);
  // Loaded on demand, so that commands on SQLite start faster.
  const { postgresDatabase } = await import('./postgres_database.ts');
  return postgresDatabase(url, {
    ...postgresLimits(settings),
    onConnectionLost,
    recordsIssuance,
  });
}

/** A database that is backed up or restored: a file, or the URL of a PostgreSQL database. */
export type StoredIn = { readonly path: string } | (PostgresLimits & { readonly url: string });

/** Where the database of the options is. */
export function storedIn(settings: Settings, environment: NodeJS.ProcessEnv): StoredIn {
  const { database: url } = settings;
  if (isPostgresUrl(url)) return { url, ...postgresLimits(settings) };
  return { path: databasePath(url, environment) };
}

export function postgresLimits(settings: Settings): PostgresLimits {
  return {
    connections: settings.databaseConnections,
    connectTimeoutMs: settings.databaseConnectTimeoutMs,
    statementTimeoutMs: settings.databaseStatementTimeoutMs,
  };
}

/** Warns on stderr if `--database` or `--smtp-url` contains a password. */
export function warnOfPasswordInFlag({ settings, sourceOf }: Configuration): void {
  const smtpFlag = flagOf('smtpUrl');
  if (settings.smtpUrl !== undefined && sourceOf('smtpUrl') === smtpFlag)
    warnOfPassword(settings.smtpUrl, smtpFlag, 'GRANTD_SMTP_URL');
  const flag = flagOf('database');
  const { database } = settings;
  if (sourceOf('database') !== flag || !isPostgresUrl(database)) return;
  warnOfPassword(database, flag, 'PGPASSWORD, or GRANTD_DATABASE,');
}

/**
 * Warns on stderr if a URL in an argument contains a password.
 * @param better the variables to use instead
 */
export function warnOfPassword(url: string, flag: string, better: string): void {
  if (!hasPassword(url)) return;
  console.error(`grantd: every user of this machine can read the password in ${flag}: set ${better} instead`);
}

/** The file of an SQLite URL. */
export function databasePath(url: string, environment: NodeJS.ProcessEnv): string {
  return typedPath(environment, url.replace(/^sqlite:(\/\/(?=\/))?/, ''));
}

/**
 * Requires permission to create a missing database. It may be an unmounted volume or the wrong path, and an empty
 * database would reject every client and token of the right one (ADR 52).
 * @throws {Refused} the database may not be created
 */
export async function requireCreatable(
  { create }: Pick<Settings, 'create'>,
  database: Database,
): Promise<void> {
  if (create === true) return;
  if (create === false)
    throw new Refused(
      `the database ${database.name} does not exist, and --create false prevents its creation.`,
    );
  const doubt = await database.doubtAboutCreating();
  if (doubt !== undefined)
    throw new Refused(
      `the database ${database.name} does not exist, ${doubt}, or create a new one with --create.`,
    );
}
