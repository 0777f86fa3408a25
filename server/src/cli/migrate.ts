import { Command } from 'commander';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { type Database, isNewer, isOutdated, type Schemas } from '../data/database.ts';
import { databaseOf, warnOfPasswordInFlag } from '../data/database_of.ts';
import { issuerToAdminister } from '../instance/instance.ts';
import { databaseFlags, type Output, printList, printOne } from './command.ts';

interface UpFlags extends GivenFlags {
  readonly force?: true;
}

export function migrateCommands(): Command {
  const group = new Command('migrate').description('bring a database of an earlier version up to date');
  databaseFlags(
    group
      .command('status')
      .description('show the versions of the tables, and what a start of the server would do'),
  )
    .addHelpText(
      'after',
      `
  grantd migrate status --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: GivenFlags) => withDatabase(flags, showStatus));
  databaseFlags(
    group.command('up').description('migrate the tables now. The next start of the server does this too'),
  )
    .option('--force', 'migrate although other processes use the database')
    .addHelpText(
      'after',
      `
Stop every server of the earlier version first, and make a backup. There is no way back except to restore it. With --force,
servers of the earlier version answer 503 from then on. Use it if a connection pooler keeps idle connections to PostgreSQL.

  grantd migrate up --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: UpFlags) => withDatabase(flags, (parts) => migrateUp(parts, flags.force === true)));
  return group;
}

interface Parts extends Output {
  readonly database: Database;
  readonly schemas: Schemas;
  /** Of the options. */
  readonly issuer: string | undefined;
}

/** Runs work on a database without opening it, which would create or migrate it. */
async function withDatabase(flags: GivenFlags, work: (parts: Parts) => Promise<void>): Promise<void> {
  const configuration = readConfiguration(flags, process.env);
  warnOfPasswordInFlag(configuration);
  const database = await databaseOf(configuration, process.env);
  try {
    const schemas = await database.schemas();
    if (schemas === undefined)
      throw new Refused(`the database ${database.name} does not exist: choose another with --database.`);
    const { issuer } = configuration.settings;
    await work({ database, schemas, issuer, isJson: flags.json === true });
  } finally {
    await database.close();
  }
}

/** What a start of the server would do. */
type OfStart = 'serve' | 'migrate' | 'refuse';

const START: Readonly<Record<OfStart, string>> = {
  serve: 'the tables are up to date: a start of the server changes nothing',
  migrate: 'a start of the server, or grantd migrate up, migrates the tables when no other process uses them',
  refuse: 'a newer version of grantd has migrated the tables: use that version, or a later one',
};

function ofStart(schemas: Schemas): OfStart {
  if (isNewer(schemas)) return 'refuse';
  return isOutdated(schemas) ? 'migrate' : 'serve';
}

async function showStatus(parts: Parts): Promise<void> {
  const { database, schemas, isJson } = parts;
  const start = ofStart(schemas);
  if (isJson) {
    printOne(parts, { database: database.name, ...schemas, start }, []);
    return;
  }
  const rows = Object.entries(schemas).map(([tables, versions]) => ({ tables, ...versions }));
  printList(parts, rows, {
    TABLES: ({ tables }) => tables,
    'IN THE DATABASE': ({ stored }) => String(stored),
    'THIS VERSION': ({ known }) => String(known),
  });
  console.log(START[start]);
}

async function migrateUp(parts: Parts, force: boolean): Promise<void> {
  const { database, schemas, issuer: given } = parts;
  if (isNewer(schemas)) throw new Refused(`${START.refuse}.`);
  if (!isOutdated(schemas)) {
    printOne(parts, { migrated: false, ...schemas }, [START.serve]);
    return;
  }
  const stored = await database.storedIssuer();
  const issuer = stored === undefined ? undefined : issuerToAdminister(given, stored);
  await database.migrate(force);
  // Reports what the migration assumed.
  if (issuer !== undefined) await database.open(issuer);
  const after = (await database.schemas()) ?? schemas;
  printOne(parts, { migrated: true, ...after }, [
    `migrated ${database.name}: library ${schemas.library.stored} to ${after.library.stored}, ` +
      `program ${schemas.program.stored} to ${after.program.stored}`,
  ]);
}
