import type { Context } from '../context.ts';
import { secondsOf } from '../environment.ts';
import { OAuthError, type ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import {
  type Claims,
  type ClaimsRequest,
  permittedClaims,
  permittedNames,
  permittedRequests,
  requestedClaims,
} from '../protocol/claims.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { formatScope } from '../protocol/records.ts';
import type { MintedAccessToken, MintedToken, Person } from '../tokens/access_token.ts';
import { mintIdToken, PROTOCOL_CLAIMS } from '../tokens/id_token.ts';

/** RFC 6749 §5.1. */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope?: string;
  /** OpenID Connect Core §3.1.3.3. */
  readonly id_token?: string;
}

/** What a grant type does for a client that is authenticated and registered for it. */
export type Grant = (
  context: Context,
  client: ClientRecord,
  form: Form,
  call: Call,
) => Promise<TokenResponse>;

/** What was issued together. */
interface IssuedTokens {
  readonly access: MintedToken;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** RFC 6749 §5.1. */
export function tokenResponse(
  context: Context,
  { access, refreshToken, idToken }: IssuedTokens,
): TokenResponse {
  const { record, token } = access;
  return {
    access_token: token,
    token_type: record.tokenType ?? 'Bearer',
    expires_in: record.expiresAt - secondsOf(context.clock()),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(record.scopes.length > 0 && { scope: formatScope(record.scopes) }),
    ...(idToken !== undefined && { id_token: idToken }),
  };
}

/** A refusal of what the client presented (RFC 6749 §5.2). */
export function invalidGrant(description: string, reason: ReasonCode, value?: string): OAuthError {
  return new OAuthError('invalid_grant', description, { reason, value });
}

/** Between the check and the write something was revoked or disabled; nothing was issued. */
export function overtaken(): OAuthError {
  return invalidGrant('the grant is no longer valid', 'issuance_overtaken');
}

/** What an ID token comes along with. */
interface IdTokenOccasion {
  readonly client: ClientRecord;
  /** Absent where the client acts for itself. */
  readonly person: Person | undefined;
  readonly access: MintedAccessToken;
  /** Of the grant. */
  readonly claims: Claims;
  readonly claimsRequest: ClaimsRequest | undefined;
  readonly nonce?: string;
}

/**
 * The ID token beside an access token that was granted `openid` (OpenID Connect Core §3.1.3.3, §12.2), with the claims
 * that the authorization request wants in it, as far as the access token's scopes permit them, and the application's.
 * @returns `undefined` where none is due
 */
export async function idTokenBeside(
  context: Context,
  { client, person, access, claims, claimsRequest, nonce }: IdTokenOccasion,
): Promise<string | undefined> {
  const { scopes } = access.record;
  if (context.oidc === undefined || person === undefined || !scopes.includes('openid')) return undefined;
  const { getUserClaims, claimsByScope } = context.oidc;
  const permitted = permittedNames(scopes, claimsByScope, PROTOCOL_CLAIMS);
  const wanted = permittedRequests(claimsRequest?.id_token, permitted);
  const hasUserClaims = client.metadata?.id_token_user_claims === true;
  const attributes =
    hasUserClaims || Object.keys(wanted).length > 0 ? ((await getUserClaims(person.subject)) ?? {}) : {};
  const byScope = hasUserClaims && permittedClaims(attributes, scopes, claimsByScope, PROTOCOL_CLAIMS);
  const { clientId, subject, grantId, sessionId } = access.record;
  const added = await context.applicationClaims?.ofIdToken({
    ...{ clientId, subject, scopes, audience: [access.audience].flat(), grantId, sessionId },
  });
  return mintIdToken(context, {
    client,
    sub: person.sub,
    accessToken: access.token,
    claims,
    attributes: { ...byScope, ...requestedClaims(attributes, wanted), ...added },
    ...(nonce !== undefined && { nonce }),
  });
}
