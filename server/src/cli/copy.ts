import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { labelled } from '../admin/command_form.ts';
import { addFlags, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import type { Settings } from '../config/options.ts';
import { isDatabaseUrl, isPostgresUrl, withoutPassword } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { databasePath, postgresLimits, warnOfPassword } from '../data/database_of.ts';
import { secretFileOf } from '../data/secrets.ts';
import { markCopied, unmarkCopied } from '../data/sqlite_database.ts';
import { endProgress, printOne, showProgress } from './command.ts';
import { BadUsage } from './exit.ts';

interface CopyFlags extends GivenFlags {
  readonly to?: string;
  readonly undo?: true;
  readonly json?: true;
}

export function copyCommand(): Command {
  return addFlags(
    new Command('copy').description('copy an SQLite database to an empty PostgreSQL database'),
    ['database', 'issuer', 'insecureDevelopment'],
  )
    .option(
      '--to <URL>',
      'the PostgreSQL database: postgres://USER@HOST:PORT/DATABASE. Set its password in PGPASSWORD',
    )
    .option(
      '--undo',
      'allow the use of an SQLite file that was copied. The file lacks all changes made in PostgreSQL since the copy',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Stop the server first: the command refuses a file that is in use. It copies everything or nothing. Attempts to sign in
and answers for repeated requests are left out, because they expire soon. Then it marks the file as copied, and from then
on no server or command opens the file. The server's secret is not copied: every process on PostgreSQL needs the same one,
with --secret-file or in GRANTD_SECRET.

  PGPASSWORD=… grantd copy --database sqlite:grantd-data/grantd.db --to postgres://grantd@db.example/grantd`,
    )
    .action((flags: CopyFlags) => copy(flags));
}

async function copy(flags: CopyFlags, clock: () => number = Date.now): Promise<void> {
  const { settings, sourceOf } = readConfiguration(flags, process.env);
  const { to = '' } = flags;
  if (isPostgresUrl(settings.database))
    throw new BadUsage(`${sourceOf('database')}: expected sqlite:PATH, the file to copy from (--database)`);
  const path = databasePath(settings.database, process.env);
  if (flags.undo === true) return undo(path, flags);
  if (!isPostgresUrl(to) || !isDatabaseUrl(to))
    throw new BadUsage('--to: expected postgres://USER@HOST:PORT/DATABASE, the database to copy to');
  warnOfPassword(to, '--to', 'PGPASSWORD');

  const rows = await copyRows(path, to, settings);
  markCopied(path, withoutPassword(to), clock());
  printOne(
    { isJson: flags.json === true },
    { from: path, to: withoutPassword(to), rows: Object.fromEntries(rows) },
    labelled(Object.fromEntries([...rows].map(([table, count]) => [table, String(count)]))),
  );
  console.error(nextSteps(path, to, settings));
}

function undo(path: string, { to, json }: CopyFlags): void {
  if (to !== undefined) throw new BadUsage('--undo: omit --to');
  if (!existsSync(path))
    throw new Refused(`the database ${path} does not exist: choose another with --database.`);
  const isUndone = unmarkCopied(path);
  printOne({ isJson: json === true }, { database: path, undone: isUndone }, [
    isUndone ? `${path} can be used again.` : `${path} was not copied.`,
  ]);
}

async function copyRows(path: string, to: string, settings: Settings): Promise<ReadonlyMap<string, number>> {
  // Loaded on demand, so that other commands start faster.
  const { copyToPostgres } = await import('../data/postgres_copy.ts');
  try {
    return await copyToPostgres(path, to, {
      ...postgresLimits(settings),
      flag: '--to',
      onRows: (table, rows) => showProgress(`${table}: ${rows} rows`),
    });
  } finally {
    endProgress();
  }
}

function nextSteps(path: string, to: string, { secret }: Settings): string {
  const file = secretFileOf(path);
  const isInFile = secret === undefined && existsSync(file);
  const flag = isInFile ? ` --secret-file ${quoted(file)}` : '';
  return `
Everything is copied. Start every process on PostgreSQL from now on, with the same secret as before, and the password in
PGPASSWORD:

  npx grantd serve --database ${quoted(withoutPassword(to))}${flag}

${path} is marked as copied: no server or command uses it any more. To undo this, run

  npx grantd copy --undo --database ${quoted(`sqlite:${path}`)}`;
}

/** Quotes a text as one shell word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
