import type { AuthorizationCodeRecord, NewAuthorizationCode } from '../../../protocol/records.ts';
import { canContinue } from '../../continuation.ts';
import type { AuthorizationCodeRepository } from '../../contract.ts';
import { latest } from '../../retention.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Issuing } from './issuing.ts';
import type { Principals } from './principals.ts';
import { STANDING_COLUMNS, STANDING_JOINS, type StandingRow, standingsOf } from './standing.ts';

export const AUTHORIZATION_CODES_SQL = {
  get: `
    SELECT t.id, t.client_id, t.redirect_uri, t.redirect_uri_given, t.code_challenge, t.scopes, t.subject, t.grant_id,
      t.session_id, t.nonce, t.claims, t.issued_at_ms, t.expires_at, t.redeemed_at_ms, t.revoked_at_ms,
      ${STANDING_COLUMNS}
    FROM authorization_codes t ${STANDING_JOINS}
    WHERE t.issuer_id = ? AND t.id = ?`,

  insert: `
    INSERT INTO authorization_codes (issuer_id, id, client_id, redirect_uri, redirect_uri_given, code_challenge,
      scopes, subject, grant_id, session_id, nonce, claims, issued_at_ms, expires_at, keep_until,
      client_generation, subject_generation, session_generation, grant_generation)
    VALUES (:issuerId, :id, :clientId, :redirectUri, :redirectUriGiven, :codeChallenge,
      :scopes, :subject, :grantId, :sessionId, :nonce, :claims, :issuedAtMs, :expiresAt, :expiresAt,
      (SELECT generation FROM clients WHERE issuer_id = :issuerId AND id = :clientId),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'subject' AND id = :subject),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'session' AND id = :sessionId),
      (SELECT generation FROM principals WHERE issuer_id = :issuerId AND kind = 'grant' AND id = :grantId))`,

  redeem: `
    UPDATE authorization_codes SET redeemed_at_ms = :nowMs, keep_until = max(keep_until, :keepUntil)
    WHERE issuer_id = :issuerId AND id = :id AND redeemed_at_ms IS NULL AND revoked_at_ms IS NULL`,

  revoke: `
    UPDATE authorization_codes SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND revoked_at_ms IS NULL`,
};

type CodeRow = StandingRow & {
  readonly id: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly redirect_uri_given: number;
  readonly code_challenge: string | null;
  readonly scopes: string;
  readonly subject: string;
  readonly grant_id: string;
  readonly session_id: string | null;
  readonly nonce: string | null;
  readonly claims: string;
  readonly issued_at_ms: number;
  readonly expires_at: number;
  readonly redeemed_at_ms: number | null;
  readonly revoked_at_ms: number | null;
};

export function sqliteAuthorizationCodes(
  { database, issuerId, clock, transaction }: SqliteHandle,
  parts: { readonly issuing: Issuing; readonly principals: Principals; readonly events: Events },
): AuthorizationCodeRepository {
  const { issuing, principals, events } = parts;
  const sql = prepareAll(database, AUTHORIZATION_CODES_SQL);

  const find = (id: string): AuthorizationCodeRecord | undefined => {
    const row = sql.get.get(issuerId, id) as CodeRow | undefined;
    return row && toRecord(row);
  };

  return {
    get: find,

    issue(code, { clientGeneration = 0 }) {
      return transaction(() => {
        if (!issuing.admits(code, clientGeneration)) return 'refused';
        principals.keep(code, code.expiresAt);
        sql.insert.run({ issuerId, ...toParameters(code) });
        return 'issued';
      });
    },

    redeem({ id }, tokens) {
      return transaction(() => {
        const stored = find(id);
        if (stored === undefined) return 'refused';
        if (stored.redeemedAtMs !== undefined) return 'already_redeemed';
        if (!canContinue(stored, clock())) return 'refused';
        if (!tokens.every((token) => issuing.admits(token))) return 'refused';
        const marked = sql.redeem.run({ issuerId, id, nowMs: clock(), keepUntil: latest(tokens) }).changes;
        if (marked !== 1) throw new Error('a code changed inside the transaction that redeems it');
        issuing.insert(tokens);
        return 'issued';
      });
    },

    revoke({ id, grantId }) {
      transaction(() => {
        const copied = find(id)?.standing?.grant?.copied;
        if (copied === undefined) return;
        const marked = sql.revoke.run({ issuerId, id, nowMs: clock() }).changes === 1;
        const raised = principals.raiseGrantOnce(grantId, copied);
        if (marked || raised) events.add('code_revoked', id);
      });
    },
  };
}

function toRecord(row: CodeRow): AuthorizationCodeRecord {
  return {
    id: row.id,
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    redirectUriGiven: row.redirect_uri_given === 1,
    ...(row.code_challenge !== null && { codeChallenge: row.code_challenge }),
    scopes: JSON.parse(row.scopes),
    subject: row.subject,
    grantId: row.grant_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.nonce !== null && { nonce: row.nonce }),
    claims: JSON.parse(row.claims),
    issuedAtMs: row.issued_at_ms,
    expiresAt: row.expires_at,
    ...(row.redeemed_at_ms !== null && { redeemedAtMs: row.redeemed_at_ms }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
    ...standingsOf(row),
  };
}

function toParameters(code: NewAuthorizationCode) {
  return {
    id: code.id,
    clientId: code.clientId,
    redirectUri: code.redirectUri,
    redirectUriGiven: Number(code.redirectUriGiven),
    codeChallenge: code.codeChallenge ?? null,
    scopes: JSON.stringify(code.scopes),
    subject: code.subject,
    grantId: code.grantId,
    sessionId: code.sessionId ?? null,
    nonce: code.nonce ?? null,
    claims: JSON.stringify(code.claims),
    issuedAtMs: code.issuedAtMs,
    expiresAt: code.expiresAt,
  };
}
