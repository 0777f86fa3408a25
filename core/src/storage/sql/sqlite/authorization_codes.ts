import type { AuthorizationCodeRecord } from '../../../protocol/records.ts';
import { canContinue } from '../../continuation.ts';
import type { AuthorizationCodeRepository } from '../../contract.ts';
import type { Issuing } from '../../issuing.ts';
import { latest } from '../../retention.ts';
import { requireSamePrincipals } from '../../ties.ts';
import { CODE_COLUMNS, type CodeRow, toCodeColumns, toCodeRecord } from '../code_rows.ts';
import { STANDING_JOINS } from '../standing.ts';
import { lookUpList, prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Grants } from './grants.ts';
import type { Principals } from './principals.ts';

export const AUTHORIZATION_CODES_SQL = {
  get: `
    SELECT ${CODE_COLUMNS} FROM authorization_codes t ${STANDING_JOINS}
    WHERE t.issuer_id = ? AND t.id = ?`,

  insert: `
    INSERT INTO authorization_codes (issuer_id, id, client_id, redirect_uri, redirect_uri_given, code_challenge,
      scopes, subject, grant_id, session_id, nonce, claims, claims_request, resources, issued_at_ms, expires_at, keep_until,
      client_generation, subject_generation, session_generation, grant_generation)
    VALUES (:issuerId, :id, :client_id, :redirect_uri, :redirect_uri_given, :code_challenge,
      :scopes, :subject, :grant_id, :session_id, :nonce, :claims, :claims_request, :resources, :issued_at_ms, :expires_at, :keep_until,
      (SELECT generation FROM clients WHERE issuer_id = :issuerId AND id = :client_id),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'subject' AND id = :subject),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'session' AND id = :session_id),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'grant' AND id = :grant_id))`,

  redeem: `
    UPDATE authorization_codes SET redeemed_at_ms = :nowMs, keep_until = max(keep_until, :keepUntil)
    WHERE issuer_id = :issuerId AND id = :id AND redeemed_at_ms IS NULL AND revoked_at_ms IS NULL`,

  revoke: `
    UPDATE authorization_codes SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND revoked_at_ms IS NULL`,
};

export function sqliteAuthorizationCodes(
  { database, issuerId, clock, transaction, reads }: SqliteHandle,
  parts: {
    readonly issuing: Issuing;
    readonly grants: Grants;
    readonly principals: Principals;
    readonly events: Events;
  },
): AuthorizationCodeRepository {
  const { issuing, grants, principals, events } = parts;
  const sql = prepareAll(database, AUTHORIZATION_CODES_SQL);

  const codeRow = lookUpList<CodeRow>(sql.get);
  const find = (id: string): AuthorizationCodeRecord | undefined => {
    const row = codeRow(issuerId, id);
    return row && toCodeRecord(row);
  };

  return {
    get: (id) => reads.read(() => find(id)),

    issue(code, { clientGeneration = 0 }) {
      return transaction(() => {
        if (!issuing.admits(code, clientGeneration)) return 'refused';
        principals.keep(code, code.expiresAt);
        sql.insert.run({ issuerId, ...toCodeColumns(code) });
        grants.begin(code);
        return 'issued';
      });
    },

    redeem({ id }, tokens) {
      return transaction(() => {
        const stored = find(id);
        if (stored === undefined) return 'refused';
        if (stored.redeemedAtMs !== undefined) return 'already_redeemed';
        if (!canContinue(stored, clock())) return 'refused';
        requireSamePrincipals(stored, tokens);
        if (!tokens.every((token) => issuing.admits(token))) return 'refused';
        const marked = sql.redeem.run({ issuerId, id, nowMs: clock(), keepUntil: latest(tokens) }).changes;
        if (marked !== 1) throw new Error('a code changed inside the transaction that redeems it');
        issuing.insert(tokens);
        return 'issued';
      });
    },

    revoke({ id, grantId }) {
      return transaction(() => {
        const copied = find(id)?.standing?.grant?.copied;
        if (copied === undefined) return;
        const marked = sql.revoke.run({ issuerId, id, nowMs: clock() }).changes === 1;
        const raised = principals.raiseGrantOnce(grantId, copied);
        if (marked || raised) events.add('code_revoked', id);
      });
    },
  };
}
