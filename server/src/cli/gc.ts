import { sweep } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { ClockWatch } from '../data/clock_watch.ts';
import { MAX_SKEW_MS } from '../data/deletion_limit.ts';
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
  const clock = new ClockWatch(parts);
  await clock.look();
  const untilMs = clock.deletionLimitMs();
  const says = `grantd: the clock says ${new Date(parts.clock()).toISOString()}, but `;
  if (clock.skewSeconds < 0)
    console.error(`${says}the database has newer times. Set the clock right: rows that expire by them stay.`);
  else if (parts.clock() - untilMs > MAX_SKEW_MS || clock.skewSeconds > 0)
    console.error(
      `${says}only rows that expired before ${new Date(untilMs).toISOString()} are deleted, ` +
        'because the database has no newer time. If the clock is wrong, set it right. If nothing has happened since then, ' +
        'the others are deleted some minutes after the next event.',
    );
  const bounds = () => ({ unusedFor, untilMs });
  const rows = await sweep(sweepable(parts.storage, parts.sweepProgram, bounds), { onBatch });
  endProgress();
  printOne(parts, { swept: rows }, [`${rows} rows deleted`]);
}
