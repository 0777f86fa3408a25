import type { NewToken } from '../../protocol/records.ts';
import { requireGrantBehindTies } from '../ties.ts';
import type { Grants } from './grants.ts';
import type { Principals } from './principals.ts';
import { type MemoryHandle, snapshot } from './tables.ts';

/** What is about to be issued, as far as it matters for whether it may be. */
export interface Candidate {
  readonly clientId: string;
  readonly subject?: string;
  /** Milliseconds. */
  readonly issuedAtMs: number;
}

export interface Issuing {
  /**
   * Whether a token or code may be issued: its client is there, nobody concerned is disabled, and it would not be
   * dead at birth.
   * @param clientGeneration what the client's generation must still be, where the caller read it before
   */
  admits(candidate: Candidate, clientGeneration?: number): boolean;
  /**
   * Stores tokens with the present generations of their principals; where this throws, none of them.
   * @throws Error where an identifier is taken
   * @throws {TypeError} a token is tied to others without a grant
   */
  insert(tokens: readonly NewToken[]): void;
}

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
      requireGrantBehindTies(tokens);
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
