import { text } from 'node:stream/consumers';
import type { ClientRecord } from '@grantd/core';
import type { Command } from 'commander';
import { addFlags, type Configuration, type GivenFlags, readConfiguration } from '../config/configuration.ts';
import type { OptionName } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import type { Database } from '../data/database.ts';
import { databaseOf, requireMaking, warnOfPasswordInFlag } from '../data/database_of.ts';
import { defaultIssuer, type Instance, issuerToAdminister, openInstance } from '../instance/instance.ts';
import { BadUsage } from './exit.ts';

export interface CommandParts extends Instance, Output {
  readonly configuration: Configuration;
}

/** Whether a command may make the database: clients and people can be there before the first start. */
type Beginning = 'needs_database' | 'may_make_database';

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

/** Options that every command on the database takes, so that a script can give the same flags to all. */
const COMMON: readonly OptionName[] = ['database', 'issuer', 'insecureDevelopment'];

/**
 * The flags of a command that works on the database. It reads the server's other options from variables and file.
 * @param further options of this command alone
 */
export function databaseFlags(command: Command, further: readonly OptionName[] = []): Command {
  return addFlags(command, [...COMMON, ...further]).option('--json', 'print JSON');
}

/** For an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** How a command prints data: for people, or as JSON. */
export interface Output {
  readonly isJson: boolean;
}

/** One thing: as JSON, or as the lines that say it. */
export function printOne({ isJson }: Output, value: object, lines: readonly string[]): void {
  console.log(isJson ? JSON.stringify(value) : lines.join('\n'));
}

/** A list: as a JSON array, or as a table with a line for each. */
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

/** Names with their values, one a line, those without a value left out. */
export function labelled(values: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const width = Math.max(0, ...known.map(([label]) => label.length));
  return known.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}

/** Milliseconds as people and programs read them. */
export function timeOf(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}

/** Progress for someone who watches; nothing goes into a file or a pipe. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

/**
 * What comes on standard input, without the line end behind it.
 * @throws {BadUsage} nothing came
 */
export async function readStandardInput(what: string): Promise<string> {
  const content = (await text(process.stdin)).replace(/\r?\n$/, '');
  if (content === '') throw new BadUsage(`expected ${what} on standard input`);
  return content;
}

/** A token as an argument, or on standard input where the argument is `-` or missing. */
export async function tokenFrom(argument: string | undefined): Promise<string> {
  if (argument !== undefined && argument !== '-') return argument;
  if (argument === undefined && process.stdin.isTTY) {
    throw new BadUsage('expected a token as an argument, or on standard input');
  }
  return (await readStandardInput('a token')).trim();
}

/** @throws {Refused} there is no such client */
export async function requireClient({ storage }: CommandParts, id: string): Promise<ClientRecord> {
  const client = await storage.clients.get(id);
  if (!client) throw new Refused(`there is no client ${id}: grantd client list shows all.`);
  return client;
}
