// What a change of a client would do to the tokens that it has: the plan before the change.
import { type AliveToken, type ClientRecord, hasResource, type NewClient } from '@grantd/core';
import { admits } from '../data/groups.ts';
import { askStorage } from '../data/tables.ts';
import { comparable } from './client_plan.ts';
import { hasFormerSubjects } from './client_rules.ts';
import type { AdminParts } from './operation.ts';
import { count, flag, list, object, type Schema, text, type ValueOf } from './schema.ts';
import { differencesOf } from './state_changes.ts';

/** Live tokens that a plan looks at. */
const MAX_TOKENS = 10_000;

const reach = (what: string) =>
  object(
    {
      tokens: count('Number of tokens.'),
      grants: count('Number of the grants that they belong to.'),
      sessions: count('Number of the sessions that they belong to.'),
      users: count('Number of their users.'),
    },
    { description: what },
  );

export const CLIENT_PLAN = object(
  {
    changes: list(
      object({
        name: text('The member.'),
        'before?': { description: 'Its value before the change. Absent if it had none.' } as Schema,
        'after?': { description: 'Its value after the change. Absent if it has none.' } as Schema,
      }),
      'The members that the change changes.',
    ),
    ends: reach('Live tokens that the change ends.'),
    narrows: reach(
      'Live refresh tokens that stay, but give less from then on: without the grant refresh_token, with fewer scopes, or not for all of their APIs.',
    ),
    has_more: flag(
      `Whether the client can have more live tokens. The numbers are of the first ${MAX_TOKENS} among the 500,000 stored tokens that expire last.`,
    ),
    'without_groups?': flag(
      'Present if tokens also end by allowed_groups, which the numbers leave out: this needs the scope grantd:users:read.',
    ),
  },
  { description: 'Present if the request was a dry run.' },
);
export type ClientPlan = ValueOf<typeof CLIENT_PLAN>;

/**
 * What a change would do. All tokens are from one read of the store. Memberships of their users are read after it.
 * @param setsGroups whether the change names the groups: then it also ends what an earlier change has left
 */
export async function planOf(
  { storage, people, caller }: Pick<AdminParts, 'storage' | 'people' | 'caller'>,
  before: ClientRecord,
  after: NewClient,
  setsGroups: boolean,
): Promise<ClientPlan> {
  const { tokens: found, hasMore } = await askStorage(() => storage.aliveOfClient(before.id, MAX_TOKENS));
  const subjects = new Set(found.flatMap(({ subject }) => subject ?? []));
  const others = new Set<string>();
  const needsGroups = setsGroups && after.metadata?.allowed_groups !== undefined;
  // The numbers tell who is in a group.
  const readsGroups = needsGroups && caller.has(['grantd:users:read']);
  if (readsGroups)
    for (const subject of subjects)
      if (!admits(after, (await people.bySubject(subject))?.groups)) others.add(subject);
  const endsAll = hasFormerSubjects(before, after);
  const ends = (token: AliveToken) => endsAll || (token.subject !== undefined && others.has(token.subject));
  const ended = found.filter(ends);
  const narrowed = found.filter((token) => !ends(token) && isNarrowed(token, before, after));
  return {
    changes: differencesOf(comparable(before), comparable(after)),
    ends: reachOf(ended),
    narrows: reachOf(narrowed),
    has_more: hasMore,
    ...(needsGroups && !readsGroups && { without_groups: true }),
  };
}

/** Whether a refresh token would give less after a change. Access tokens keep what they have until they expire. */
function isNarrowed(
  { kind, scopes, resources = [] }: AliveToken,
  before: ClientRecord,
  after: NewClient,
): boolean {
  if (kind !== 'refresh_token') return false;
  const canRefresh = ({ grantTypes }: Pick<NewClient, 'grantTypes'>) => grantTypes.includes('refresh_token');
  const apisOf = ({ metadata }: Pick<NewClient, 'metadata'>) => metadata?.apis ?? [];
  return (
    (canRefresh(before) && !canRefresh(after)) ||
    scopes.some((scope) => before.scopes.includes(scope) && !after.scopes.includes(scope)) ||
    resources.some((api) => hasResource(apisOf(before), api) && !hasResource(apisOf(after), api))
  );
}

function reachOf(tokens: readonly AliveToken[]): ClientPlan['ends'] {
  const distinct = (member: 'grantId' | 'sessionId' | 'subject') =>
    new Set(tokens.flatMap((token) => token[member] ?? [])).size;
  return {
    tokens: tokens.length,
    grants: distinct('grantId'),
    sessions: distinct('sessionId'),
    users: distinct('subject'),
  };
}

/** A plan as a command prints it. */
export function planInWords(
  id: string,
  { changes, ends, narrows, has_more: hasMore, without_groups: isPartial = false }: ClientPlan,
): readonly string[] {
  if (changes.length === 0) return [`${id} would stay as it is`];
  const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  const counted = ({ tokens, grants, sessions, users }: ClientPlan['ends'], kind: string) =>
    `${tokens} ${kind}${tokens === 1 ? '' : 's'} (grants: ${grants}, sessions: ${sessions}, users: ${users})`;
  return [
    `would change ${id}:`,
    ...changes.map(({ name, before, after }) => `    ${name}: ${shown(before)} → ${shown(after)}`),
    `would end ${counted(ends, 'active token')}`,
    `would leave ${counted(narrows, 'refresh token')} with less`,
    ...(isPartial
      ? ['also ends the tokens of users in none of the allowed groups, who may not be counted']
      : []),
    ...(hasMore
      ? [
          `the numbers can be higher: they are of at most ${MAX_TOKENS} tokens, among the 500000 that expire last`,
        ]
      : []),
  ];
}
