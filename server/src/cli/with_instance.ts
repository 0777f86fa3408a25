import { type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import type { Database } from '../instance/database/database.ts';
import { databaseOf, warnOfPasswordInFlag } from '../instance/database/database_of.ts';
import { type Instance, openInstance } from '../instance/instance.ts';
import { defaultIssuer, issuerToAdminister } from '../instance/issuer.ts';
import { Refused } from '../instance/refused.ts';
import { requireMaking } from '../instance/require_making.ts';
import type { Output } from './output.ts';

export interface CommandParts extends Instance, Output {
  readonly configuration: Configuration;
}

/** Whether a command may make the database: clients and people can be there before the first start. */
export type Beginning = 'needs_database' | 'may_make_database';

/** Does a command's work on the database, whether or not a server runs on it. */
export async function withInstance(
  flags: GivenFlags,
  beginning: Beginning,
  work: (parts: CommandParts) => Promise<void>,
): Promise<void> {
  const configuration = readConfiguration(flags, process.env);
  warnOfPasswordInFlag(configuration);
  const database = await databaseOf(configuration, process.env);
  try {
    const issuer = await issuerOf(configuration, database, beginning);
    const instance = await openInstance(configuration, database, issuer, 'cli');
    await work({ ...instance, configuration, isJson: flags.json === true });
  } finally {
    await database.close();
  }
}

async function issuerOf(
  { settings }: Configuration,
  database: Database,
  beginning: Beginning,
): Promise<string> {
  const stored = await database.storedIssuer();
  if (stored !== undefined) return issuerToAdminister(settings.issuer, stored);
  if (beginning === 'needs_database') {
    throw new Refused(
      `there is no database ${database.name}: start the server first (grantd serve), or name another with --database.`,
    );
  }
  const issuer = settings.issuer ?? defaultIssuer(settings.port);
  await requireMaking(settings, database);
  console.error(`grantd: making the database ${database.name} for the issuer ${issuer}`);
  return issuer;
}
