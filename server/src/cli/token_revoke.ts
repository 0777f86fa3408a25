import type { Explanation, RevocationResult, RevocationTarget } from '@grantd/core';
import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { printOne, timeOf } from './output.ts';
import { pointInTime } from './point_in_time.ts';
import { tokenFrom } from './standard_input.ts';
import { deathOf } from './token_explain.ts';
import { requirePerson } from './user.ts';
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
    .option('--user <NAME>', 'all tokens of a person')
    .option('--client <ID>', 'all tokens of a client')
    .option('--grant-id <G>', 'all tokens of a grant, which grantd token explain shows; reads all rows')
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
  const { target, whose } = await targetOf(parts, flags);
  const { count, dryRun, user, client, grantId } = flags;
  // Storage tells in no other way whether there is such a grant.
  const isCounted = count || dryRun || grantId !== undefined;
  const alive = isCounted ? await parts.storage.countAlive(target) : undefined;
  const counted = alive === undefined ? {} : { alive };
  if (dryRun) {
    printOne(parts, { dryRun, ...counted }, [`${alive} alive: they would be revoked`]);
    return;
  }
  await parts.storage.revokeAll(target);
  if (grantId !== undefined && alive === 0) {
    const nothing = `no living token ${whose} is stored: nothing was revoked, unless a code of it was on its way`;
    printOne(parts, { revoked: false, ...counted }, [nothing]);
    return;
  }
  if ('principal' in target && target.principal === 'subject' && !(await hasState(parts, target.id))) {
    printOne(parts, { revoked: false, ...counted }, [`nothing was revoked: ${user} never had a token`]);
    return;
  }
  const isOneOfMany = user !== undefined || client !== undefined;
  const unknown = isOneOfMany ? ', however many there were (--count tells)' : '';
  const howMany = alive === undefined ? unknown : ` (${alive} were alive)`;
  printOne(parts, { revoked: true, ...counted }, [`revoked all tokens ${whose}${howMany}`]);
}

/** Whether anything was ever issued for a person, or done to them. */
async function hasState({ storage }: CommandParts, subject: string): Promise<boolean> {
  const state = await storage.getPrincipalState('subject', subject);
  return state !== undefined && state !== null;
}

async function targetOf(
  parts: CommandParts,
  { user, client, grantId, issuedBefore }: RevokeFlags,
): Promise<{ target: RevocationTarget; whose: string }> {
  if (user !== undefined) {
    const { subject, name } = requirePerson(parts, user);
    return { target: { principal: 'subject', id: subject }, whose: `of ${name}` };
  }
  if (client !== undefined) {
    if (!(await parts.storage.clients.get(client)))
      throw new Refused(`there is no client ${client}: grantd client list shows all.`);
    return { target: { principal: 'client', id: client }, whose: `of the client ${client}` };
  }
  if (grantId !== undefined)
    return { target: { principal: 'grant', id: grantId }, whose: `of the grant ${grantId}` };
  const issuedBeforeMs = pointInTime('--issued-before', issuedBefore ?? '', Date.now());
  return { target: { issuedBeforeMs }, whose: `issued before ${timeOf(issuedBeforeMs)}` };
}
