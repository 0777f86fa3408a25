import type { EventType, Explanation, RevocationResult, RevocationTarget } from '@grantd/core';
import type { AuditEvent } from '../data/audit.ts';
import type { Person } from '../data/people.ts';
import { requireClient } from './clients.ts';
import { InvalidInput, type OperationParts } from './operation.ts';
import { endAccess } from './people.ts';

/** Explains what a token is and whether it is active. */
export async function explainToken(
  parts: Pick<OperationParts, 'server'>,
  token: string,
): Promise<Explanation> {
  return (await parts.server()).operator.explainToken(token);
}

/** The events that can make a token inactive, by the reason that its explanation gives. */
const ENDINGS: Readonly<Partial<Record<NonNullable<Explanation['reason']>, readonly EventType[]>>> = {
  revoked: ['token_revoked', 'family_revoked', 'code_revoked'],
  grant_revoked: ['grant_revoked', 'token_revoked', 'code_revoked'],
  session_revoked: ['session_revoked', 'session_ended'],
  subject_revoked: ['subject_revoked', 'subject_disabled'],
  subject_disabled: ['subject_disabled'],
  client_revoked: ['client_revoked', 'client_disabled'],
  client_disabled: ['client_disabled'],
  issued_before_cutoff: ['issued_before_revoked'],
};

/** Milliseconds by which the time of an event may differ from the time that is stored with the token. */
const SAME_MOMENT_MS = 1000;

/** About how many events to read for the end of a token. */
const MAX_EVENTS_READ = 20_000;

/**
 * Finds the event that has made a token inactive.
 * @returns `undefined` if it is not among the latest events, or if several could be it
 */
export async function endOf(
  { auditTrail }: Pick<OperationParts, 'auditTrail'>,
  { reason, sinceMs, record }: Explanation,
): Promise<AuditEvent | undefined> {
  const types = reason && ENDINGS[reason];
  if (types === undefined || sinceMs === undefined || record === undefined) return undefined;
  // A cutoff can be earlier than the command that sets it.
  const untilMs = reason === 'issued_before_cutoff' ? undefined : sinceMs + SAME_MOMENT_MS;
  const found: AuditEvent[] = [];
  const times = { sinceMs: sinceMs - SAME_MOMENT_MS, untilMs };
  for await (const event of auditTrail.before(undefined, times, MAX_EVENTS_READ))
    if (types.includes(event.type)) found.push(event);
  const { id, pairId, familyId, grantId, sessionId, subject, clientId } = {
    ...{ pairId: undefined, familyId: undefined },
    ...record,
  };
  const targets = [id, pairId, familyId, grantId, sessionId, subject, clientId, String(sinceMs)];
  const named = found.find(({ target }) => targets.includes(target));
  if (named !== undefined) return named;
  // The revocation of another token of the grant can have ended this one too.
  const distanceOf = ({ atMs }: AuditEvent) => Math.abs(atMs - sinceMs);
  const [closest, next] = found
    .filter((one) => one.clientId === clientId && one.subject === subject)
    .toSorted((one, other) => distanceOf(one) - distanceOf(other));
  const isClear = closest !== undefined && (next === undefined || distanceOf(closest) < distanceOf(next));
  return isClear ? closest : undefined;
}

interface RevokedToken extends Pick<RevocationResult, 'revoked'> {
  readonly result: RevocationResult | undefined;
  readonly before: Explanation;
}

/** Revokes a token. @param isDryRun only explains it */
export async function revokeToken(
  parts: Pick<OperationParts, 'server'>,
  token: string,
  isDryRun: boolean,
): Promise<RevokedToken> {
  const server = await parts.server();
  const before = await server.operator.explainToken(token);
  if (isDryRun) return { before, result: undefined, revoked: false };
  // Only the hint finds a code. Other tokens are found without a hint.
  const order = before.kind === 'authorization_code' ? ({ hint: 'auth_code' } as const) : {};
  const result = await server.revokeToken(token, order);
  return { before, result, revoked: result.revoked };
}

/** The tokens that one revocation ends. */
export type MassRevocation =
  /** The sessions of the user also end. */
  | { readonly person: Person }
  | { readonly clientId: string }
  | { readonly grantId: string }
  | { readonly issuedBeforeMs: number };

interface MassRevocationOptions {
  /** Counts the live tokens first. Reads all rows. */
  readonly counts: boolean;
  readonly isDryRun: boolean;
}

interface RevokedTokens {
  readonly revoked: boolean;
  /** The number of live tokens before, if counted. */
  readonly alive: number | undefined;
}

/**
 * Revokes all tokens of a user, client or grant, or all that were issued before a time.
 * @throws {OperationRefused} there is no such client
 * @throws {InvalidInput} the time is in the future, and would also revoke tokens that are issued until then
 */
export async function revokeAll(
  parts: OperationParts,
  wanted: MassRevocation,
  { counts, isDryRun }: MassRevocationOptions,
): Promise<RevokedTokens> {
  const target = targetOf(wanted);
  if ('clientId' in wanted) await requireClient(parts, wanted.clientId);
  if ('issuedBeforeMs' in wanted && wanted.issuedBeforeMs > parts.clock())
    throw new InvalidInput('issued_before', 'expected a time that is not in the future');
  const alive = counts || isDryRun ? await parts.storage.countAlive(target) : undefined;
  if (isDryRun) return { revoked: false, alive };
  const { revoked } =
    'person' in wanted
      ? await endAccess(parts, wanted.person)
      : { revoked: await parts.storage.revokeAll(target) };
  return { revoked, alive };
}

function targetOf(wanted: MassRevocation): RevocationTarget {
  if ('person' in wanted) return { principal: 'subject', id: wanted.person.subject };
  if ('clientId' in wanted) return { principal: 'client', id: wanted.clientId };
  return 'grantId' in wanted ? { principal: 'grant', id: wanted.grantId } : wanted;
}
