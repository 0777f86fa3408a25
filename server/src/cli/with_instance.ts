import { readStoredIssuer } from '@grantd/core/sqlite';
import { type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { databasePath } from '../instance/database_path.ts';
import { type Instance, openInstance } from '../instance/instance.ts';
import { defaultIssuer, issuerToAdminister } from '../instance/issuer.ts';
import { Refused } from '../instance/refused.ts';
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
  const path = databasePath(configuration.settings.database, process.env);
  const instance = openInstance(configuration, path, issuerOf(configuration, path, beginning));
  try {
    await work({ ...instance, configuration, isJson: flags.json === true });
  } finally {
    instance.close();
  }
}

function issuerOf({ settings }: Configuration, path: string, beginning: Beginning): string {
  const stored = readStoredIssuer(path);
  if (stored !== undefined) return issuerToAdminister(settings.issuer, stored);
  if (beginning === 'needs_database') {
    throw new Refused(
      `there is no database ${path}: start the server first (grantd serve), or name another with --database.`,
    );
  }
  const issuer = settings.issuer ?? defaultIssuer(settings.port);
  console.error(`grantd: making the database ${path} for the issuer ${issuer}`);
  return issuer;
}
