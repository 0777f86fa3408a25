import type { OperatorIssue } from '@grantd/core';
import { type Kind, seconds, wholeNumber } from '@grantd/core/options';
import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { collect, databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { endProgress, showProgress } from './output.ts';
import { requirePerson } from './require_person.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

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

export function addIssueCommand(group: Command): void {
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
