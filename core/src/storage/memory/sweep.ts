import { type MemoryHandle, principalKey } from './tables.ts';

/**
 * Deletion of what nothing needs any more.
 * @param eventRetentionSeconds age at which events go
 */
export function memorySweep(
  { tables, clock }: MemoryHandle,
  eventRetentionSeconds: number,
): (limit: number) => number {
  return (limit) => {
    const held = tables();
    const { tokens, authorizationCodes, principals, grants, keys, events } = held;
    const nowMs = clock();
    const isOver = (seconds: number): boolean => seconds * 1000 <= nowMs;

    let swept = 0;
    swept += deleteWhere(tokens, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(authorizationCodes, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(principals, ({ keepUntil }) => isOver(keepUntil), limit);
    swept += deleteWhere(grants, ({ record }) => !principals.has(principalKey('grant', record.id)), limit);
    swept += deleteWhere(held.oneTimeIdentifiers, isOver, limit);
    swept += deleteWhere(held.pushedRequests, ({ expiresAt }) => isOver(expiresAt), limit);

    const signingKeys = new Set([...tokens.values()].map(({ record }) => record.keyId));
    swept += deleteWhere(
      keys,
      ({ record, neededUntil }) =>
        record.status === 'retired' && isOver(neededUntil) && !signingKeys.has(record.kid),
      limit,
    );

    const kept = events.findIndex(({ atMs }) => atMs > nowMs - eventRetentionSeconds * 1000);
    return swept + events.splice(0, Math.min(limit, kept === -1 ? events.length : kept)).length;
  };
}

function deleteWhere<V>(table: Map<string, V>, isSwept: (value: V) => boolean, limit: number): number {
  let deleted = 0;
  for (const [key, value] of table) {
    if (deleted === limit) break;
    if (isSwept(value) && table.delete(key)) deleted += 1;
  }
  return deleted;
}
