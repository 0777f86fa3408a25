import type { Command } from 'commander';
import { addFlags } from '../config/flags.ts';
import type { OptionName } from '../config/options.ts';

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
