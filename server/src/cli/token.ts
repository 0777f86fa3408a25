import type { Explanation, OperatorIssue, RevocationResult, RevocationTarget } from '@grantd/core';
import { type Kind, seconds, wholeNumber } from '@grantd/core/options';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { People, Person } from '../data/people.ts';
import {
  type CommandParts,
  collect,
  databaseFlags,
  endProgress,
  labelled,
  printOne,
  showProgress,
  timeOf,
  tokenFrom,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { endSessionsOf, requirePerson } from './user.ts';

export function tokenCommands(): Command {
  const group = new Command('token').description('tokens that were issued, and new ones to try things out');
  addIssueCommand(group);
  addExplainCommand(group);
  addRevokeCommand(group);
  return group;
}

function addExplainCommand(group: Command): void {
  databaseFlags(
    group
      .command('explain [TOKEN]')
      .description('what a token is, whether it is alive, and if not exactly why and since when'),
  )
    .addHelpText(
      'after',
      `
Without TOKEN, or with -, it is read from standard input. A dead token is an answer as well: the exit code is 0.`,
    )
    .action(async (argument: string | undefined, flags: GivenFlags) => {
      const token = await tokenFrom(argument);
      await withInstance(flags, 'needs_database', (parts) => explain(parts, token));
    });
}

async function explain(parts: CommandParts, token: string): Promise<void> {
  const explanation = await (await parts.server()).explainToken(token);
  printOne(parts, explanation, await linesOf(explanation, parts.people));
}

const KINDS = {
  access_token: 'access token',
  refresh_token: 'refresh token',
  authorization_code: 'authorization code',
  id_token: 'ID token',
  logout_token: 'logout token',
  unknown: 'no token that this server knows',
} as const;

/** Why it is dead, in a line: the stable code, and what it means. */
function deathOf({ reason, explanation }: Explanation): string {
  return `${reason}: ${explanation}`;
}

async function linesOf(token: Explanation, people: People): Promise<readonly string[]> {
  const { kind, alive, record, claims } = token;
  const isOther = kind === 'id_token' || kind === 'logout_token';
  const subject = record?.subject;
  const person = subject === undefined ? undefined : await people.bySubject(subject);
  return labelled({
    what: KINDS[kind],
    alive: alive ? 'yes' : 'no',
    ...(!alive && { because: deathOf(token) }),
    since: timeOf(token.sinceMs),
    id: record?.id,
    client: record?.clientId,
    person: person === undefined ? subject : `${person.name} (sub ${subject})`,
    scopes: record?.scopes.join(' '),
    ...(isOther && { client: String(claims?.aud), person: String(claims?.sub) }),
    audience: [claims?.aud ?? record?.resources ?? []].flat().join(' ') || undefined,
    issued: timeOf(record?.issuedAtMs),
    expires: timeOf(record ? record.expiresAt * 1000 : isOther ? Number(claims?.exp) * 1000 : undefined),
    'family ends': timeOf(typeof claims?.family_exp === 'number' ? claims.family_exp * 1000 : undefined),
    grant: record?.grantId,
    session: record?.sessionId,
  });
}

/** Tokens of one transaction. */
const AT_ONCE = 500;
const MOST_TOKENS = 10_000_000;

interface IssueFlags extends GivenFlags {
  readonly client: string;
  readonly user?: string;
  readonly scope?: readonly string[];
  readonly resource?: readonly string[];
  readonly ttl?: number;
  readonly refresh?: true;
  readonly opaque?: true;
  readonly count: number;
}

function addIssueCommand(group: Command): void {
  databaseFlags(
    group.command('issue').description('mint real tokens, for trying things out and for load tests'),
  )
    .requiredOption('--client <ID>', 'the client that they are issued to')
    .option('--user <NAME>', 'the person that they are issued for; without one the client acts for itself')
    .option('--scope <SCOPE>', 'a scope of the client; repeatable; default: all that fit', collect)
    .option('--resource <URI>', 'an API that the client may ask for; repeatable', collect)
    .option('--ttl <SECONDS>', 'how long the access token lives', flagOfKind('--ttl', seconds(1)))
    .option('--refresh', 'a refresh token as well; needs --user')
    .option('--opaque', 'an opaque access token, whatever the format that the server is set to')
    .option('--count <N>', 'how many', flagOfKind('--count', wholeNumber(1, MOST_TOKENS)), 1)
    .addHelpText(
      'after',
      `
Prints one token a line, a refresh token on the line after its access token; with --json one object a line.`,
    )
    .action((flags: IssueFlags) =>
      withInstance(flags, 'needs_database', (parts) => issueTokens(parts, flags)),
    );
}

async function issueTokens(parts: CommandParts, flags: IssueFlags): Promise<void> {
  const order = await orderFrom(parts, flags);
  const server = await parts.server();
  for (let issued = 0; issued < flags.count; ) {
    const batch = await server.issueTokens(order, Math.min(AT_ONCE, flags.count - issued));
    const lines = batch.flatMap((tokens) =>
      parts.isJson ? JSON.stringify(tokens) : [tokens.accessToken, tokens.refreshToken ?? []].flat(),
    );
    await write(`${lines.join('\n')}\n`);
    issued += batch.length;
    if (flags.count > AT_ONCE) showProgress(`${issued} of ${flags.count} issued`);
  }
  endProgress();
}

async function orderFrom(
  parts: CommandParts,
  { client, user, scope, resource, ttl, refresh, opaque }: IssueFlags,
): Promise<OperatorIssue> {
  const person = user === undefined ? undefined : await requirePerson(parts, user);
  return {
    clientId: client,
    ...(person !== undefined && { subject: person.subject, username: person.name }),
    ...(scope !== undefined && { scopes: [...new Set(scope.flatMap((one) => one.split(' ')))] }),
    ...(resource !== undefined && { resources: [...new Set(resource)] }),
    ...(ttl !== undefined && { lifetime: ttl }),
    ...(refresh && { refresh }),
    ...(opaque && { format: 'opaque' as const }),
  };
}

/** At the pace of whoever reads: a million tokens do not fit into memory. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function flagOfKind<T>(flag: string, kind: Kind<T>): (text: string) => T {
  return (text) => {
    const value = kind.fromText(text);
    if (value === undefined) throw new BadUsage(`${flag}: expected ${kind.expected}`);
    return value;
  };
}

interface RevokeFlags extends GivenFlags {
  readonly user?: string;
  readonly client?: string;
  readonly grantId?: string;
  readonly issuedBefore?: string;
  readonly count?: true;
  readonly dryRun?: true;
}

function addRevokeCommand(group: Command): void {
  databaseFlags(group.command('revoke [TOKEN]').description('end one token, or all of someone’s, at once'))
    .option('--user <NAME>', 'all tokens of a person, and their sessions in browsers')
    .option('--client <ID>', 'all tokens of a client')
    .option('--grant-id <G>', 'all tokens of a grant, which grantd token explain shows')
    .option(
      '--issued-before <T>',
      'all tokens issued before a time: ISO 8601 with its zone, or seconds since 1970',
    )
    .option('--count', 'say how many were alive; reads all rows')
    .option('--dry-run', 'count only, revoke nothing')
    .addHelpText(
      'after',
      `
Without TOKEN, or with -, and none of the other choices it is read from standard input. A token takes its pair along,
a refresh token all of its grant. A token that is dead already, or none of this server's, is no failure.`,
    )
    .action(async (argument: string | undefined, flags: RevokeFlags) => {
      const isMass = requireOneChoice(argument, flags);
      const token = isMass ? undefined : await tokenFrom(argument);
      await withInstance(flags, 'needs_database', (parts) =>
        token === undefined ? revokeAll(parts, flags) : revokeOne(parts, token, flags),
      );
    });
}

/** @returns whether it is about more than one token */
function requireOneChoice(argument: string | undefined, flags: RevokeFlags): boolean {
  const { user, client, grantId, issuedBefore } = flags;
  const choices = [user, client, grantId, issuedBefore].filter((choice) => choice !== undefined);
  if (choices.length + (argument === undefined ? 0 : 1) > 1)
    throw new BadUsage('expected only one of TOKEN, --user, --client, --grant-id, --issued-before');
  return choices.length === 1;
}

async function revokeOne(parts: CommandParts, token: string, { count, dryRun }: RevokeFlags): Promise<void> {
  const server = await parts.server();
  const before = await server.explainToken(token);
  const counted = count || dryRun ? { alive: before.alive ? 1 : 0 } : {};
  if (dryRun) {
    const line = before.alive ? 'alive: it would be revoked' : `dead already; ${deathOf(before)}`;
    printOne(parts, { dryRun, ...counted }, [line]);
    return;
  }
  // A code is revoked by its hint alone; any other kind of token is found without one.
  const order = before.kind === 'authorization_code' ? ({ hint: 'auth_code' } as const) : {};
  const result = await server.revokeToken(token, order);
  printOne(parts, { ...result, ...counted, wasAlive: before.alive }, [doneTo(before, result)]);
}

/** A dead token may still have had a living pair or grant, which ends with it. */
function doneTo(before: Explanation, { revoked }: RevocationResult): string {
  if (!revoked) return `nothing was revoked; ${deathOf(before)}`;
  const what = before.kind.replace('_', ' ');
  if (before.alive) return `revoked the ${what}`;
  return `the ${what} was dead already (${before.reason}); what belongs to it is dead now, too`;
}

async function revokeAll(parts: CommandParts, flags: RevokeFlags): Promise<void> {
  const { target, whose, otherwise, person } = await targetOf(parts, flags);
  const { count, dryRun, issuedBefore } = flags;
  const alive = count || dryRun ? await parts.storage.countAlive(target) : undefined;
  const counted = alive === undefined ? {} : { alive };
  if (dryRun) {
    printOne(parts, { dryRun, ...counted }, [`${alive} alive: they would be revoked`]);
    return;
  }
  const revoked = await parts.storage.revokeAll(target);
  if (person !== undefined) await endSessionsOf(parts, person);
  if (!revoked) {
    printOne(parts, { revoked: false, ...counted }, [`nothing was revoked: ${otherwise}`]);
    return;
  }
  const unknown = issuedBefore === undefined ? ', however many there were (--count tells)' : '';
  const howMany = alive === undefined ? unknown : ` (${alive} were alive)`;
  printOne(parts, { revoked: true, ...counted }, [`revoked all tokens ${whose}${howMany}`]);
}

interface MassRevocation {
  readonly target: RevocationTarget;
  readonly whose: string;
  /** What is the case where there is nothing to revoke. */
  readonly otherwise: string;
  /** Whose sessions end as well. */
  readonly person?: Person;
}

async function targetOf(
  parts: CommandParts,
  { user, client, grantId, issuedBefore }: RevokeFlags,
): Promise<MassRevocation> {
  if (user !== undefined) {
    const person = await requirePerson(parts, user);
    const { subject, name } = person;
    return {
      person,
      target: { principal: 'subject', id: subject },
      whose: `of ${name}`,
      otherwise: `${name} never had a token`,
    };
  }
  if (client !== undefined) {
    if (!(await parts.storage.clients.get(client)))
      throw new Refused(`there is no client ${client}: grantd client list shows all.`);
    return {
      target: { principal: 'client', id: client },
      whose: `of the client ${client}`,
      otherwise: `there is no client ${client} any more`,
    };
  }
  if (grantId !== undefined) {
    return {
      target: { principal: 'grant', id: grantId },
      whose: `of the grant ${grantId}`,
      otherwise: `there is no grant ${grantId}, or its last token has expired`,
    };
  }
  const issuedBeforeMs = pointInTime('--issued-before', issuedBefore ?? '', Date.now());
  return {
    target: { issuedBeforeMs },
    whose: `issued before ${timeOf(issuedBeforeMs)}`,
    otherwise: `all tokens issued before ${timeOf(issuedBeforeMs)} were revoked before`,
  };
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Milliseconds of a time in the past: ISO 8601, or seconds since 1970.
 * A time to come is refused: it would make every token dead that is issued until then.
 */
function pointInTime(flag: string, text: string, nowMs: number): number {
  const milliseconds = /^\d+$/.test(text)
    ? Number(text) * 1000
    : ISO_8601.test(text) && isDay(text.slice(0, 10))
      ? Date.parse(text)
      : Number.NaN;
  if (Number.isNaN(milliseconds)) {
    throw new BadUsage(`${flag}: expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970`);
  }
  if (milliseconds > nowMs) throw new BadUsage(`${flag}: expected a time that is not in the future`);
  return milliseconds;
}

/** Whether the calendar has the day: `Date` takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
