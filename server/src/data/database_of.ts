import { type Configuration, typedPath } from '../config/configuration.ts';
import { flagOf, hasPassword, isPostgresUrl, type Settings } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import type { Database } from './database.ts';
import { sqliteDatabase } from './sqlite_database.ts';

/**
 * The database that the option `database` names. Nothing of it is made or asked yet.
 * @param onConnectionLost is told of a connection that was lost while nobody used it
 * @throws {Refused} the option names what this machine does not have
 */
export async function databaseOf(
  { settings }: Configuration,
  environment: NodeJS.ProcessEnv,
  onConnectionLost: (error: Error) => void = () => {},
): Promise<Database> {
  const { database: url, eventRetention: eventRetentionSeconds, cachedTokens } = settings;
  if (!isPostgresUrl(url))
    return sqliteDatabase(databasePath(url, environment), { eventRetentionSeconds, cachedTokens });
  // Loaded only here: commands on a file start sooner without it.
  const { postgresDatabase } = await import('./postgres_database.ts');
  return postgresDatabase(url, {
    connections: settings.databaseConnections,
    connectTimeoutMs: settings.databaseConnectTimeoutMs,
    statementTimeoutMs: settings.databaseStatementTimeoutMs,
    onConnectionLost,
    eventRetentionSeconds,
  });
}

/** Says so on stderr where `--database` tells a password; for the process that the arguments are for. */
export function warnOfPasswordInFlag({ settings, sourceOf }: Configuration): void {
  const flag = flagOf('database');
  const { database } = settings;
  if (sourceOf('database') !== flag || !isPostgresUrl(database)) return;
  warnOfPassword(database, flag, 'PGPASSWORD, or GRANTD_DATABASE,');
}

/**
 * Says so on stderr where the URL of a PostgreSQL database tells a password in an argument.
 * @param better variables that nobody else can read
 */
export function warnOfPassword(url: string, flag: string, better: string): void {
  if (!hasPassword(url)) return;
  console.error(`grantd: everyone on this machine can read the password in ${flag}: set ${better} instead`);
}

/** The file that a database URL means. */
export function databasePath(url: string, environment: NodeJS.ProcessEnv): string {
  return typedPath(environment, url.replace(/^sqlite:(\/\/(?=\/))?/, ''));
}

/**
 * A database that is missing may be one that is not mounted, or not the one that was meant. An empty one in its place
 * would answer every client and token of the right one as unknown.
 * @throws {Refused} a database that is missing may not be made
 */
export async function requireMaking({ create }: Pick<Settings, 'create'>, database: Database): Promise<void> {
  if (create === true) return;
  if (create === false)
    throw new Refused(`there is no database ${database.name}, and with --create false none is made.`);
  const doubt = await database.doubtAboutMaking();
  if (doubt !== undefined)
    throw new Refused(`there is no database ${database.name}, ${doubt}, or make a new one with --create.`);
}
