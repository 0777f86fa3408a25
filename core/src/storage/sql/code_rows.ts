import type { AuthorizationCodeRecord, NewAuthorizationCode } from '../../protocol/records.ts';
import { STANDING_COLUMNS, type StandingRow, standingsOf } from './standing.ts';

/** What a look-up of an authorization code reads; `t` is the code's row. */
export const CODE_COLUMNS = `
  t.id, t.client_id, t.redirect_uri, t.redirect_uri_given, t.code_challenge, t.scopes, t.subject, t.grant_id,
  t.session_id, t.nonce, t.claims, t.claims_request, t.resources, t.issued_at_ms, t.expires_at, t.redeemed_at_ms, t.revoked_at_ms,
  ${STANDING_COLUMNS}`;

export type CodeRow = StandingRow & {
  readonly id: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly redirect_uri_given: number | boolean;
  readonly code_challenge: string | null;
  readonly scopes: string;
  readonly subject: string;
  readonly grant_id: string;
  readonly session_id: string | null;
  readonly nonce: string | null;
  readonly claims: string;
  readonly claims_request: string | null;
  readonly resources: string | null;
  readonly issued_at_ms: number;
  readonly expires_at: number;
  readonly redeemed_at_ms: number | null;
  readonly revoked_at_ms: number | null;
};

export function toCodeRecord(row: CodeRow): AuthorizationCodeRecord {
  return {
    id: row.id,
    clientId: row.client_id,
    redirectUri: row.redirect_uri,
    redirectUriGiven: Boolean(row.redirect_uri_given),
    ...(row.code_challenge !== null && { codeChallenge: row.code_challenge }),
    scopes: JSON.parse(row.scopes),
    subject: row.subject,
    grantId: row.grant_id,
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.nonce !== null && { nonce: row.nonce }),
    claims: JSON.parse(row.claims),
    ...(row.claims_request !== null && { claimsRequest: JSON.parse(row.claims_request) }),
    ...(row.resources !== null && { resources: JSON.parse(row.resources) }),
    issuedAtMs: row.issued_at_ms,
    expiresAt: row.expires_at,
    ...(row.redeemed_at_ms !== null && { redeemedAtMs: row.redeemed_at_ms }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
    ...standingsOf(row),
  };
}

/** What is stored of a new code, by column. */
export function toCodeColumns(code: NewAuthorizationCode) {
  return {
    id: code.id,
    client_id: code.clientId,
    redirect_uri: code.redirectUri,
    redirect_uri_given: Number(code.redirectUriGiven),
    code_challenge: code.codeChallenge ?? null,
    scopes: JSON.stringify(code.scopes),
    subject: code.subject,
    grant_id: code.grantId,
    session_id: code.sessionId ?? null,
    nonce: code.nonce ?? null,
    claims: JSON.stringify(code.claims),
    claims_request: code.claimsRequest === undefined ? null : JSON.stringify(code.claimsRequest),
    resources: code.resources === undefined ? null : JSON.stringify(code.resources),
    issued_at_ms: code.issuedAtMs,
    expires_at: code.expiresAt,
  };
}
