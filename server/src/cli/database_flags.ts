import type { Command } from 'commander';
import { addFlags } from '../config/flags.ts';
import type { OptionName } from '../config/options.ts';

/**
 * The flags of a command that works on the database, and of further options that it depends on; the server's other ones
 * it reads from variables and file.
 */
export function databaseFlags(command: Command, further: readonly OptionName[] = []): Command {
  return addFlags(command, ['database', 'issuer', ...further]).option('--json', 'print JSON');
}

/** For an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
