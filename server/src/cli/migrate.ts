import { Command } from 'commander';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import {
  type Database,
  isMigrated,
  type Migrating,
  plansOf,
  type Schemas,
  usabilityOf,
} from '../data/database.ts';
import { databaseOf, warnOfPasswordInFlag } from '../data/database_of.ts';
import { issuerToAdminister } from '../instance/instance.ts';
import { absent, collect, databaseFlags, type Output, printList, printOne } from './command.ts';
import { BadUsage } from './exit.ts';

interface MigrationFlags extends GivenFlags {
  readonly force?: true;
  readonly yes?: true;
  readonly to?: readonly string[];
}

export function migrateCommands(): Command {
  const group = new Command('migrate').description('move a database from one version of grantd to another');
  databaseFlags(
    group
      .command('status')
      .description(
        'show the versions of the two sets of tables, library and program, and what the next start of the server would change',
      ),
  )
    .addHelpText(
      'after',
      `
The tables of a database form two sets. The set library has clients, tokens, keys and events, and the set program has users,
sessions, groups and everything else. Each set counts its own versions.

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
stopped. With --force it does not wait, and they answer 503 from then on. If a connection pooler keeps idle connections
to PostgreSQL, you need --force, because the command cannot tell these connections from servers.

  grantd migrate up --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: MigrationFlags) =>
      withDatabase(flags, (parts) => migrate(parts, 'up', flags.force === true)),
    );
  databaseFlags(
    group
      .command('contract')
      .description(
        'remove the columns and tables that only earlier versions of grantd need. These versions can then no longer use the database',
      ),
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
        'remove the columns and tables that later versions of grantd have added. A database has two sets of tables, library and program, each with its own version: name the version to go back to for each set',
      ),
  )
    .option(
      '--to <TABLES=VERSION>',
      'a set of tables (library or program) and the version to go back to, such as library=11; repeatable',
      collect,
    )
    .option('--force', 'migrate although other processes use the database')
    .option('--yes', 'required, because the data in the removed columns and tables is lost')
    .addHelpText(
      'after',
      `
You rarely need it: until you run grantd migrate contract, the earlier version of grantd can use the tables as they are.

1. With the earlier version, run grantd migrate status. Its column THIS VERSION has the versions for --to.
2. Stop every server of the later version.
3. With the later version, run this command. Without --yes, it only prints what it would undo. A set of tables that --to
   does not name stays as it is.

  grantd migrate down --to library=11 --to program=20 --yes --database sqlite:/var/lib/grantd/grantd.db`,
    )
    .action((flags: MigrationFlags) => {
      const to = targetIn(flags);
      return withDatabase(flags, (parts) => {
        requireReachable(parts, to);
        const undone = undoneBy(parts, to);
        if (undone.length > 0)
          requireYes(flags, `the data in the removed columns and tables is lost: ${undone.join(', ')}`);
        return migrate(parts, { to }, flags.force === true);
      });
    });
  return group;
}

function requireYes({ yes }: MigrationFlags, reason: string): void {
  if (yes !== true) throw new BadUsage(`--yes: required, because ${reason}`);
}

type Target = Exclude<Migrating, string>['to'];

/** @throws {BadUsage} no tables are named, or not by a version */
function targetIn({ to = [] }: MigrationFlags): Target {
  const target: Record<string, number> = {};
  for (const item of to) {
    const [, tables, version] = /^(library|program)=(\d{1,6})$/.exec(item) ?? [];
    if (tables === undefined || target[tables] !== undefined)
      throw new BadUsage(`--to: expected library=VERSION or program=VERSION, each once, got ${item}`);
    target[tables] = Number(version);
  }
  if (to.length > 0) return target;
  throw new BadUsage(
    '--to: required, such as --to library=11. THIS VERSION in grantd migrate status of the earlier version shows where to go back to',
  );
}

/** @throws {Refused} the tables cannot go back to a version */
function requireReachable({ schemas }: Parts, to: Target): void {
  const lowest = plansOf(schemas, { to: { library: 0, program: 0 } });
  for (const [index, { tables, stored }] of versionsOf(schemas).entries()) {
    const wanted = to[tables] ?? stored;
    const least = lowest[index]?.state.version ?? stored;
    if (wanted < least || wanted > stored)
      throw new Refused(
        `--to ${tables}=${wanted}: the tables can only go back from version ${stored} to ${least}${least === stored ? ', which they have' : ' or a later one'}.`,
      );
  }
}

/** The versions that a migration would undo, the last one first. */
function undoneBy({ schemas }: Parts, to: Target): readonly string[] {
  return versionsOf(schemas).flatMap(({ tables, stored }) =>
    Array.from({ length: stored - (to[tables] ?? stored) }, (_, undone) => `${tables} ${stored - undone}`),
  );
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
      throw new Refused(`the database ${absent(database)}: choose another with --database.`);
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
  readonly tables: keyof Schemas;
  readonly stored: number;
  /** The lowest version of a program that can use the tables. */
  readonly floor: number;
  /** The version that this program has. */
  readonly known: number;
}

function versionsOf(schemas: Schemas): readonly Versions[] {
  return (['library', 'program'] as const).map((tables) => {
    const { state, migrations } = schemas[tables];
    return { tables, stored: state.version, floor: state.floor, known: migrations.length };
  });
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
  // Each database counts its own versions.
  const kind = database.file === undefined ? 'POSTGRESQL' : 'SQLITE';
  printList(parts, versionsOf(schemas), {
    [`${kind} TABLES`]: ({ tables }: Versions) => tables,
    'IN THE DATABASE': ({ stored }) => String(stored),
    'USABLE FROM': ({ floor }) => String(floor),
    'THIS VERSION': ({ known }) => String(known),
  });
  console.log(START[start]);
  if (start === 'migrate') console.log(BESIDE[isOnline ? 'yes' : 'no']);
  if (canContract) console.log('earlier versions can use them too, until you run grantd migrate contract');
}

const NOTHING = {
  up: START.serve,
  contract: 'nothing is left that only earlier versions need',
  down: 'the tables already have these versions',
};

async function migrate(parts: Parts, migrating: Migrating, force: boolean): Promise<void> {
  const { database, schemas, issuer: given } = parts;
  const usability = usabilityOf(schemas);
  if (usability === 'too_new') throw new Refused(`${START.refuse}.`);
  if (migrating === 'contract' && usability === 'outdated')
    throw new Refused('the tables are of an earlier version: run grantd migrate up first.');
  if (isMigrated(schemas, migrating)) {
    printOne(parts, { migrated: false, ...jsonOf(schemas) }, [
      NOTHING[typeof migrating === 'string' ? migrating : 'down'],
    ]);
    return;
  }
  const stored = await database.storedIssuer();
  const issuer = stored === undefined ? undefined : issuerToAdminister(given, stored);
  await database.migrate(migrating, force);
  // Reports what the migration assumed.
  if (issuer !== undefined && migrating === 'up') await database.open(issuer);
  const after = (await database.schemas()) ?? schemas;
  const changes = versionsOf(schemas).map(
    ({ tables, stored: before }, index) => `${tables} ${before} to ${versionsOf(after)[index]?.stored}`,
  );
  printOne(parts, { migrated: true, ...jsonOf(after) }, [`migrated ${database.name}: ${changes.join(', ')}`]);
}
