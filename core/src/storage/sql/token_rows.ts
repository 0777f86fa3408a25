import type { NewToken, TokenKind, TokenRecord } from '../../protocol/records.ts';
import { STANDING_COLUMNS, type StandingRow, standingsOf, type Writable } from './standing.ts';

/** What a look-up of a token reads, in the order of `TokenRow`; `t` is the token's row. */
export const TOKEN_COLUMNS = `
  t.id, t.kind, t.digest, t.client_id, t.scopes, t.token_type, t.subject, t.claims, t.claims_request, t.resources,
  t.issued_at_ms, t.expires_at, t.key_id, t.pair_id, t.family_id, t.grant_id, t.session_id, t.superseded_at_ms,
  t.successor_id, t.revoked_at_ms,
  ${STANDING_COLUMNS}`;

/** A list, which is read in half the time that an object takes. */
export type TokenRow = readonly [
  id: string,
  kind: TokenKind,
  digest: string,
  clientId: string,
  scopes: string,
  tokenType: string | null,
  subject: string | null,
  claims: string | null,
  claimsRequest: string | null,
  resources: string | null,
  issuedAtMs: number,
  expiresAt: number,
  keyId: string | null,
  pairId: string | null,
  familyId: string | null,
  grantId: string | null,
  sessionId: string | null,
  supersededAtMs: number | null,
  successorId: string | null,
  revokedAtMs: number | null,
  ...StandingRow,
];

/** What a host or a request makes as long, and of as many parts, as it likes. */
export interface TokenExtent {
  /** Characters. */
  readonly length: number;
  /** Objects, lists, and what they have more than one of: each takes more memory than its text. */
  readonly parts: number;
}

export function extentOf(row: TokenRow): TokenExtent {
  const [, , , , scopes, , subject, claims, claimsRequest, resources, , , , , , , sessionId] = row;
  const json = [scopes, claims, claimsRequest, resources].map((text) => text ?? '');
  return {
    length: [...json, subject, sessionId].reduce((sum, text) => sum + (text?.length ?? 0), 0),
    parts: json.reduce((sum, text) => sum + (text.match(/[[{,]/g)?.length ?? 0), 0),
  };
}

export function toTokenRecord(row: TokenRow): TokenRecord {
  const [
    id,
    kind,
    digest,
    clientId,
    scopes,
    tokenType,
    subject,
    claims,
    claimsRequest,
    resources,
    issuedAtMs,
    expiresAt,
    keyId,
    pairId,
    familyId,
    grantId,
    sessionId,
    supersededAtMs,
    successorId,
    revokedAtMs,
    ...standing
  ] = row;
  const record: Writable<TokenRecord> = {
    id,
    kind,
    digest,
    clientId,
    scopes: JSON.parse(scopes),
    issuedAtMs,
    expiresAt,
    ...standingsOf(standing),
  };
  if (tokenType !== null) record.tokenType = tokenType;
  if (subject !== null) record.subject = subject;
  if (claims !== null) record.claims = JSON.parse(claims);
  if (claimsRequest !== null) record.claimsRequest = JSON.parse(claimsRequest);
  if (resources !== null) record.resources = JSON.parse(resources);
  if (keyId !== null) record.keyId = keyId;
  if (pairId !== null) record.pairId = pairId;
  if (familyId !== null) record.familyId = familyId;
  if (grantId !== null) record.grantId = grantId;
  if (sessionId !== null) record.sessionId = sessionId;
  if (supersededAtMs !== null) record.supersededAtMs = supersededAtMs;
  if (successorId !== null) record.successorId = successorId;
  if (revokedAtMs !== null) record.revokedAtMs = revokedAtMs;
  return record;
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
