import { once } from 'node:events';
import { EVENT_TYPES } from '@grantd/core';
import { oneOf } from '@grantd/core/options';
import { type Command as AnyCommand, Command } from 'commander';
import { auditBefore, auditEventView, verifyAudit } from '../admin/audit.ts';
import { ocsfOf } from '../admin/ocsf.ts';
import type { GivenFlags } from '../config/configuration.ts';
import type { AuditFilter, AuditProblem, ChainLink } from '../data/audit.ts';
import { askStorage } from '../data/tables.ts';
import { type CommandParts, databaseFlags, printList, printOne, timeOf, withInstance } from './command.ts';
import { BadUsage } from './exit.ts';

interface FilterFlags extends GivenFlags {
  readonly type?: string;
  readonly actor?: string;
  readonly target?: string;
  readonly subject?: string;
  readonly client?: string;
  readonly address?: string;
  readonly requestId?: string;
  readonly since?: string;
  readonly until?: string;
}

interface ListFlags extends FilterFlags {
  readonly before?: string;
  readonly limit?: string;
}

interface ExportFlags extends FilterFlags {
  readonly after?: string;
  readonly format?: string;
}

interface VerifyFlags extends GivenFlags {
  readonly expect?: string;
}

interface RestartFlags extends GivenFlags {
  readonly reason?: string;
}

export function auditCommands(): Command {
  const group = new Command('audit').description(
    'read the audit trail, which records who changed what, and prove that no record is missing',
  );
  filterFlags(databaseFlags(group.command('list').description('list events, the newest first')))
    .option('--before <NUMBER>', 'only events with smaller numbers than this one')
    .option('--limit <NUMBER>', 'maximum number of events to print', '100')
    .addHelpText(
      'after',
      `
Use this command to look for something. In a program that follows changes, use grantd events list --after NUMBER, which
prints the same events in the order in which they happened.

  grantd audit list --subject SUBJECT --since 2026-01-31
  grantd audit list --type sign_in_failed --address 192.0.2.7 --json`,
    )
    .action((flags: ListFlags) => {
      const limit = numberFrom('--limit', flags.limit ?? '100');
      const before = flags.before === undefined ? undefined : numberFrom('--before', flags.before);
      const filter = filterFrom(flags);
      return withInstance(flags, 'needs_database', (parts) => list(parts, before, filter, limit));
    });
  databaseFlags(
    group.command('verify').description('check that no event was changed or removed since it was recorded'),
  )
    .option(
      '--expect <NUMBER:HASH>',
      'also check that the trail still contains this event. Pass the head that an earlier grantd audit verify printed',
    )
    .action(({ expect, ...flags }: VerifyFlags) => {
      const expected = expect === undefined ? undefined : linkFrom(expect);
      return withInstance(flags, 'needs_database', (parts) => verify(parts, expected));
    });
  filterFlags(
    databaseFlags(
      group
        .command('export')
        .description(
          'print events, the oldest first, with one JSON object per line. To check that none was changed or removed, run grantd audit verify',
        ),
    ),
  )
    .option('--after <NUMBER>', 'only events with larger numbers than this one', '0')
    .option(
      '--format <FORMAT>',
      'the format: jsonl, or ocsf for the Open Cybersecurity Schema Framework',
      'jsonl',
    )
    .action(({ after = '0', format = 'jsonl', ...flags }: ExportFlags) => {
      const number = numberFrom('--after', after);
      if (format !== 'jsonl' && format !== 'ocsf')
        throw new BadUsage(`--format: expected jsonl or ocsf, got ${JSON.stringify(format)}`);
      const filter = filterFrom(flags);
      return withInstance(flags, 'needs_database', (parts) => print(parts, number, filter, format));
    });
  databaseFlags(
    group
      .command('restart')
      .description(
        'accept all events as they are now, and begin a new chain of hashes over them. Run it after grantd audit verify has failed and you know why',
      ),
  )
    .requiredOption('--reason <TEXT>', 'reason for the new chain. The audit trail records it')
    .action(({ reason = '', ...flags }: RestartFlags) =>
      withInstance(flags, 'needs_database', (parts) => restart(parts, reason)),
    );
  return group;
}

function filterFlags(command: AnyCommand): AnyCommand {
  return command
    .option('--type <TYPE>', 'only events of this type, such as client_changed')
    .option('--actor <ACTOR>', 'only events by this actor, such as cli, user:SUBJECT or client:ID')
    .option(
      '--target <ID>',
      'only events about the client, subject, key, session, grant, token or group with this identifier',
    )
    .option('--subject <SUBJECT>', 'only events that concern this user')
    .option('--client <ID>', 'only events that concern this client')
    .option('--address <IP>', 'only events of requests from this IP address')
    .option('--request-id <ID>', 'only events of the request with this identifier')
    .option('--since <TIME>', 'only events at or after this time (ISO 8601)')
    .option('--until <TIME>', 'only events before this time (ISO 8601)');
}

const EVENT_TYPE = oneOf(...EVENT_TYPES);

/** @throws {BadUsage} a flag is malformed */
function filterFrom({ type, actor, target, subject, client, address, requestId, since, until }: FilterFlags) {
  const known = type === undefined ? undefined : EVENT_TYPES.find((one) => one === type);
  if (type !== undefined && known === undefined)
    throw new BadUsage(`--type: expected ${EVENT_TYPE.expected}, got ${JSON.stringify(type)}`);
  return {
    ...{ type: known, actor, target, subject, clientId: client, address, requestId },
    sinceMs: timeFrom('--since', since),
    untilMs: timeFrom('--until', until),
  } satisfies AuditFilter;
}

function timeFrom(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new BadUsage(`${flag}: expected a time such as 2026-01-31T12:00:00Z, got ${JSON.stringify(text)}`);
  return time;
}

function numberFrom(flag: string, text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new BadUsage(`${flag}: expected a whole number, got ${JSON.stringify(text)}`);
  return Number(text);
}

function linkFrom(text: string): ChainLink {
  const [, sequence, hash] = /^(\d{1,15}):([\w-]{43})$/.exec(text) ?? [];
  if (sequence === undefined || hash === undefined)
    throw new BadUsage(
      `--expect: expected a head as grantd audit verify prints it, got ${JSON.stringify(text)}`,
    );
  return { sequence: Number(sequence), hash };
}

async function list(
  parts: CommandParts,
  before: number | undefined,
  filter: AuditFilter,
  limit: number,
): Promise<void> {
  const { events } = await auditBefore(parts, before, filter, { most: limit });
  printList(parts, events.map(auditEventView), {
    NUMBER: ({ number }) => String(number),
    AT: ({ at }) => at,
    TYPE: ({ type }) => type,
    TARGET: ({ target }) => target,
    ACTOR: ({ actor }) => actor,
    ADDRESS: ({ address = '' }) => address,
    REASON: ({ reason = '' }) => reason,
  });
}

async function verify(parts: CommandParts, expected: ChainLink | undefined): Promise<void> {
  const { events, head, problems } = await verifyAudit(parts, expected);
  const printed = head && `${head.sequence}:${head.hash}`;
  printOne(parts, { events, head: printed, problems }, [
    problems.length === 0 ? `all ${events} events are as they were recorded` : `checked ${events} events`,
    ...(printed === undefined ? [] : [`head: ${printed}`]),
    ...problems.map(inWords),
  ]);
  if (problems.length > 0) process.exitCode = 1;
}

function inWords(problem: AuditProblem): string {
  switch (problem.problem) {
    case 'head_not_authentic':
      return 'the head of the chain was not written with the server secret';
    case 'head_missing':
      return 'no chain protects the events yet: a server begins it when it first runs. If a server has run here, the chain was removed';
    case 'rows_changed':
      return `events ${problem.from} to ${problem.to}: some were changed, removed, added or moved`;
    case 'index_changed':
      return `events ${problem.from} to ${problem.to}: their index was changed, so a search may not find them`;
    case 'rows_before_beginning':
      return `${problem.rows} events were added before the first one`;
    case 'expected_removed':
      return `event ${problem.sequence} of the expected head was removed for its age, as all up to ${problem.beginning}: compare with a later head`;
    case 'not_as_expected':
      return `the chain does not continue the expected head at event ${problem.sequence}`;
  }
}

async function print(
  { auditTrail, issuer }: CommandParts,
  after: number,
  filter: AuditFilter,
  format: 'jsonl' | 'ocsf',
): Promise<void> {
  for await (const event of auditTrail.after(after, filter)) {
    const line = JSON.stringify(format === 'ocsf' ? ocsfOf(event, issuer) : auditEventView(event));
    if (!process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain');
  }
}

async function restart(parts: CommandParts, reason: string): Promise<void> {
  const { auditTrail, storage } = parts;
  const found = await auditTrail.verify(parts.secret());
  await askStorage(() =>
    storage.recordAct({ type: 'audit_restarted', target: '', actor: 'cli', reason: reason.slice(0, 200) }),
  );
  await auditTrail.restart(parts.secret());
  const { events, head } = await auditTrail.verify(parts.secret());
  const printed = head && `${head.sequence}:${head.hash}`;
  printOne(parts, { events, head: printed, problemsBefore: found.problems }, [
    `a new chain begins, at ${timeOf(parts.clock())}, over ${events} events`,
    `head: ${printed}`,
  ]);
}
