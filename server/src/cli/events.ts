import { EVENT_TYPES, type EventType } from '@grantd/core';
import { oneOf } from '@grantd/core/options';
import { Command } from 'commander';
import { all } from '../admin/in_process.ts';
import { cursorOf } from '../admin/operation.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { type AdministrationParts, databaseFlags, printList, withAdministration } from './command.ts';
import { BadUsage } from './exit.ts';

interface EventsFlags extends GivenFlags {
  readonly after?: string;
  readonly type?: string;
  readonly target?: string;
}

interface Wanted {
  readonly after: number;
  readonly type?: EventType;
  readonly target?: string;
}

export function eventsCommands(): Command {
  const group = new Command('events').description('list changes to clients, users, keys and tokens');
  databaseFlags(group.command('list').description('list all stored events, the oldest first'))
    .option('--after <NUMBER>', 'only events with larger numbers than this one')
    .option('--type <TYPE>', 'only events of this type, such as client_changed')
    .option(
      '--target <ID>',
      'only events about the client, subject, key, session, grant or token with this identifier',
    )
    .addHelpText(
      'after',
      `
These are the events of grantd audit list, in the other order and without paging. Use this command in a program that
follows changes: it passes the number of the last event that it has seen with --after. To look for something, use grantd
audit list: it filters by user, client, actor, address and time, and prints the newest events first.

  grantd events list --after 120 --type person_removed --json`,
    )
    .action(({ after = '0', type, target, ...flags }: EventsFlags) => {
      if (!/^\d{1,15}$/.test(after))
        throw new BadUsage(`--after: expected the number of an event, got ${JSON.stringify(after)}`);
      const known = EVENT_TYPES.find((one) => one === type);
      if (type !== undefined && known === undefined)
        throw new BadUsage(`--type: expected ${EVENT_TYPE.expected}, got ${JSON.stringify(type)}`);
      const wanted = {
        after: Number(after),
        ...(known !== undefined && { type: known }),
        ...(target !== undefined && { target }),
      };
      return withAdministration(flags, 'needs_database', (parts) => listEvents(parts, wanted));
    });
  return group;
}

const EVENT_TYPE = oneOf(...EVENT_TYPES);

async function listEvents(parts: AdministrationParts, { after, ...filter }: Wanted): Promise<void> {
  const events = await all(parts.admin, 'listEvents', { ...filter, cursor: cursorOf(after) });
  printList(parts, events, {
    NUMBER: ({ number }) => String(number),
    AT: ({ at }) => at,
    TYPE: ({ type }) => type,
    TARGET: ({ target }) => target,
    ACTOR: ({ actor = '' }) => actor,
  });
}
