import type { OperatorIssue } from '@grantd/core';
import { type Kind, seconds, wholeNumber } from '@grantd/core/options';
import { Command } from 'commander';
import { requireClient, requireOfOperators } from '../admin/client_rules.ts';
import { labelled } from '../admin/command_form.ts';
import { call } from '../admin/in_process.ts';
import type { Input } from '../admin/table.ts';
import type { ExplanationView } from '../admin/tokens.ts';
import { requirePerson } from '../admin/user_rules.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import {
  type AdministrationParts,
  administrationFlags,
  type CommandParts,
  collect,
  databaseFlags,
  endProgress,
  printOne,
  showProgress,
  timeOf,
  tokenFrom,
  withAdministration,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { userNamed } from './user_named.ts';

export function tokenCommands(): Command {
  const group = new Command('token').description('explain, revoke and issue tokens');
  addIssueCommand(group);
  addExplainCommand(group);
  addRevokeCommand(group);
  return group;
}

function addExplainCommand(group: Command): void {
  administrationFlags(
    group
      .command('explain [TOKEN]')
      .description('show what a token is and whether it is active. If it is not, show why and since when'),
  )
    .addHelpText(
      'after',
      `
TOKEN can also be the identifier of a token, which events have (grantd audit list). Without TOKEN, or with -, the command
reads it from standard input. For an inactive token, the exit code is also 0.`,
    )
    .action(async (argument: string | undefined, flags: GivenFlags) => {
      const token = await tokenFrom(argument);
      await withAdministration(flags, 'needs_database', (parts) => explain(parts, token));
    });
}

async function explain(parts: AdministrationParts, token: string): Promise<void> {
  const question = { token, find_descendants: true };
  const explanation = await call(parts.admin, 'explainToken', { ...question, find_end: true }).catch(
    (error) => {
      // The end needs a further scope, grantd:events:read.
      if (!(error instanceof Refused)) throw error;
      return call(parts.admin, 'explainToken', question);
    },
  );
  printOne(parts, explanation, linesOf(explanation));
}

const KINDS = {
  access_token: 'access token',
  refresh_token: 'refresh token',
  authorization_code: 'authorization code',
  id_token: 'ID token',
  logout_token: 'logout token',
  identity_assertion: 'identity assertion for another server',
  assertion: 'assertion of a trusted issuer',
  unknown: 'not a token that this server knows',
} as const;

/** Why the token is inactive: the stable reason code and its meaning. */
function reasonText({ reason, explanation }: ExplanationView): string {
  return explanation === undefined ? `${reason} (see grantd help reason-codes)` : `${reason}: ${explanation}`;
}

/** A JWT of a trusted issuer by its issuer and subject, other tokens by their kind. */
function kindOf({ kind, issuer, issuer_sub: sub }: RelatedToken | ExplanationView): string {
  return issuer === undefined ? KINDS[kind] : `JWT of ${issuer} about ${sub}`;
}

function linesOf(token: ExplanationView): readonly string[] {
  const { kind, active, record, claims, user, unused_until: unusedUntil } = token;
  const isOther = ['id_token', 'logout_token', 'identity_assertion'].includes(kind);
  const sub = record?.sub;
  const endsAt = isOther ? timeOf(Number(claims?.exp) * 1000) : (record?.expires_at ?? unusedUntil);
  return labelled({
    what: kindOf(token),
    alive: active ? 'yes' : 'no',
    used: unusedUntil && 'by no client yet',
    ...(!active && { because: reasonText(token) }),
    since: token.since,
    'ended by': endedBy(token),
    event: token.ended_by && eventText(token.ended_by),
    id: record?.id,
    client: record?.client_id,
    person: user === undefined ? sub : `${user} (sub ${sub})`,
    scopes: record?.scopes.join(' '),
    ...(isOther && { client: String(claims?.client_id ?? claims?.aud), person: String(claims?.sub) }),
    'bound to': boundTo(token),
    audience: [claims?.aud ?? record?.resources ?? []].flat().join(' ') || undefined,
    issued: record?.issued_at,
    expires: endsAt,
    'family ends': timeOf(typeof claims?.family_exp === 'number' ? claims.family_exp * 1000 : undefined),
    grant: record?.grant_id,
    session: record?.session_id,
    ...numbered('ancestor', token.ancestors),
    ...numbered('descendant', token.descendants),
  });
}

function endedBy({ ancestors = [], ended_by_ancestor: ended }: ExplanationView): string | undefined {
  return ended && `ancestor ${ancestors.findIndex(({ id }) => id === ended) + 1}`;
}

/** The event that made the token inactive. */
function eventText({ type, actor, at }: NonNullable<ExplanationView['ended_by']>): string {
  const what = type === 'exchanges_revoked' ? ': what the client had obtained for the user was ended' : '';
  return `${type} by ${actor} at ${at}${what}`;
}

type RelatedToken = NonNullable<ExplanationView['ancestors']>[number];

function numbered(label: string, tokens: readonly RelatedToken[] = []): Readonly<Record<string, string>> {
  return Object.fromEntries(tokens.map((token, index) => [`${label} ${index + 1}`, relatedText(token)]));
}

function relatedText(token: RelatedToken): string {
  const { id, client_id: client, active, reason, since } = token;
  const owner = client === undefined ? '' : ` ${token.issuer === undefined ? 'of' : 'used by'} ${client}`;
  const life = active ? 'alive' : `${reason}${since === undefined ? '' : ` since ${since}`}`;
  return `${kindOf(token)} ${id}${owner}: ${life}`;
}

/** What the token is bound to, by its record or its claims. */
function boundTo({ record, claims }: ExplanationView): string | undefined {
  const cnf = record?.cnf ?? claims?.cnf;
  if (cnf === undefined || cnf === null) return undefined;
  const { jkt, 'x5t#S256': certificate, ...others } = Object(cnf);
  if (Object.keys(others).length > 0) return JSON.stringify(cnf);
  const parts = [jkt && `the key ${jkt}`, certificate && `the certificate ${certificate}`];
  return parts.filter((part) => part !== undefined).join(' and ');
}

/** Tokens per transaction. */
const BATCH_SIZE = 500;
const MAX_TOKENS = 10_000_000;

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
  databaseFlags(group.command('issue').description('issue real tokens, for experiments and load tests'))
    .requiredOption('--client <ID>', 'the client that gets the tokens')
    .option('--user <NAME>', 'the user that the tokens are about. Without a user, the client acts for itself')
    .option(
      '--scope <SCOPE>',
      'a scope of the client; repeatable. Default: all scopes of the client that are possible with the given user and APIs',
      collect,
    )
    .option(
      '--resource <URI>',
      'resource URI of an API for which the client may request tokens; repeatable',
      collect,
    )
    .option('--ttl <SECONDS>', 'lifetime of the access token', flagOfKind('--ttl', seconds(1)))
    .option('--refresh', 'also issue a refresh token; needs --user')
    .option('--opaque', 'issue opaque access tokens, regardless of the server’s format')
    .option('--count <N>', 'number of tokens', flagOfKind('--count', wholeNumber(1, MAX_TOKENS)), 1)
    .addHelpText(
      'after',
      `
The command prints one token per line. A refresh token follows its access token. With --json, each line is an object
with the tokens that belong together.`,
    )
    .action((flags: IssueFlags) =>
      withInstance(flags, 'needs_database', (parts) => issueTokens(parts, flags)),
    );
}

async function issueTokens(parts: CommandParts, flags: IssueFlags): Promise<void> {
  const order = await orderFrom(parts, flags);
  const server = await parts.server();
  for (let issued = 0; issued < flags.count; ) {
    const batch = await server.operator.issueTokens(order, Math.min(BATCH_SIZE, flags.count - issued));
    const lines = batch.flatMap((issuedTokens) =>
      parts.isJson
        ? JSON.stringify(issuedTokens)
        : [issuedTokens.accessToken, issuedTokens.refreshToken ?? []].flat(),
    );
    await write(`${lines.join('\n')}\n`);
    issued += batch.length;
    if (flags.count > BATCH_SIZE) showProgress(`${issued} of ${flags.count} issued`);
  }
  endProgress();
}

async function orderFrom(
  parts: CommandParts,
  { client, user, scope, resource, ttl, refresh, opaque }: IssueFlags,
): Promise<OperatorIssue> {
  requireOfOperators(await requireClient(parts, client));
  const person = user === undefined ? undefined : await requirePerson(parts, user);
  return {
    clientId: client,
    ...(person !== undefined && { subject: person.subject, username: person.name }),
    ...(scope !== undefined && { scopes: [...new Set(scope.flatMap((text) => text.split(' ')))] }),
    ...(resource !== undefined && { resources: [...new Set(resource)] }),
    ...(ttl !== undefined && { lifetime: ttl }),
    ...(refresh && { refresh }),
    ...(opaque && { format: 'opaque' as const }),
  };
}

/** Waits for the reader, because a million tokens do not fit into memory. */
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
  readonly trustedIssuer?: string;
  readonly trustedSub?: string;
  readonly issuedBefore?: string;
  readonly count?: true;
  readonly dryRun?: true;
}

function addRevokeCommand(group: Command): void {
  administrationFlags(
    group
      .command('revoke [TOKEN]')
      .description(
        'revoke a token, or all tokens of a user, client, grant or subject of a trusted issuer, at once',
      ),
  )
    .option(
      '--user <NAME>',
      'revoke all tokens of the user with this name, and end the user’s browser sessions',
    )
    .option(
      '--client <ID>',
      'revoke all tokens of the client with this identifier. With --user, revoke only what it has for this user, and what was obtained from it; the user’s consent and sessions stay',
    )
    .option(
      '--grant-id <G>',
      'revoke all tokens of the grant with this identifier, which grantd token explain shows',
    )
    .option(
      '--trusted-issuer <ISS>',
      'revoke all tokens obtained with JWTs of this issuer about --trusted-sub',
    )
    .option('--trusted-sub <SUB>', 'the subject (sub) of the trusted issuer')
    .option(
      '--issued-before <T>',
      'revoke all tokens issued before a time: ISO 8601 with a time zone, or seconds since 1970. Browser sessions continue',
    )
    .option(
      '--count',
      'also print how many of the tokens were active. This is slow, because it reads up to 500,000 rows',
    )
    .option('--dry-run', 'count the active tokens, but revoke none')
    .addHelpText(
      'after',
      `
The command revokes TOKEN, or all tokens that --user, --client, --grant-id, --trusted-issuer or --issued-before selects.
TOKEN can also be the identifier of a token, which events have. If you pass none of these, or - as TOKEN, the command
reads a token from standard input.

  grantd token revoke --user alice --client assistant

Revoking an access token also revokes its refresh token, and revoking a refresh token revokes its whole grant. A token
that is inactive or from another server is not an error.`,
    )
    .action(async (argument: string | undefined, flags: RevokeFlags) => {
      const isMass = requireOneChoice(argument, flags);
      const token = isMass ? undefined : await tokenFrom(argument);
      await withAdministration(flags, 'needs_database', (parts) =>
        token === undefined ? revokeAll(parts, flags) : revokeOne(parts, token, flags),
      );
    });
}

/** @returns whether the command revokes more than one token */
function requireOneChoice(argument: string | undefined, flags: RevokeFlags): boolean {
  const { user, client, grantId, trustedIssuer, trustedSub, issuedBefore } = flags;
  if ((trustedIssuer === undefined) !== (trustedSub === undefined))
    throw new BadUsage('expected --trusted-issuer and --trusted-sub together');
  const choices = [user, client, grantId, trustedIssuer, issuedBefore].filter(
    (choice) => choice !== undefined,
  );
  const isPair = choices.length === 2 && user !== undefined && client !== undefined;
  if (choices.length + (argument === undefined ? 0 : 1) > (isPair ? 2 : 1))
    throw new BadUsage(
      'expected only one of TOKEN, --user, --client, --grant-id, --trusted-issuer, --issued-before, or --user with --client',
    );
  if (isPair && (flags.count || flags.dryRun))
    throw new BadUsage(
      `${flags.count ? '--count' : '--dry-run'}: not possible with both --user and --client`,
    );
  return choices.length > 0;
}

async function revokeOne(
  parts: AdministrationParts,
  token: string,
  { count, dryRun }: RevokeFlags,
): Promise<void> {
  const before = await call(parts.admin, 'explainToken', { token });
  const counted = count || dryRun ? { active: before.active ? 1 : 0 } : {};
  if (dryRun) {
    const line = before.active ? 'active: it would be revoked' : `already inactive; ${reasonText(before)}`;
    printOne(parts, { dry_run: dryRun, ...counted }, [line]);
    return;
  }
  const done = await call(parts.admin, 'revokeToken', { token });
  printOne(parts, { ...done, ...counted }, [doneTo(before, done.revoked)]);
}

/** An inactive token may still belong to an active pair or grant, which ends with it. */
function doneTo(before: ExplanationView, revoked: boolean): string {
  if (!revoked) return `nothing was revoked; ${reasonText(before)}`;
  const what = before.kind.replace('_', ' ');
  if (before.active) return `revoked the ${what}`;
  return `the ${what} was already inactive (${before.reason}); revoked the tokens that belong to it`;
}

async function revokeAll(parts: AdministrationParts, flags: RevokeFlags): Promise<void> {
  const { wanted, whose, otherwise } = await targetOf(parts, flags);
  const { dryRun, user, client, issuedBefore } = flags;
  const order = { ...wanted, count: flags.count === true, dry_run: dryRun === true };
  const { revoked, active, has_more: hasMore = false } = await call(parts.admin, 'revokeAll', order);
  const counted = active === undefined ? {} : { active, ...(hasMore && { has_more: hasMore }) };
  const found = `${hasMore ? 'at least ' : ''}${active}`;
  if (dryRun) {
    printOne(parts, { dry_run: dryRun, ...counted }, [`${found} active: they would be revoked`]);
    return;
  }
  if (!revoked) {
    printOne(parts, { revoked: false, ...counted }, [`nothing was revoked: ${otherwise}`]);
    return;
  }
  const isPair = user !== undefined && client !== undefined;
  const unknown = issuedBefore === undefined && !isPair ? ' (--count prints how many)' : '';
  const howMany = active === undefined ? unknown : ` (${found} were active)`;
  const { trusted_issuer: issuer, trusted_sub: sub } = wanted;
  const done = `revoked all tokens ${whose}${howMany}`;
  const ended = `JWTs of ${issuer} about ${sub} that were signed until now are refused`;
  const lines =
    issuer === undefined ? [done] : [active === 0 && !hasMore ? 'nothing was active' : done, ended];
  printOne(parts, { revoked: true, ...counted }, lines);
}

interface Target {
  readonly wanted: Input<'revokeAll'>;
  readonly whose: string;
  /** The reason if nothing was revoked. */
  readonly otherwise: string;
}

async function targetOf(
  parts: AdministrationParts,
  { user, client, grantId, trustedIssuer: issuer, trustedSub: sub, issuedBefore }: RevokeFlags,
  clock: () => number = Date.now,
): Promise<Target> {
  if (user !== undefined) {
    const { username, sub } = await userNamed(parts.admin, user);
    if (client !== undefined)
      return {
        wanted: { sub, client_id: client },
        whose: `of the client ${client} for ${username}`,
        otherwise: `the client ${client} has no active tokens for ${username}`,
      };
    return { wanted: { sub }, whose: `of ${username}`, otherwise: `there is no user ${username} any more` };
  }
  if (client !== undefined)
    return {
      wanted: { client_id: client },
      whose: `of the client ${client}`,
      otherwise: `there is no client ${client} any more`,
    };
  if (grantId !== undefined)
    return {
      wanted: { grant_id: grantId },
      whose: `of the grant ${grantId}`,
      otherwise: `there is no grant ${grantId}, or its last token has expired`,
    };
  if (issuer !== undefined && sub !== undefined)
    return {
      wanted: { trusted_issuer: issuer, trusted_sub: sub },
      whose: `obtained with JWTs of ${issuer} about ${sub}`,
      otherwise: 'the end could not be recorded',
    };
  const before = timeOf(pointInTime('--issued-before', issuedBefore ?? '', clock())) ?? '';
  return {
    wanted: { issued_before: before },
    whose: `issued before ${before}`,
    otherwise: `all tokens issued before ${before} are already revoked`,
  };
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Parses a time in the past: ISO 8601, or seconds since 1970. Rejects future times, which would also revoke tokens
 * issued until then.
 * @returns milliseconds since 1970
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

/** Whether the day exists. `Date` reads 30 February as 2 March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
