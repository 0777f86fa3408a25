import { buffer } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { AdminCalls } from '../admin/in_process.ts';
import type { Warning } from '../admin/warning.ts';
import { addFlags, type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import type { OptionName } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { utf8Of } from '../config/text_file.ts';
import type { Database } from '../data/database.ts';
import { databaseOf, requireCreatable, warnOfPasswordInFlag } from '../data/database_of.ts';
import { defaultIssuer, type Instance, issuerToAdminister, openInstance } from '../instance/instance.ts';
import { useCatalogues } from '../texts/texts.ts';
import { BadUsage } from './exit.ts';

export interface CommandParts extends Instance, Output {
  readonly configuration: Configuration;
}

/** Whether a command may create the database. Clients and users can exist before the server’s first start. */
type DatabaseNeed = 'needs_database' | 'may_create_database';

/** Runs a command’s work on the database, whether or not a server is running. */
export async function withInstance(
  flags: GivenFlags,
  need: DatabaseNeed,
  work: (parts: CommandParts) => Promise<void>,
): Promise<void> {
  const configuration = readConfiguration(flags, process.env);
  warnOfPasswordInFlag(configuration);
  if (configuration.settings.languages !== undefined) {
    const { readCatalogues } = await import('../pages/drawing/languages.ts');
    useCatalogues(await readCatalogues(configuration, process.env));
  }
  const database = await databaseOf(configuration, process.env);
  try {
    const issuer = await issuerOf(configuration, database, need);
    const instance = await openInstance(configuration, database, issuer, 'cli');
    await work({ ...instance, configuration, isJson: flags.json === true });
  } finally {
    await database.close();
  }
}

/** What commands need that work both on the database and through the admin API. */
export interface AdministrationParts extends Output {
  readonly admin: AdminCalls;
}

/**
 * Runs a command’s work on the database, or with `--url` through the admin API of a server.
 * @throws {BadUsage} `--url` is combined with an option of the database
 */
export async function withAdministration(
  flags: GivenFlags,
  need: DatabaseNeed,
  work: (parts: AdministrationParts) => Promise<void>,
): Promise<void> {
  const { url, database } = flags;
  if (typeof url !== 'string')
    return withInstance(flags, need, async ({ isJson, ...parts }) => {
      const { localCalls } = await import('./local_calls.ts');
      return work({ admin: localCalls(parts, (warning) => warn([warning]), showProgress), isJson });
    });
  if (database !== undefined) throw new BadUsage('--url and --database exclude each other');
  const { AdminClient } = await import('./remote_call.ts');
  const admin = await AdminClient.open(url, process.env);
  await work({ admin, isJson: flags.json === true });
}

async function issuerOf(
  { settings }: Configuration,
  database: Database,
  need: DatabaseNeed,
): Promise<string> {
  const stored = await database.storedIssuer();
  if (stored !== undefined) return issuerToAdminister(settings.issuer, stored);
  if (need === 'needs_database') {
    const serve = database.file === undefined ? 'grantd serve --create' : 'grantd serve';
    throw new Refused(
      `the database ${absent(database)}: start the server first (${serve}), or choose another with --database.`,
    );
  }
  const issuer = settings.issuer ?? defaultIssuer(settings);
  await requireCreatable(settings, database);
  return issuer;
}

/** For messages: an empty database on a server looks like none. */
export function absent({ name, file }: Database): string {
  return `${name} does not exist${file === undefined ? ', or it is empty' : ''}`;
}

/** Options of every database command, so that scripts can pass the same flags to all of them. */
const COMMON: readonly OptionName[] = ['database', 'issuer', 'secretFile', 'insecureDevelopment'];

/**
 * Adds the flags of a database command. It reads the other server options from variables and the config file.
 * @param further options of this command only
 */
export function databaseFlags(command: Command, further: readonly OptionName[] = []): Command {
  return addFlags(command, [...COMMON, ...further]).option('--json', 'print JSON');
}

/** Adds the flags of a command that works on the database, and with `--url` through the admin API. */
export function administrationFlags(command: Command, further: readonly OptionName[] = []): Command {
  const about = 'work through the admin API of the server with this issuer';
  return databaseFlags(command, further).addOption(new Option('--url <ISSUER>', about).helpGroup('Server:'));
}

/** Collects the values of a repeatable flag. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** How a command prints data: as text or as JSON. */
export interface Output {
  readonly isJson: boolean;
}

/** Prints one value: as JSON, or as lines of text. */
export function printOne({ isJson }: Output, value: object, lines: readonly string[]): void {
  console.log(isJson ? JSON.stringify(value) : lines.join('\n'));
}

/** Prints a list: as a JSON array, or as a table. */
export function printList<T extends object>(
  { isJson }: Output,
  values: readonly T[],
  columns: Readonly<Record<string, (value: T) => string>>,
): void {
  if (isJson) {
    console.log(JSON.stringify(values));
    return;
  }
  const titles = Object.keys(columns);
  const rows = [titles, ...values.map((value) => Object.values(columns).map((cell) => cell(value)))];
  const widths = titles.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Formats milliseconds since 1970 as ISO 8601. */
export function timeOf(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}

/** Shows progress on a terminal. Files and pipes get none. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

/**
 * Reads standard input, without its final line end and the byte order mark that some shells put before it.
 * @throws {BadUsage} standard input is empty
 */
export async function readStandardInput(what: string): Promise<string> {
  const content = utf8Of(await buffer(process.stdin))
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (content === '') throw new BadUsage(`expected ${what} on standard input`);
  return content;
}

/** The token from the argument, or from standard input if the argument is `-` or missing. */
export async function tokenFrom(argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  if (argument === undefined && process.stdin.isTTY) {
    throw new BadUsage('expected a token as an argument, or on standard input');
  }
  return (await readStandardInput('a token')).trim();
}

/** Prints what the operator should look at. */
export function warn(warnings: readonly (string | Warning)[]): void {
  for (const warning of warnings) console.error(`grantd: ${warning}`);
}
