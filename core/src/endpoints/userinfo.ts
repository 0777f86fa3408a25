import { readBearerToken } from '../protocol/bearer.ts';
import { type Claims, permittedClaims, permittedNames } from '../protocol/claims.ts';
import type { HttpRequest, HttpResponse } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import { permittedRequests, requestedClaims } from '../protocol/requested_claims.ts';
import type { Call, Context, OidcContext } from './context.ts';
import { userInfoResponse } from './userinfo_response.ts';

/** `GET` and `POST /userinfo` (OpenID Connect Core §5.3, errors by RFC 6750 §3). */
export async function userInfo(context: Context, request: HttpRequest, call: Call): Promise<HttpResponse> {
  // §5.3.1 the request
  requireOidc(context);
  const token = readBearerToken(request);
  if (token === undefined) {
    throw new OAuthError('invalid_token', 'the access token is missing', { reason: 'access_token_missing' });
  }

  // §5.3.2 the answer
  return userInfoResponse(context, await userInfoOf(context, token, call), call);
}

/**
 * The claims of the person that an access token was issued for, within its scopes, without HTTP.
 * @throws {OAuthError} `invalid_token`, `insufficient_scope` (RFC 6750 §3.1)
 * @throws {StorageFault} storage or the source of the claims could not be asked
 */
export async function userInfoOf(
  context: Context,
  token: string,
  call: Call = { operation: 'userinfo' },
): Promise<Claims> {
  const { getUserClaims, claimsByScope } = requireOidc(context);
  const { record, claims } = await context.accessTokens.verify(token);
  call.clientId = record.clientId;
  if (!record.scopes.includes('openid')) {
    throw new OAuthError('insufficient_scope', 'openid scope required', {
      reason: 'scope_openid_missing',
      scope: 'openid',
    });
  }
  const attributes = record.subject === undefined ? undefined : await getUserClaims(record.subject);
  if (!attributes)
    throw new OAuthError('invalid_token', 'the access token has no user', { reason: 'no_person' });

  // The subject is the token's own, whatever the attributes say.
  const { scopes, claimsRequest } = record;
  const asked = permittedRequests(claimsRequest?.userinfo, permittedNames(scopes, claimsByScope));
  const { sub: _, ...permitted } = {
    ...permittedClaims(attributes, scopes, claimsByScope),
    ...requestedClaims(attributes, asked),
  };
  return { ...permitted, sub: claims.sub ?? record.subject };
}

/** A host may call the operation although nothing is mounted. */
function requireOidc({ oidc }: Context): OidcContext {
  if (oidc !== undefined) return oidc;
  throw new OAuthError('invalid_request', 'OpenID Connect is not enabled', {
    status: 404,
    reason: 'oidc_off',
  });
}
