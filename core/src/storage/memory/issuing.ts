import type { Issuing } from '../issuing.ts';
import { requireGrantsBehindTies } from '../ties.ts';
import type { Grants } from './grants.ts';
import type { Principals } from './principals.ts';
import { type MemoryHandle, snapshot } from './tables.ts';

/** The one way in which tokens come into the store. */
export function memoryIssuing({ tables }: MemoryHandle, principals: Principals, grants: Grants): Issuing {
  /** Whatever the key's status: it may have been retired while the token was being signed. */
  const extendKey = (kid: string, keepUntil: number): void => {
    const { keys } = tables();
    const key = keys.get(kid);
    if (key !== undefined) keys.set(kid, { ...key, neededUntil: Math.max(key.neededUntil, keepUntil) });
  };

  return {
    admits({ clientId, subject, issuedAtMs }, clientGeneration) {
      const client = principals.find('client', clientId);
      return (
        client !== undefined &&
        client.disabledAtMs === undefined &&
        (clientGeneration === undefined || client.generation === clientGeneration) &&
        (subject === undefined || principals.find('subject', subject)?.disabledAtMs === undefined) &&
        issuedAtMs >= (tables().notBeforeMs ?? 0)
      );
    },

    insert(tokens) {
      requireGrantsBehindTies(tokens);
      const stored = tables().tokens;
      const ids = new Set(tokens.map((token) => token.id));
      if (ids.size < tokens.length || tokens.some((token) => stored.has(token.id))) {
        throw new Error('a token with this identifier is stored already');
      }
      for (const { keepUntil, ...record } of snapshot(tokens)) {
        const generations = principals.keep(record, keepUntil);
        stored.set(record.id, { record, keepUntil, generations });
        grants.begin(record, generations);
        if (record.keyId !== undefined) extendKey(record.keyId, keepUntil);
      }
    },
  };
}
