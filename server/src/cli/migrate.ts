import type { MigrationDirection } from '@grantd/core/sqlite';
import { Command } from 'commander';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { type Database, isMigrated, plansOf, type Schemas, usabilityOf } from '../data/database.ts';
import { databaseOf, warnOfPasswordInFlag } from '../data/database_of.ts';
import { issuerToAdminister } from '../instance/instance.ts';
import { databaseFlags, type Output, printList, printOne } from './command.ts';
import { BadUsage } from './exit.ts';

interface MigrationFlags extends GivenFlags {
  readonly force?: true;
  readonly yes?: true;
}

export function migrateCommands(): Command {
  const group = new Command('migrate').description('move a database from one version of grantd to another');
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
Make a backup first. If servers of the earlier version cannot use the new tables, the command waits until they have
stopped. With --force it does not wait, and they answer 503 from then on. You also need --force if a connection pooler
keeps idle connections to PostgreSQL.

  grantd migrate up --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: MigrationFlags) =>
      withDatabase(flags, (parts) => migrate(parts, 'up', flags.force === true)),
    );
  databaseFlags(
    group
      .command('contract')
      .description('remove what only earlier versions need. They can no longer use the database then'),
  )
    .option('--yes', 'required, because this cannot be undone')
    .addHelpText(
      'after',
      `
Run it when every server is of this version and you no longer want to go back. Servers of this version continue to run.

  grantd migrate contract --yes --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: MigrationFlags) => {
      requireYes(flags, 'a contraction cannot be undone');
      return withDatabase(flags, (parts) => migrate(parts, 'contract', true));
    });
  databaseFlags(
    group
      .command('down')
      .description(
        'take away what this version has added, so that the tables are those of the earlier version',
      ),
  )
    .option('--force', 'migrate although other processes use the database')
    .option('--yes', 'required, because the data in what is taken away is lost')
    .addHelpText(
      'after',
      `
You rarely need it: the earlier version can use the tables as they are until grantd migrate contract has run.
Stop every server of this version first.

  grantd migrate down --yes --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: MigrationFlags) => {
      requireYes(flags, 'the data in what is taken away is lost');
      return withDatabase(flags, (parts) => migrate(parts, 'down', flags.force === true));
    });
  return group;
}

function requireYes({ yes }: MigrationFlags, reason: string): void {
  if (yes !== true) throw new BadUsage(`--yes: required, because ${reason}`);
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
type OfStart = 'serve' | 'serve_newer' | 'migrate' | 'refuse';

const START: Readonly<Record<OfStart, string>> = {
  serve: 'the tables are up to date: a start of the server changes nothing',
  serve_newer: 'a newer version has added to the tables, and this version can use them',
  migrate: 'a start of the server, or grantd migrate up, migrates the tables',
  refuse: 'a newer version of grantd has migrated the tables: use that version, or a later one',
};

/** What the operator has to know about the servers that run now, before a migration. */
const BESIDE = {
  yes: 'servers of the earlier version can continue meanwhile',
  no: 'servers of the earlier version cannot use the new tables: stop them first',
};

function ofStart(schemas: Schemas): OfStart {
  const usability = usabilityOf(schemas);
  if (usability === 'too_new') return 'refuse';
  if (usability === 'outdated') return 'migrate';
  return versionsOf(schemas).some(({ stored, known }) => stored > known) ? 'serve_newer' : 'serve';
}

interface Versions {
  readonly tables: string;
  readonly stored: number;
  /** The lowest version of a program that can use the tables. */
  readonly floor: number;
  /** The version that this program has. */
  readonly known: number;
}

function versionsOf(schemas: Schemas): readonly Versions[] {
  return Object.entries(schemas).map(([tables, { state, migrations }]) => ({
    ...{ tables, stored: state.version, floor: state.floor, known: migrations.length },
  }));
}

/** For `--json`: the versions by the name of the tables. */
function jsonOf(schemas: Schemas) {
  return Object.fromEntries(versionsOf(schemas).map(({ tables, ...versions }) => [tables, versions]));
}

async function showStatus(parts: Parts): Promise<void> {
  const { database, schemas, isJson } = parts;
  const start = ofStart(schemas);
  const isOnline = plansOf(schemas, 'up').every(({ isExpansion }) => isExpansion);
  const canContract = start === 'serve' && !isMigrated(schemas, 'contract');
  if (isJson) {
    const facts = { ...(start === 'migrate' && { isOnline }), ...(canContract && { canContract }) };
    printOne(parts, { database: database.name, ...jsonOf(schemas), start, ...facts }, []);
    return;
  }
  printList(parts, versionsOf(schemas), {
    TABLES: ({ tables }) => tables,
    'IN THE DATABASE': ({ stored }) => String(stored),
    'USABLE FROM': ({ floor }) => String(floor),
    'THIS VERSION': ({ known }) => String(known),
  });
  console.log(START[start]);
  if (start === 'migrate') console.log(BESIDE[isOnline ? 'yes' : 'no']);
  if (canContract) console.log('earlier versions can use them too, until you run grantd migrate contract');
}

const NOTHING: Readonly<Record<MigrationDirection, string>> = {
  up: START.serve,
  contract: 'nothing is left that only earlier versions need',
  down: 'nothing can be taken away without stopping earlier versions from using the tables',
};

async function migrate(parts: Parts, direction: MigrationDirection, force: boolean): Promise<void> {
  const { database, schemas, issuer: given } = parts;
  const usability = usabilityOf(schemas);
  if (usability === 'too_new') throw new Refused(`${START.refuse}.`);
  if (direction === 'contract' && usability === 'outdated')
    throw new Refused('the tables are of an earlier version: run grantd migrate up first.');
  if (isMigrated(schemas, direction)) {
    printOne(parts, { migrated: false, ...jsonOf(schemas) }, [NOTHING[direction]]);
    return;
  }
  const stored = await database.storedIssuer();
  const issuer = stored === undefined ? undefined : issuerToAdminister(given, stored);
  await database.migrate(direction, force);
  // Reports what the migration assumed.
  if (issuer !== undefined && direction === 'up') await database.open(issuer);
  const after = (await database.schemas()) ?? schemas;
  const changes = versionsOf(schemas).map(
    ({ tables, stored: before }, index) => `${tables} ${before} to ${versionsOf(after)[index]?.stored}`,
  );
  printOne(parts, { migrated: true, ...jsonOf(after) }, [`migrated ${database.name}: ${changes.join(', ')}`]);
}
