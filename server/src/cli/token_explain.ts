import type { Explanation } from '@grantd/core';
import type { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import type { People } from '../people/people.ts';
import { databaseFlags } from './database_flags.ts';
import { labelled, printOne, timeOf } from './output.ts';
import { tokenFrom } from './standard_input.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

export function addExplainCommand(group: Command): void {
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
export function deathOf({ reason, explanation }: Explanation): string {
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
