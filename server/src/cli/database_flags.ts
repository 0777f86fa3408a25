import type { Command } from 'commander';
import { addFlags } from '../config/flags.ts';

/** The flags of a command that works on the database; the server's other options it reads from variables and file. */
export function databaseFlags(command: Command): Command {
  return addFlags(command, ['database', 'issuer']).option('--json', 'print JSON');
}

/** For an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
