// What a change depends on, checked inside the transaction that makes it (ADR 150). A right that is asked for before a
// change may be gone when the change is made.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { TableCall } from './tables.ts';
import { hasWay, type WaysToSignIn } from './ways_to_sign_in.ts';

/** A condition of the transactions that run under it. */
export interface WriteCondition {
  /** Locks the row that says whether the condition holds, until the end of the transaction. */
  readonly lock: TableCall;
  /** Returns a row if the condition does not hold. */
  readonly breach: TableCall;
}

/** The condition did not hold, and nothing was changed. */
export class ConditionBroken extends Error {
  override readonly name = 'ConditionBroken';
}

const conditions = new AsyncLocalStorage<readonly WriteCondition[]>();

/** The conditions of a transaction that begins now. */
export const conditionsNow: () => readonly WriteCondition[] | undefined =
  conditions.getStore.bind(conditions);

/**
 * Makes changes, each in a transaction in which the condition holds. Conditions around this one hold too.
 * @param condition `undefined` for changes that depend on nothing
 * @throws {ConditionBroken} it did not hold
 */
export async function under<T>(condition: WriteCondition | undefined, work: () => Promise<T>): Promise<T> {
  if (condition === undefined) return work();
  try {
    return await conditions.run([...(conditionsNow() ?? []), condition], work);
  } catch (error) {
    // Stores report all that fails inside of a transaction as faults.
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof ConditionBroken) throw cause;
      if ('code' in cause && cause.code === DIVISION_BY_ZERO) throw new ConditionBroken('', { cause });
    }
    throw error;
  }
}

/** SQLSTATE of the statement that PostgreSQL fails in if a condition does not hold. */
const DIVISION_BY_ZERO = '22012';

/**
 * The statements of a condition as one text, which can be sent together with the beginning of a transaction. PostgreSQL
 * fails in the last one if the condition does not hold.
 * @param literal a text as a literal of SQL
 */
export function conditionText({ lock, breach }: WriteCondition, literal: (text: string) => string): string {
  const inlined = ([sql, ...values]: TableCall) =>
    sql.replaceAll(/\$(\d+)/g, (_, number) => {
      const value = values[Number(number) - 1];
      return typeof value === 'string' ? literal(value) : String(value);
    });
  return `${inlined(lock)}; SELECT 1 / (1 - CAST(EXISTS (${inlined(breach)}) AS integer))`;
}

/** That a user is not in a group. The grant of a group locks the same row. */
export function isNoMember(issuer: string, subject: string, group: string): WriteCondition {
  return {
    lock: ['UPDATE grantd.people SET name = name WHERE issuer = $1 AND subject = $2', issuer, subject],
    breach: [
      `SELECT 1 FROM grantd.group_members
      WHERE issuer = $1 AND subject = $2 AND group_name = $3 AND ended_at_ms IS NULL`,
      ...[issuer, subject, group],
    ],
  };
}

/** That a client is as it was read. */
export function isRevision(issuer: string, clientId: string, revision: number): WriteCondition {
  const one = 'issuer_id = (SELECT id FROM grantd.issuers WHERE issuer = $1) AND id = $2';
  return {
    lock: [`UPDATE grantd.clients SET id = id WHERE ${one}`, issuer, clientId],
    breach: [
      `SELECT 1 FROM grantd.clients WHERE ${one} AND coalesce(revision, 0) <> $3`,
      ...[issuer, clientId, revision],
    ],
  };
}

/** SQL: a user is disabled. @param subject the parameter with the user. `$1` is the issuer */
function isDisabled(subject: string): string {
  return `EXISTS (
      SELECT 1 FROM grantd.principals
      WHERE issuer_id = (SELECT id FROM grantd.issuers WHERE issuer = $1) AND kind = 'subject' AND id = ${subject}
        AND disabled_at_ms IS NOT NULL)`;
}

/** Changes of the administrators wait for each other. Each sees what the one before has done. */
function lockOfGroup(issuer: string, group: string): TableCall {
  return [
    'UPDATE grantd.groups SET description = description WHERE issuer = $1 AND name = $2',
    issuer,
    group,
  ];
}

/** That a user, who is a member of a group, cannot sign in. */
export function staysOut(
  issuer: string,
  group: string,
  { subject, ways }: { readonly subject: string; readonly ways: WaysToSignIn },
): WriteCondition {
  const canSignIn = `NOT ${isDisabled('$2')} AND ${hasWay(ways, { subject: '$2', firstLink: 3 })}`;
  return {
    lock: lockOfGroup(issuer, group),
    breach: [`SELECT 1 WHERE ${canSignIn}`, issuer, subject, ...ways.links],
  };
}

/**
 * That a user is a member of a group, is not disabled and has a way to sign in.
 * @param by another user who must be a member too
 */
export function stays(
  issuer: string,
  group: string,
  { subject, ways }: { readonly subject: string; readonly ways: WaysToSignIn },
  by = subject,
): WriteCondition {
  const isMember = (user: string) => `EXISTS (
      SELECT 1 FROM grantd.group_members
      WHERE issuer = $1 AND group_name = $2 AND subject = ${user} AND ended_at_ms IS NULL)`;
  const holds = [
    ...[isMember('$3'), isMember('$4'), `NOT ${isDisabled('$3')}`],
    hasWay(ways, { subject: '$3', firstLink: 5 }),
  ];
  return {
    lock: lockOfGroup(issuer, group),
    breach: [`SELECT 1 WHERE NOT (${holds.join(' AND ')})`, issuer, group, subject, by, ...ways.links],
  };
}
