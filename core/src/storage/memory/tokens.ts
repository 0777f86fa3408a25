import type { NewToken, TokenRecord } from '../../protocol/records.ts';
import { outcomeUpon } from '../continuation.ts';
import type { TokenRepository } from '../contract.ts';
import type { Issuing } from '../issuing.ts';
import type { Principals } from './principals.ts';
import type { Revoking } from './revoking.ts';
import { addEvent, type MemoryHandle, type TokenRow } from './tables.ts';

/** What a revocation looks for. */
type Family = Pick<TokenRecord, 'id' | 'pairId' | 'familyId'>;

/**
 * @param parts.tellsRevokedByMethod whether a revoked record is known by `isAccessTokenRevoked` and
 *   `isRefreshTokenRevoked` alone, instead of by its `revokedAtMs`
 */
export function memoryTokens(
  handle: MemoryHandle,
  parts: {
    readonly issuing: Issuing;
    readonly principals: Principals;
    readonly revoking: Revoking;
    readonly tellsRevokedByMethod: boolean;
  },
): TokenRepository {
  const { issuing, principals, revoking, tellsRevokedByMethod } = parts;
  const { tables, clock } = handle;

  const find = (id: string, kind: TokenRecord['kind']): TokenRecord | undefined => {
    const row = tables().tokens.get(id);
    if (row?.record.kind !== kind) return undefined;
    return { ...row.record, ...principals.standingsOf(row.record, row.generations) };
  };

  const show = (record: TokenRecord | undefined): TokenRecord | undefined => {
    if (record === undefined || !tellsRevokedByMethod) return record;
    const { revokedAtMs: _, ...shown } = record;
    return shown;
  };

  const isRevoked = ({ id, kind }: TokenRecord): boolean => {
    const stored = find(id, kind);
    return stored === undefined || stored.revokedAtMs !== undefined || stored.expiresAt === 0;
  };

  // Walks through all tokens: revocation is rare, and an index would cost every issuance.
  const rowsWhere = (matches: (record: TokenRow['record']) => boolean): readonly TokenRow[] =>
    [...tables().tokens.values()].filter(({ record }) => matches(record));

  const pairOf = ({ id, pairId }: Family): readonly TokenRow[] =>
    rowsWhere((record) => record.id === id || (pairId !== undefined && record.pairId === pairId));

  const familyOf = ({ familyId }: Family): readonly TokenRow[] =>
    familyId === undefined ? [] : rowsWhere((record) => record.familyId === familyId);

  /** An access token's way to the refresh token that would bring it back. */
  const currentOfFamily = (token: Family): readonly TokenRow[] =>
    familyOf(token)
      .filter(({ record }) => record.kind === 'refresh_token' && record.supersededAtMs === undefined)
      .flatMap(({ record }) => pairOf(record));

  const outcomeFor = (id: string, tokens: readonly NewToken[]) =>
    outcomeUpon(find(id, 'refresh_token'), tokens, issuing, clock());

  const repository: TokenRepository = {
    getByAccessToken: (id) => show(find(id, 'access_token')),
    getByRefreshToken: (id) => show(find(id, 'refresh_token')),
    isRefreshTokenRevoked: isRevoked,

    revoke(record) {
      const copied = tables().tokens.get(record.id)?.generations.grant;
      let ended = 0;
      if (record.kind === 'access_token') ended += revoking.endTokens(currentOfFamily(record));
      else if (record.grantId !== undefined) ended += revoking.endGrant(record.grantId, copied);
      ended += revoking.endTokens(pairOf(record));
      if (ended > 0) addEvent(handle, 'token_revoked', record.id);
    },

    revokeFamily(record) {
      const ended = revoking.endTokens(familyOf(record)) + revoking.endTokens(pairOf(record));
      if (ended > 0) addEvent(handle, 'family_revoked', record.familyId ?? record.id);
    },

    issue(tokens, { clientGeneration = 0 }) {
      if (!tokens.every((token) => issuing.admits(token, clientGeneration))) return 'refused';
      issuing.insert(tokens);
      return 'issued';
    },

    rotate({ id }, successor, tokens) {
      const row = tables().tokens.get(id);
      const outcome = outcomeFor(id, tokens);
      if (row === undefined || outcome !== 'issued') return outcome;
      issuing.insert(tokens);
      const superseded = { ...row.record, supersededAtMs: clock(), successorId: successor.id };
      tables().tokens.set(id, { ...row, record: superseded });
      return outcome;
    },

    issueBeside({ id }, tokens) {
      const outcome = outcomeFor(id, tokens);
      if (outcome === 'issued') issuing.insert(tokens);
      return outcome;
    },
  };
  return tellsRevokedByMethod ? { ...repository, isAccessTokenRevoked: isRevoked } : repository;
}
