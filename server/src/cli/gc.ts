import { sweep } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { sweepable } from '../serve/sweeper.ts';
import {
  type CommandParts,
  databaseFlags,
  endProgress,
  printOne,
  showProgress,
  withInstance,
} from './command.ts';

export function gcCommand(): Command {
  return databaseFlags(
    new Command('gc').description('delete expired rows now. A running server does this automatically'),
  ).action((flags: GivenFlags) => withInstance(flags, 'needs_database', sweepNow));
}

async function sweepNow(parts: CommandParts): Promise<void> {
  const { unusedRegistrationLifetime: unusedFor } = parts.configuration.settings;
  let soFar = 0;
  const onBatch = (swept: number) => {
    soFar += swept;
    showProgress(`${soFar} rows deleted`);
  };
  const rows = await sweep(sweepable(parts.storage, parts.sweepProgram, unusedFor), { onBatch });
  endProgress();
  printOne(parts, { swept: rows }, [`${rows} rows deleted`]);
}
