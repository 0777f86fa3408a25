import type { NewToken, TokenRecord } from '../../../protocol/records.ts';
import { outcomeUpon } from '../../continuation.ts';
import type { TokenRepository } from '../../contract.ts';
import type { Issuing } from '../../issuing.ts';
import { STANDING_JOINS } from '../standing.ts';
import { extentOf, TOKEN_COLUMNS, type TokenRow, toTokenRecord } from '../token_rows.ts';
import { lookUpList, prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Grants } from './grants.ts';
import type { Principals } from './principals.ts';
import { RememberedTokens } from './remembered_tokens.ts';

export const TOKENS_SQL = {
  accessToken: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${STANDING_JOINS}
    WHERE t.issuer_id = ? AND t.id = ? AND t.kind = 'access_token'`,

  refreshToken: `
    SELECT ${TOKEN_COLUMNS} FROM tokens t ${STANDING_JOINS}
    WHERE t.issuer_id = ? AND t.id = ? AND t.kind = 'refresh_token'`,

  supersede: `
    UPDATE tokens SET superseded_at_ms = :nowMs, successor_id = :successorId
    WHERE issuer_id = :issuerId AND id = :id AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL`,

  revoke: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND revoked_at_ms IS NULL`,

  revokePair: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND pair_id = :pairId AND revoked_at_ms IS NULL`,

  revokeFamily: `
    UPDATE tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND family_id = :familyId AND revoked_at_ms IS NULL`,

  // Revoked ones too: an earlier attempt may have ended the refresh token and not its pair.
  currentOfFamily: `
    SELECT id, pair_id FROM tokens
    WHERE issuer_id = :issuerId AND family_id = :familyId AND kind = 'refresh_token' AND superseded_at_ms IS NULL`,
};

/** A refresh token's row as far as revocation by way of its family needs it. */
type CurrentRow = { readonly id: string; readonly pair_id: string | null };

export function sqliteTokens(
  { database, issuerId, clock, transaction, reads }: SqliteHandle,
  parts: {
    readonly issuing: Issuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly events: Events;
    /** Access tokens that are cached at most. */
    readonly cachedTokens: number;
  },
): TokenRepository {
  const { issuing, grants, principals, events, cachedTokens } = parts;
  const sql = prepareAll(database, TOKENS_SQL);

  const accessTokenRow = lookUpList<TokenRow>(sql.accessToken);
  const refreshTokenRow = lookUpList<TokenRow>(sql.refreshToken);
  const remembered = new RememberedTokens(reads, events, { clock, limit: cachedTokens });
  const recordOf = (row: TokenRow | undefined) => row && toTokenRecord(row);
  const findAccessToken = (id: string): TokenRecord | undefined => {
    const row = accessTokenRow(issuerId, id);
    if (row === undefined) return undefined;
    const record = toTokenRecord(row);
    remembered.add(id, record, extentOf(row));
    return record;
  };
  const findRefreshToken = (id: string) => recordOf(refreshTokenRow(issuerId, id));

  const outcomeFor = (id: string, tokens: readonly NewToken[]) =>
    outcomeUpon(findRefreshToken(id), tokens, issuing, clock());

  /** @returns how many tokens that ended */
  const revokePair = (id: string, pairId: string | undefined | null): number => {
    const itself = sql.revoke.run({ issuerId, id, nowMs: clock() }).changes;
    if (pairId === undefined || pairId === null) return Number(itself);
    return Number(itself) + Number(sql.revokePair.run({ issuerId, pairId, nowMs: clock() }).changes);
  };

  const revokeFamily = (familyId: string): number =>
    Number(sql.revokeFamily.run({ issuerId, familyId, nowMs: clock() }).changes);

  /** An access token's way to the refresh token that would bring it back. */
  const revokeCurrentOfFamily = (familyId: string): number => {
    const rows = sql.currentOfFamily.all({ issuerId, familyId }) as CurrentRow[];
    return rows.reduce((count, row) => count + revokePair(row.id, row.pair_id), 0);
  };

  /** RFC 7009 §2.1: with a refresh token go all tokens of its grant. @returns how much that ended */
  const revokeGrant = (id: string, grantId: string): number => {
    const copied = findRefreshToken(id)?.standing?.grant?.copied;
    return Number(copied !== undefined && principals.raiseGrantOnce(grantId, copied));
  };

  return {
    getByAccessToken: (id) => reads.read(() => remembered.get(id) ?? findAccessToken(id)),
    getByRefreshToken: (id) => reads.read(() => findRefreshToken(id)),

    isRefreshTokenRevoked(record) {
      return record.revokedAtMs !== undefined;
    },

    revoke({ id, kind, pairId, familyId, grantId }) {
      return transaction(() => {
        let ended = revokePair(id, pairId);
        if (kind === 'refresh_token' && grantId !== undefined) ended += revokeGrant(id, grantId);
        if (kind === 'access_token' && familyId !== undefined) ended += revokeCurrentOfFamily(familyId);
        if (ended > 0) events.add('token_revoked', id);
      });
    },

    revokeFamily({ id, pairId, familyId }) {
      return transaction(() => {
        const ended = revokePair(id, pairId) + (familyId === undefined ? 0 : revokeFamily(familyId));
        if (ended > 0) events.add('family_revoked', familyId ?? id);
      });
    },

    issue(tokens, { clientGeneration = 0 }) {
      return transaction(() => {
        if (!tokens.every((token) => issuing.admits(token, clientGeneration))) return 'refused';
        issuing.insert(tokens);
        for (const token of tokens) grants.begin(token);
        return 'issued';
      });
    },

    rotate({ id }, successor, tokens) {
      return transaction(() => {
        const outcome = outcomeFor(id, tokens);
        if (outcome !== 'issued') return outcome;
        const marked = sql.supersede.run({ issuerId, id, nowMs: clock(), successorId: successor.id }).changes;
        if (marked !== 1) throw new Error('a refresh token changed inside the transaction that rotates it');
        issuing.insert(tokens);
        return outcome;
      });
    },

    issueBeside({ id }, tokens) {
      return transaction(() => {
        const outcome = outcomeFor(id, tokens);
        if (outcome === 'issued') issuing.insert(tokens);
        return outcome;
      });
    },
  };
}
