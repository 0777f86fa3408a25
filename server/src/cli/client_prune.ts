import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { UnusedClientView } from '../admin/client_documents.ts';
import { call } from '../admin/in_process.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  administrationFlags,
  endProgress,
  printOne,
  showProgress,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface PruneFlags extends GivenFlags {
  readonly unusedFor: string;
  readonly dryRun?: true;
  readonly yes?: true;
}

export function addPruneCommand(group: Command): void {
  administrationFlags(
    group
      .command('prune')
      .description('remove unused clients that registered themselves. Shows them first, and asks'),
  )
    .requiredOption(
      '--unused-for <DURATION>',
      'how long a client must have been unused: a number of seconds, or a number with s, m, h or d',
    )
    .option('--dry-run', 'print the clients and remove none')
    .option('--yes', 'remove them without a question')
    .addHelpText(
      'after',
      `
A client is unused if it has no active token, no consent of a user, and sent no authorization request in this time.
Clients that you have added, changed or disabled stay. A running server removes unused clients by itself, after
--unused-registration-lifetime.

  grantd client prune --unused-for 7d --dry-run
  grantd client prune --unused-for 7d --yes`,
    )
    .action(async ({ unusedFor, dryRun, yes, ...flags }: PruneFlags) => {
      const seconds = durationIn(unusedFor);
      if (!dryRun && !yes && !process.stdin.isTTY)
        throw new BadUsage(
          '--yes: required without a terminal. --dry-run prints the clients and removes none',
        );
      const mode = dryRun ? 'dry_run' : yes ? 'remove' : 'ask';
      await withAdministration(flags, 'needs_database', (parts) => prune(parts, seconds, mode));
    });
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 };

/** @throws {BadUsage} no duration */
function durationIn(text: string): number {
  const [, number = '', unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  if (number === '')
    throw new BadUsage(
      `--unused-for: expected a number of seconds, or a number with s, m, h or d, got ${text}`,
    );
  return Number(number) * (SECONDS[unit] ?? 1);
}

async function prune(
  parts: AdministrationParts,
  unusedFor: number,
  mode: 'dry_run' | 'ask' | 'remove',
  clock: () => number = Date.now,
): Promise<void> {
  // The same time for plan and removal, so that no client is removed that was not shown.
  const unusedSince = new Date((Math.floor(clock() / 1000) - unusedFor) * 1000).toISOString();
  const { items: clients } = await call(parts.admin, 'listUnusedClients', { unused_since: unusedSince });
  const lines = clients.map(lineOf);
  if (mode === 'ask') console.log([...lines, counted(clients.length)].join('\n'));
  const isSure =
    clients.length > 0 && mode !== 'dry_run' && (mode === 'remove' || (await isConfirmed(clients)));
  const removed = isSure ? await remove(parts, clients, unusedSince) : [];
  const summary = isSure ? `${counted(removed.length)} removed` : `${counted(clients.length)}: none removed`;
  if (mode === 'ask') console.log(summary);
  else
    printOne(parts, { removed: isSure, clients: isSure ? removed : clients }, [
      ...(isSure ? removed : clients).map(lineOf),
      summary,
    ]);
}

/** Removes only what is still unused. @returns those that were removed */
async function remove(
  parts: AdministrationParts,
  clients: readonly UnusedClientView[],
  unusedSince: string,
): Promise<readonly UnusedClientView[]> {
  const removed: UnusedClientView[] = [];
  for (let start = 0; start < clients.length; start += REMOVED_AT_ONCE) {
    const ids = clients.slice(start, start + REMOVED_AT_ONCE).map(({ client_id: id }) => id);
    const order = { client_ids: ids, unused_since: unusedSince };
    const gone = new Set((await call(parts.admin, 'removeUnusedClients', order)).removed);
    removed.push(...clients.filter(({ client_id: id }) => gone.has(id)));
    showProgress(`${removed.length} of ${clients.length} clients removed`);
  }
  endProgress();
  return removed;
}

const REMOVED_AT_ONCE = 100;

async function isConfirmed(clients: readonly UnusedClientView[]): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Remove ${counted(clients.length)}? [y/N] `);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

function lineOf({ client_id: id, client_name: name, unused_since: since }: UnusedClientView): string {
  return `- ${id}${name === undefined ? '' : ` ${JSON.stringify(name)}`}, unused since ${since}`;
}

function counted(count: number): string {
  return `${count} unused ${count === 1 ? 'client' : 'clients'}`;
}
