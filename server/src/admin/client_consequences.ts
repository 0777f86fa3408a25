// What a change of a client would do to the tokens that it has: the plan before the change.
import { type AliveToken, type ClientRecord, hasResource, type NewClient } from '@grantd/core';
import { admits } from '../data/groups.ts';
import { askStorage } from '../data/tables.ts';
import { comparable } from './client_plan.ts';
import { hasFormerSubjects } from './client_rules.ts';
import type { AdminParts } from './operation.ts';
import { count, flag, list, object, type Schema, text, type ValueOf } from './schema.ts';
import { type ClientChange, differencesOf } from './state_changes.ts';

/** Live tokens that a plan looks at. */
const MAX_TOKENS = 10_000;

/** Clients whose tokens a plan of several looks at. */
const MAX_CLIENTS = 100;

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

const CONSEQUENCES = {
  ends: reach('Live tokens that the change ends.'),
  narrows: reach(
    'Live refresh tokens that stay, but give less from then on: without the grant refresh_token, with fewer scopes, or not for all of their APIs.',
  ),
  has_more: flag(
    `Whether the clients can have more live tokens. The numbers are of the first ${MAX_TOKENS} among the 500,000 stored tokens that expire last, and of at most ${MAX_CLIENTS} clients.`,
  ),
  'without_groups?': flag(
    'Present if tokens also end by allowed_groups, which the numbers leave out: this needs the scope grantd:users:read.',
  ),
} as const;
/** What changes of clients do to tokens. */
export const STATE_CONSEQUENCES = object(CONSEQUENCES, {
  description: 'What the changes, removals and disabling of clients do to their tokens, in all.',
});
export type Consequences = ValueOf<typeof STATE_CONSEQUENCES>;

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
    ...CONSEQUENCES,
  },
  { description: 'Present if the request was a dry run.' },
);
export type ClientPlan = ValueOf<typeof CLIENT_PLAN>;

type Parts = Pick<AdminParts, 'storage' | 'people' | 'caller'>;

interface Effect {
  readonly ended: readonly AliveToken[];
  readonly narrowed: readonly AliveToken[];
  readonly read: number;
  readonly hasMore: boolean;
  readonly isPartial: boolean;
}

/** What a change would do. */
export async function planOf(parts: Parts, change: Required<ClientChange>): Promise<ClientPlan> {
  const { before, after } = change;
  const changes = differencesOf(comparable(before), after === undefined ? {} : comparable(after));
  return { changes, ...consequencesOf([await effectOf(parts, change, MAX_TOKENS)]) };
}

/** What several changes would do together. */
export async function consequencesOfAll(
  parts: Parts,
  changes: readonly ClientChange[],
): Promise<Consequences> {
  const effects: Effect[] = [];
  let left = MAX_TOKENS;
  for (const change of changes.slice(0, MAX_CLIENTS)) {
    if (left === 0) break;
    const effect = await effectOf(parts, change, left);
    effects.push(effect);
    left -= effect.read;
  }
  const { has_more: hasMore, ...numbers } = consequencesOf(effects);
  return { ...numbers, has_more: hasMore || effects.length < changes.length };
}

function consequencesOf(effects: readonly Effect[]): Consequences {
  return {
    ends: reachOf(effects.flatMap(({ ended }) => ended)),
    narrows: reachOf(effects.flatMap(({ narrowed }) => narrowed)),
    has_more: effects.some(({ hasMore }) => hasMore),
    ...(effects.some(({ isPartial }) => isPartial) && { without_groups: true }),
  };
}

/** Whether a change can end a token, or make one give less. */
export function endsOrNarrows({
  ends,
  narrows,
  has_more: hasMore,
  without_groups: isPartial,
}: Consequences): boolean {
  return (
    hasMore || isPartial === true || [ends, narrows].some(({ tokens, sessions }) => tokens + sessions > 0)
  );
}

/** All tokens are from one read of the store. Memberships of their users are read after it. */
async function effectOf(
  { storage, people, caller }: Parts,
  { before, after, setsGroups }: ClientChange,
  most: number,
): Promise<Effect> {
  const { tokens: found, hasMore } = await askStorage(() => storage.aliveOfClient(before.id, most));
  const read = found.length;
  if (after === undefined) return { ended: found, narrowed: [], read, hasMore, isPartial: false };
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
  return { ended, narrowed, read, hasMore, isPartial: needsGroups && !readsGroups };
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
export function planInWords(id: string, { changes, ...consequences }: ClientPlan): readonly string[] {
  if (changes.length === 0) return [`${id} would stay as it is`];
  const shown = (value: unknown) => (value === undefined ? 'nothing' : JSON.stringify(value));
  return [
    `would change ${id}:`,
    ...changes.map(({ name, before, after }) => `    ${name}: ${shown(before)} → ${shown(after)}`),
    ...consequencesInWords(consequences),
  ];
}

/** The numbers of a plan as a command prints them. */
export function consequencesInWords({
  ends,
  narrows,
  has_more: hasMore,
  without_groups: isPartial = false,
}: Consequences): readonly string[] {
  const counted = ({ tokens, grants, sessions, users }: ClientPlan['ends'], kind: string) =>
    `${tokens} ${kind}${tokens === 1 ? '' : 's'} (grants: ${grants}, sessions: ${sessions}, users: ${users})`;
  return [
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
