import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { sweepAll } from '../serve/sweeper.ts';
import { databaseFlags } from './database_flags.ts';
import { endProgress, printOne, showProgress } from './output.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

/** Between two batches a server on the same database gets its turn to write. */
const PAUSE_MS = 5;

export function gcCommand(): Command {
  return databaseFlags(
    new Command('gc').description('sweep expired rows now; a running server does it by itself'),
  ).action((flags: GivenFlags) => withInstance(flags, 'needs_database', sweep));
}

async function sweep(parts: CommandParts): Promise<void> {
  let rows = 0;
  for await (const swept of sweepAll(parts.storage, PAUSE_MS)) {
    rows += swept;
    showProgress(`${rows} rows swept`);
  }
  endProgress();
  printOne(parts, { swept: rows }, [`${rows} rows swept`]);
}
