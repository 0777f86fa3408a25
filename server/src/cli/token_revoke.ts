import type { Explanation, RevocationResult, RevocationTarget } from '@grantd/core';
import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import type { Person } from '../people/people.ts';
import { databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { printOne, timeOf } from './output.ts';
import { pointInTime } from './point_in_time.ts';
import { requirePerson } from './require_person.ts';
import { tokenFrom } from './standard_input.ts';
import { deathOf } from './token_explain.ts';
import { endSessionsOf } from './user_sessions.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

interface RevokeFlags extends GivenFlags {
  readonly user?: string;
  readonly client?: string;
  readonly grantId?: string;
  readonly issuedBefore?: string;
  readonly count?: true;
  readonly dryRun?: true;
}

export function addRevokeCommand(group: Command): void {
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
