// The plan that leads from a database to a file, and the way back: a file from the database.
import { type ClientRecord, isUnchecked } from '@grantd/core';
import { Refused } from '../config/refused.ts';
import type { ScopeText } from '../data/consents.ts';
import type { Group } from '../data/groups.ts';
import { nameKey } from '../data/names.ts';
import { adminAudience } from '../instance/admin_access.ts';
import { isOfPersonalTokens } from '../instance/personal_tokens_client.ts';
import type { Members } from './client_metadata.ts';
import { comparable, planClient, removal, resourceFinder } from './client_plan.ts';
import type { DesiredClient, DesiredState, FileProblem } from './desired_state.ts';
import { groupRemoval, planGroup } from './group_plan.ts';
import type { OperationParts } from './operation.ts';
import {
  type Change,
  changedMeanwhile,
  differencesOf,
  type Planning,
  type PlanParts,
  type ShownChange,
} from './state_changes.ts';
import type { Warn } from './warning.ts';

type Texts = ScopeText['texts'];

/** The changes, in an order in which each can be made, and the number of things that are as the file wants them. */
export interface Plan {
  readonly changes: readonly Change[];
  readonly unchanged: number;
}

/** Everything that the server would refuse. */
export interface StateProblems {
  readonly problems: readonly FileProblem[];
}

/**
 * Compares the database with a file. Changes nothing.
 * @returns the plan, or everything that the server would refuse
 * @throws {OperationRefused} the caller may not make a change
 */
export async function planFor(
  parts: PlanParts,
  state: DesiredState,
  planning: Planning,
): Promise<Plan | StateProblems> {
  const { prune } = planning;
  const { caller } = parts;
  const problems: FileProblem[] = [];
  const changes: (Change | undefined)[] = [];
  const desired = state.clients ?? [];
  const desiredById = new Map(desired.map((client) => [client.id, client]));
  const registered = new Map((await parts.storage.clients.list()).map((client) => [client.id, client]));
  const isPruned = (client: ClientRecord) =>
    prune &&
    state.clients !== undefined &&
    !isUnchecked(client) &&
    !isOfPersonalTokens(client) &&
    // The client that sends the file stays although the file omits it, because it could not undo its removal.
    client.id !== caller.clientId &&
    !desiredById.has(client.id);
  const isResource = resourceFinder([
    adminAudience(parts.issuer),
    ...desired.filter(({ isDisabled }) => !isDisabled).map(({ members }) => members.resource),
    ...[...registered.values()]
      .filter((client) => client.disabledAtMs === undefined && !isPruned(client))
      .filter(({ id }) => !desiredById.has(id))
      .map(({ resource }) => resource),
  ]);

  const storedGroups = await parts.groups.list();
  const groupsByKey = new Map(storedGroups.map((group) => [nameKey(group.name), group]));
  const desiredGroups = state.groups && new Set(state.groups.map(({ name }) => name));
  const isPrunedGroup = ({ name }: Group) => prune && desiredGroups?.has(name) === false;
  const groupNames = new Set([
    ...(state.groups ?? []).map(({ name }) => name),
    ...storedGroups.filter((group) => !isPrunedGroup(group)).map(({ name }) => name),
  ]);
  // A group comes before the clients that are for it, and is removed after them.
  for (const group of state.groups ?? []) {
    const planned = await planGroup(parts, group, groupsByKey, planning);
    if (Array.isArray(planned)) problems.push(...planned);
    else changes.push(...planned.changes);
  }

  // An API comes first, so that no client is allowed an API that does not exist yet.
  const apisFirst = desired.toSorted((one, other) => Number(isApi(other)) - Number(isApi(one)));
  for (const client of apisFirst) {
    const before = registered.get(client.id);
    const planned = await planClient(parts, client, before, { ...planning, isResource, groupNames });
    if (Array.isArray(planned)) problems.push(...planned);
    else changes.push(...planned.changes);
  }
  const stored = await parts.scopeTexts.list();
  for (const { id, scopeTexts } of desired) changes.push(...planTexts(parts, id, scopeTexts, stored, prune));
  changes.push(...planTexts(parts, undefined, state.scopeTexts, stored, prune));
  for (const client of [...registered.values()].filter(isPruned)) {
    caller.requireClient(client);
    changes.push(removal(parts, client));
  }
  /** The first client that is for a group. */
  const users = new Map<unknown, string>();
  for (const { id, metadata } of [...registered.values()].filter((client) => !isPruned(client))) {
    const { allowed_groups: allowed } = desiredById.get(id)?.members ?? { ...metadata };
    for (const group of Array.isArray(allowed) ? allowed : []) if (!users.has(group)) users.set(group, id);
  }
  for (const group of storedGroups.filter(isPrunedGroup)) {
    const user = users.get(group.name);
    caller.requireGroup(group.name);
    const isKept = parts.caller.keepsAdministrator && parts.caller.isAdminGroup(group.name);
    if (isKept)
      problems.push({
        path: ['groups'],
        said: ['admin_group_stays', group.name],
      });
    else if (user === undefined) changes.push(await groupRemoval(parts, group));
    else problems.push({ path: ['groups'], said: ['client_for_group', user, group.name] });
  }
  if (problems.length > 0) return { problems };
  const planned = changes.filter((change) => change !== undefined);
  return { changes: planned, unchanged: changes.length - planned.length };
}

/** A change failed after others were made. The next plan contains what is missing. */
export class PartlyApplied extends Refused {
  /** Why the change failed. */
  readonly reason: Error;
  /** What was made, and what was not. */
  readonly progress: string;

  constructor(reason: Error, changes: readonly ShownChange[], failedAt: number) {
    const progress = [
      `Applied before: ${listed(changes.slice(0, failedAt))}`,
      `Failed, and perhaps applied in part: ${listed(changes.slice(failedAt, failedAt + 1))}`,
      `Not applied: ${listed(changes.slice(failedAt + 1))}`,
      'The next plan contains what is missing.',
    ].join('. ');
    super(`${reason.message.replace(/\.$/, '')}. ${progress}`, { cause: reason.cause });
    this.reason = reason;
    this.progress = progress;
  }
}

const MAX_LISTED = 20;

function listed(changes: readonly ShownChange[]): string {
  if (changes.length === 0) return 'nothing';
  const names = changes.slice(0, MAX_LISTED).map(({ action, kind, name }) => `${action} ${kind} ${name}`);
  const more = changes.length - names.length;
  return [...names, ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

/**
 * Makes the changes of a plan, each only if what it changes is still as it was compared.
 * @param onChange receives each change before it is made
 * @throws {PartlyApplied} a change failed
 */
export async function performPlan(
  { changes }: Plan,
  warn: Warn,
  onChange: (change: ShownChange, index: number, count: number) => void | Promise<void> = () => {},
): Promise<void> {
  for (const [index, change] of changes.entries()) {
    try {
      await onChange(change, index, changes.length);
      await change.perform(warn);
    } catch (error) {
      throw error instanceof Error ? new PartlyApplied(error, changes, index) : error;
    }
  }
}

function isApi({ members }: DesiredClient): boolean {
  return members.resource !== undefined;
}

/** @returns for each text its change, or `undefined` if it is as wanted */
function planTexts(
  { scopeTexts, caller }: PlanParts,
  api: string | undefined,
  wanted: ReadonlyMap<string, Texts> | undefined,
  stored: readonly ScopeText[],
  prune: boolean,
): readonly (Change | undefined)[] {
  if (wanted === undefined) return [];
  const own = stored.filter((text) => text.api === api);
  const change = (scope: string, rest: Pick<Change, 'action' | 'members'>, work: () => Promise<boolean>) => {
    caller.requireScopeTexts(scope);
    const name = api === undefined ? scope : `${scope} of ${api}`;
    const perform = async () => {
      if (!(await work())) throw changedMeanwhile(`the texts of ${name}`);
    };
    return { ...rest, kind: 'scope', name, perform } as const;
  };
  const set = [...wanted].map(([scope, texts]) => {
    const before = own.find((text) => text.scope === scope);
    const members = differencesOf(before?.texts ?? {}, texts);
    if (before === undefined)
      return change(scope, { action: 'add', members }, () => scopeTexts.add({ scope, api, texts }));
    if (members.length === 0) return undefined;
    return change(scope, { action: 'change', members }, () => scopeTexts.replace(before, texts));
  });
  const removed = own.filter(({ scope }) => prune && !wanted.has(scope));
  return [
    ...set,
    ...removed.map((text) =>
      change(text.scope, { action: 'remove', members: [] }, () => scopeTexts.remove(text)),
    ),
  ];
}

/** The database in the form of a file, without the clients that no operator added. */
export interface ExportedState {
  readonly groups: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly clients: Readonly<Record<string, Members>>;
  readonly scope_texts: Readonly<Record<string, Texts>>;
}

/** Without the members of groups, which lists of users have. @returns also the IDs of the clients that have a secret */
export async function exportedState(
  parts: OperationParts,
): Promise<{ readonly state: ExportedState; readonly withSecret: readonly string[] }> {
  const groups = (await parts.groups.list()).map(({ name, description, signInPolicy }) => [
    name,
    {
      ...(description !== '' && { description }),
      ...(signInPolicy !== undefined && { sign_in_policy: signInPolicy }),
    },
  ]);
  const texts = await parts.scopeTexts.list();
  const textsOf = (api: string | undefined) =>
    Object.fromEntries(texts.filter((text) => text.api === api).map((text) => [text.scope, text.texts]));
  const clients = (await parts.storage.clients.list()).filter(
    (client) => !isUnchecked(client) && !isOfPersonalTokens(client),
  );
  const shown = clients.map((client) => {
    const own = textsOf(client.id);
    return [
      client.id,
      {
        ...comparable(client),
        ...(client.disabledAtMs !== undefined && { disabled: true as const }),
        ...(Object.keys(own).length > 0 && { scope_texts: own }),
      },
    ];
  });
  return {
    state: {
      groups: Object.fromEntries(groups),
      clients: Object.fromEntries(shown),
      scope_texts: textsOf(undefined),
    },
    withSecret: clients.filter(({ secrets }) => secrets !== undefined).map(({ id }) => id),
  };
}
