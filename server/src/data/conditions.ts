// What a change depends on, checked inside the transaction that makes it (ADR 150). A right that is asked for before a
// change may be gone when the change is made.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ClientRecord, EventOrigin } from '@grantd/core';
import { OF_HOST, withParameters } from '@grantd/core/internal/storage/statements';
import { dynamicCall, type RecordedCall, statement, type TableCall } from './tables.ts';
import { hasWay, type WaysToSignIn } from './ways_to_sign_in.ts';

/** A recorded change, and where it comes from. */
interface WriteBesides {
  readonly change: RecordedCall;
  readonly cause: EventOrigin;
}

/** A condition of the transactions that run under it. */
export interface WriteCondition {
  readonly issuer: string;
  /** Locks the row that says whether the condition holds, until the end of the transaction. */
  readonly lock: TableCall;
  /** Returns a row if the condition does not hold. */
  readonly breach: TableCall;
  /** What the same transaction also writes, if the condition holds. A store that then refuses its own part keeps it. */
  readonly writes?: readonly WriteBesides[];
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

/** @returns `broken` if what was read before has changed meanwhile, and nothing else has */
export async function unlessBroken<T>(work: () => Promise<T>): Promise<T | 'broken'> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConditionBroken) return 'broken';
    throw error;
  }
}

/** SQLSTATE of the statement that PostgreSQL fails in if a condition does not hold. */
const DIVISION_BY_ZERO = '22012';

/**
 * The statements of a condition as one text, which can be sent together with the beginning of a transaction. PostgreSQL
 * fails in the second one if the condition does not hold.
 * @param literal a text as a literal of SQL
 * @param textOf the statement of a recorded change, with its events
 */
export function conditionText(
  { issuer, lock, breach, writes = [] }: WriteCondition,
  literal: (text: string) => string,
  textOf: (write: WriteBesides) => string,
): string {
  const inlined = ({ sql, parameters, values }: TableCall) =>
    withParameters(sql, (name) => {
      const value = name === 'issuer' ? issuer : values[parameters.indexOf(name)];
      return typeof value === 'string' ? literal(value) : String(value);
    });
  const check = `${inlined(lock)}; SELECT 1 / (1 - CAST(EXISTS (${inlined(breach)}) AS integer))`;
  return [check, ...writes.map(textOf)].join('; ');
}

/** Changes of what belongs to a user wait for each other. */
export const lockPerson = statement(
  'UPDATE grantd.people SET name = name WHERE issuer = :issuer AND subject = :subject',
);
/** A breach that never is. */
export const nothing = statement('SELECT 1 WHERE 1 = 0');
const membership = statement(`
  SELECT 1 FROM grantd.group_members
  WHERE issuer = :issuer AND subject = :subject AND group_name = :group AND ended_at_ms IS NULL`);
const lockIssuer = statement(OF_HOST.lockIssuer);
const lockClient = statement(OF_HOST.lockClient);
const otherRevision = statement(OF_HOST.isOtherRevision);
const otherGeneration = statement(OF_HOST.isOtherGeneration);
const notAdmitted = statement(
  `SELECT 1 WHERE ${OF_HOST.isDisabled(':subject')} OR EXISTS (${OF_HOST.isOtherGeneration})` as ':subject :clientId :generation',
);
// Changes of the administrators wait for each other. Each sees what the one before has done.
const lockGroup = statement(
  'UPDATE grantd.groups SET description = description WHERE issuer = :issuer AND name = :group',
);

/** That a user is not in a group. The grant of a group locks the same row. */
export function isNoMember(issuer: string, subject: string, group: string): WriteCondition {
  return { issuer, lock: lockPerson({ subject }), breach: membership({ subject, group }) };
}

/** Holds always. Removals lock the issuer before the client, so others that may remove it begin with this. */
export function issuerIsLocked(issuer: string): WriteCondition {
  return { issuer, lock: lockIssuer(), breach: nothing() };
}

/** That a client is as it was read. For a removal, `issuerIsLocked` comes first. */
export function isRevision(issuer: string, clientId: string, revision: number): WriteCondition {
  return { issuer, lock: lockClient({ clientId }), breach: otherRevision({ clientId, revision }) };
}

/** That a client is enabled, and its tokens were not revoked since it was read. */
export function isOfGeneration(
  issuer: string,
  { id: clientId, generation = 0 }: Pick<ClientRecord, 'id' | 'generation'>,
): WriteCondition {
  return { issuer, lock: lockClient({ clientId }), breach: otherGeneration({ clientId, generation }) };
}

/** As `isOfGeneration`, for a user who is enabled too. Locks neither: the store does, when it issues a code for them. */
export function isAdmitted(
  issuer: string,
  { id: clientId, generation = 0 }: Pick<ClientRecord, 'id' | 'generation'>,
  subject: string,
): WriteCondition {
  return { issuer, lock: nothing(), breach: notAdmitted({ clientId, generation, subject }) };
}

/** Differs after each change of a client. The use of a secret is none, although it can renew the hash. */
export function versionOf({
  generation,
  registrationRevision,
  disabledAtMs,
  secrets = [],
}: ClientRecord): string {
  return JSON.stringify([
    ...[generation ?? 0, registrationRevision ?? 0, disabledAtMs ?? null],
    secrets.map(({ createdAtMs, expiresAt }) => [createdAtMs, expiresAt]),
  ]);
}

export function isSameClient(one: ClientRecord, other: ClientRecord): boolean {
  return versionOf(one) === versionOf(other);
}

/** A user with the ways to sign in that count. */
interface UserWithWays {
  readonly subject: string;
  readonly ways: WaysToSignIn;
}

/** That a user, who is a member of a group, cannot sign in. */
export function staysOut(issuer: string, group: string, { subject, ways }: UserWithWays): WriteCondition {
  const { condition, values } = hasWay(ways);
  const breach = `SELECT 1 WHERE NOT ${OF_HOST.isDisabled(':subject')} AND ${condition}`;
  return { issuer, lock: lockGroup({ group }), breach: dynamicCall(breach, { subject, ...values }) };
}

/**
 * That a user is a member of a group, is not disabled and has a way to sign in.
 * @param by another user who must be a member too
 */
export function stays(
  issuer: string,
  group: string,
  { subject, ways }: UserWithWays,
  by = subject,
): WriteCondition {
  const isMember = (user: string) => `EXISTS (
      SELECT 1 FROM grantd.group_members
      WHERE issuer = :issuer AND group_name = :group AND subject = ${user} AND ended_at_ms IS NULL)`;
  const { condition, values } = hasWay(ways);
  const holds = [isMember(':subject'), isMember(':by'), `NOT ${OF_HOST.isDisabled(':subject')}`, condition];
  const breach = `SELECT 1 WHERE NOT (${holds.join(' AND ')})`;
  return {
    issuer,
    lock: lockGroup({ group }),
    breach: dynamicCall(breach, { group, subject, by, ...values }),
  };
}
