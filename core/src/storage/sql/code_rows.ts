import type { AuthorizationCodeRecord, NewAuthorizationCode } from '../../protocol/records.ts';
import { EXPIRED_CODE_SECONDS } from '../retention.ts';
import { STANDING_COLUMNS, type StandingRow, standingsOf } from './standing.ts';

/** What a look-up of an authorization code reads, in the order of `CodeRow`; `t` is the code's row. */
export const CODE_COLUMNS = `
  t.id, t.client_id, t.redirect_uri, t.redirect_uri_given, t.code_challenge, t.scopes, t.subject, t.grant_id,
  t.session_id, t.nonce, t.claims, t.claims_request, t.resources, t.issued_at_ms, t.expires_at, t.redeemed_at_ms, t.revoked_at_ms,
  ${STANDING_COLUMNS}`;

/** In the order of `CODE_COLUMNS`. */
export type CodeRow = readonly [
  id: string,
  clientId: string,
  redirectUri: string,
  redirectUriGiven: number | boolean,
  codeChallenge: string | null,
  scopes: string,
  subject: string,
  grantId: string,
  sessionId: string | null,
  nonce: string | null,
  claims: string,
  claimsRequest: string | null,
  resources: string | null,
  issuedAtMs: number,
  expiresAt: number,
  redeemedAtMs: number | null,
  revokedAtMs: number | null,
  ...StandingRow,
];

export function toCodeRecord(row: CodeRow): AuthorizationCodeRecord {
  const [
    id,
    clientId,
    redirectUri,
    redirectUriGiven,
    codeChallenge,
    scopes,
    subject,
    grantId,
    sessionId,
    nonce,
    claims,
    claimsRequest,
    resources,
    issuedAtMs,
    expiresAt,
    redeemedAtMs,
    revokedAtMs,
    ...standing
  ] = row;
  return {
    id,
    clientId,
    redirectUri,
    redirectUriGiven: Boolean(redirectUriGiven),
    ...(codeChallenge !== null && { codeChallenge }),
    scopes: JSON.parse(scopes),
    subject,
    grantId,
    ...(sessionId !== null && { sessionId }),
    ...(nonce !== null && { nonce }),
    claims: JSON.parse(claims),
    ...(claimsRequest !== null && { claimsRequest: JSON.parse(claimsRequest) }),
    ...(resources !== null && { resources: JSON.parse(resources) }),
    issuedAtMs,
    expiresAt,
    ...(redeemedAtMs !== null && { redeemedAtMs }),
    ...(revokedAtMs !== null && { revokedAtMs }),
    ...standingsOf(standing),
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
    keep_until: code.expiresAt + EXPIRED_CODE_SECONDS,
  };
}
