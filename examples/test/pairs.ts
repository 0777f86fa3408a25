import { randomUUID } from 'node:crypto';
import type { AuthorizingStorage, NewToken, TokenRecord } from '@grantd/core';

/** The client of all these pairs. */
export const CLIENT_ID = 'app';

/** A refresh token with an access token, in the form that a store receives. */
export interface Pair {
  readonly refresh: NewToken;
  readonly access: NewToken;
}

const LIFETIME = 3600;

function tokenOf(
  kind: NewToken['kind'],
  ties: Pick<NewToken, 'subject' | 'grantId' | 'familyId' | 'pairId'>,
  nowMs: number,
): NewToken {
  const expiresAt = Math.floor(nowMs / 1000) + LIFETIME;
  const times = { issuedAtMs: nowMs, expiresAt, keepUntil: expiresAt };
  return { id: randomUUID(), kind, digest: randomUUID(), clientId: CLIENT_ID, scopes: [], ...ties, ...times };
}

/**
 * The first pair of a grant.
 * @param nowMs milliseconds
 */
export function pairOf(subject: string, nowMs = Date.now()): Pair {
  return pairIn({ subject, grantId: randomUUID(), familyId: randomUUID() }, nowMs);
}

/**
 * Another pair of a family.
 * @param nowMs milliseconds
 */
export function pairIn(
  { subject = '', grantId = '', familyId = '' }: Pick<NewToken, 'subject' | 'grantId' | 'familyId'>,
  nowMs = Date.now(),
): Pair {
  const ties = { subject, grantId, familyId, pairId: randomUUID() };
  return { refresh: tokenOf('refresh_token', ties, nowMs), access: tokenOf('access_token', ties, nowMs) };
}

/** Identifiers of the live tokens. */
export async function aliveOf(
  { tokens }: AuthorizingStorage,
  ...pairs: readonly Pair[]
): Promise<readonly string[]> {
  const alive: string[] = [];
  for (const { refresh, access } of pairs) {
    if (isAlive(await tokens.getByRefreshToken(refresh.id))) alive.push(refresh.id);
    if (isAlive(await tokens.getByAccessToken(access.id))) alive.push(access.id);
  }
  return alive;
}

function isAlive(record: TokenRecord | null | undefined): boolean {
  const standings = Object.values(record?.standing ?? {});
  return (
    record?.id !== undefined &&
    record.revokedAtMs === undefined &&
    standings.every(({ copied, current, disabledAtMs }) => copied >= current && disabledAtMs === undefined)
  );
}
