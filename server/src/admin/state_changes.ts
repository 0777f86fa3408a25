// Changes that lead from a database to a file, and what plans of all kinds share.
import type { ClientRecord, NewClient } from '@grantd/core';
import { Refused } from '../config/refused.ts';
import type { AdministratorChange } from './administrator_changes.ts';
import type { Members } from './client_metadata.ts';
import type { AdminParts, OperationParts } from './operation.ts';
import type { Warn } from './warning.ts';

/** A member of the changed thing, before and after. Texts of secrets are never part of it. */
export interface MemberChange {
  readonly name: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** A change as it is shown. */
export interface ShownChange {
  readonly action: 'add' | 'change' | 'remove';
  readonly kind: 'group' | 'client' | 'scope';
  readonly name: string;
  readonly members: readonly MemberChange[];
}

/** A change of a client. */
export interface ClientChange {
  readonly before: ClientRecord;
  /** Absent if the client is removed or disabled: all of its tokens end. */
  readonly after?: NewClient | undefined;
  /** Whether the change names the groups: then it also ends what an earlier change has left. */
  readonly setsGroups: boolean;
}

export interface Change extends ShownChange {
  /** Of a stored client, whose tokens it can end. */
  readonly client?: ClientChange;
  /** The usernames of those who become administrators, or stop being ones. */
  readonly administrators?: Readonly<Record<AdministratorChange, readonly string[]>>;
  /** What the change performs and does not show, without secrets. The version of the plan depends on it. */
  readonly covers?: string | readonly string[];
  /** @throws {Refused} it was changed in the meantime */
  perform(warn: Warn): Promise<void>;
}

export type PlanParts = OperationParts & Pick<AdminParts, 'caller'>;

export interface Planning {
  /** Whether to remove what the file’s sections leave out. */
  readonly prune: boolean;
  /** The secrets to which the file refers, by client ID. */
  readonly secrets: ReadonlyMap<string, string>;
}

export type Planned = { readonly changes: readonly (Change | undefined)[] };

export function changedMeanwhile(what: string): Refused {
  return new Refused(`another command has just changed ${what}: run grantd apply again.`);
}

export function differencesOf(before: Members, after: Members): readonly MemberChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => canonical(name, before[name]) !== canonical(name, after[name]))
    .map((name) => ({
      name,
      ...(before[name] !== undefined && { before: before[name] }),
      ...(after[name] !== undefined && { after: after[name] }),
    }));
}

/** The order of scopes has no meaning. */
function canonical(name: string, value: unknown): string | undefined {
  return name === 'scope' && typeof value === 'string'
    ? value.split(' ').toSorted().join(' ')
    : JSON.stringify(value);
}
