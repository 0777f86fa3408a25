import type { Principals } from './principals.ts';
import type { CodeRow, MemoryHandle, Row, TokenRow } from './tables.ts';

/** How a revocation is stored: the three ways that a host may choose from. */
export type RevokeBy = 'flag' | 'deletion' | 'zero_expiry';

export interface Revoking {
  /** Ends the given tokens. @returns how many of them had not ended */
  endTokens(rows: readonly TokenRow[]): number;
  /** @returns whether the code had not ended */
  endCode(row: CodeRow): boolean;
  /**
   * Ends all tokens and codes of a grant.
   * @param copied the generation of the grant as the token or code that led here copied it
   * @returns how much that ended
   */
  endGrant(grantId: string, copied: number | undefined): number;
}

/**
 * @param raisesGrants whether a grant ends by its generation, or else row by row, as with a host that has no
 *   generations
 */
export function memoryRevoking(
  { tables, clock }: MemoryHandle,
  principals: Principals,
  revokeBy: RevokeBy,
  raisesGrants: boolean,
): Revoking {
  const end = <R extends Endable>(table: Map<string, Row<R>>, row: Row<R>): boolean => {
    const { record } = row;
    if (record.revokedAtMs !== undefined || record.expiresAt === 0) return false;
    if (revokeBy === 'deletion') return table.delete(record.id);
    const ended = revokeBy === 'flag' ? { revokedAtMs: clock() } : { expiresAt: 0 };
    table.set(record.id, { ...row, record: { ...record, ...ended } });
    return true;
  };

  const endTokens = (rows: readonly TokenRow[]): number => {
    const { tokens } = tables();
    return rows.filter((row) => end(tokens, row)).length;
  };

  return {
    endTokens,

    endCode(row) {
      return end(tables().authorizationCodes, row);
    },

    endGrant(grantId, copied) {
      if (raisesGrants) return Number(copied !== undefined && principals.raiseGrantOnce(grantId, copied));
      const { tokens, authorizationCodes, grants } = tables();
      grants.delete(grantId);
      const rows = [...tokens.values()].filter(({ record }) => record.grantId === grantId);
      const codes = [...authorizationCodes.values()].filter(({ record }) => record.grantId === grantId);
      return endTokens(rows) + codes.filter((row) => end(authorizationCodes, row)).length;
    },
  };
}

interface Endable {
  readonly id: string;
  readonly expiresAt: number;
  readonly revokedAtMs?: number;
}
