import type { Explanation, RevocationResult, RevocationTarget } from '@grantd/core';
import type { Person } from '../data/people.ts';
import { requireClient } from './clients.ts';
import { InvalidInput, type OperationParts } from './operation.ts';
import { endSessionsOf } from './people.ts';

/** Explains what a token is and whether it is active. */
export async function explainToken(
  parts: Pick<OperationParts, 'server'>,
  token: string,
): Promise<Explanation> {
  return (await parts.server()).operator.explainToken(token);
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
  if ('issuedBeforeMs' in wanted && wanted.issuedBeforeMs > Date.now())
    throw new InvalidInput('issued_before', 'expected a time that is not in the future');
  const alive = counts || isDryRun ? await parts.storage.countAlive(target) : undefined;
  if (isDryRun) return { revoked: false, alive };
  const revoked = await parts.storage.revokeAll(target);
  if ('person' in wanted) await endSessionsOf(parts, wanted.person);
  return { revoked, alive };
}

function targetOf(wanted: MassRevocation): RevocationTarget {
  if ('person' in wanted) return { principal: 'subject', id: wanted.person.subject };
  if ('clientId' in wanted) return { principal: 'client', id: wanted.clientId };
  return 'grantId' in wanted ? { principal: 'grant', id: wanted.grantId } : wanted;
}
