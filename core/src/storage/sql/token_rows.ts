import type { NewToken, TokenKind, TokenRecord } from '../../protocol/records.ts';
import { STANDING_COLUMNS, type StandingRow, standingsOf } from './standing.ts';

/** What a look-up of a token reads; `t` is the token's row. */
export const TOKEN_COLUMNS = `
  t.id, t.kind, t.digest, t.client_id, t.scopes, t.token_type, t.subject, t.claims, t.issued_at_ms, t.expires_at,
  t.key_id, t.pair_id, t.family_id, t.grant_id, t.session_id, t.superseded_at_ms, t.successor_id, t.revoked_at_ms,
  t.claims_request, t.resources,
  ${STANDING_COLUMNS}`;

export type TokenRow = StandingRow & {
  readonly id: string;
  readonly kind: TokenKind;
  readonly digest: string;
  readonly client_id: string;
  readonly scopes: string;
  readonly token_type: string | null;
  readonly subject: string | null;
  readonly claims: string | null;
  readonly claims_request: string | null;
  readonly resources: string | null;
  readonly issued_at_ms: number;
  readonly expires_at: number;
  readonly key_id: string | null;
  readonly pair_id: string | null;
  readonly family_id: string | null;
  readonly grant_id: string | null;
  readonly session_id: string | null;
  readonly superseded_at_ms: number | null;
  readonly successor_id: string | null;
  readonly revoked_at_ms: number | null;
};

export function toTokenRecord(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    kind: row.kind,
    digest: row.digest,
    clientId: row.client_id,
    scopes: JSON.parse(row.scopes),
    ...(row.token_type !== null && { tokenType: row.token_type }),
    ...(row.subject !== null && { subject: row.subject }),
    ...(row.claims !== null && { claims: JSON.parse(row.claims) }),
    ...(row.claims_request !== null && { claimsRequest: JSON.parse(row.claims_request) }),
    ...(row.resources !== null && { resources: JSON.parse(row.resources) }),
    issuedAtMs: row.issued_at_ms,
    expiresAt: row.expires_at,
    ...(row.key_id !== null && { keyId: row.key_id }),
    ...(row.pair_id !== null && { pairId: row.pair_id }),
    ...(row.family_id !== null && { familyId: row.family_id }),
    ...(row.grant_id !== null && { grantId: row.grant_id }),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.superseded_at_ms !== null && { supersededAtMs: row.superseded_at_ms }),
    ...(row.successor_id !== null && { successorId: row.successor_id }),
    ...(row.revoked_at_ms !== null && { revokedAtMs: row.revoked_at_ms }),
    ...standingsOf(row),
  };
}

/** What is stored of a new token, by column; its generations are the statement's to copy. */
export function toTokenColumns(token: NewToken) {
  return {
    id: token.id,
    kind: token.kind,
    digest: token.digest,
    client_id: token.clientId,
    scopes: JSON.stringify(token.scopes),
    token_type: token.tokenType ?? null,
    subject: token.subject ?? null,
    claims: token.claims === undefined ? null : JSON.stringify(token.claims),
    claims_request: token.claimsRequest === undefined ? null : JSON.stringify(token.claimsRequest),
    resources: token.resources === undefined ? null : JSON.stringify(token.resources),
    issued_at_ms: token.issuedAtMs,
    expires_at: token.expiresAt,
    keep_until: token.keepUntil,
    key_id: token.keyId ?? null,
    pair_id: token.pairId ?? null,
    family_id: token.familyId ?? null,
    grant_id: token.grantId ?? null,
    session_id: token.sessionId ?? null,
  };
}
