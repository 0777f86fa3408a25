// UserInfo. § refers to OpenID Connect Core.

import { sha256 } from '#crypto';
import { requireProofOfToken } from '../confirmation/dpop.ts';
import { readAccessToken } from '../http/bearer.ts';
import { invalidRequest, OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { inParallel } from '../platform/environment.ts';
import {
  type Claims,
  dpopKeyOf,
  permittedClaims,
  permittedNames,
  permittedRequests,
  requestedClaims,
} from '../protocol/claims.ts';
import { hasResource } from '../protocol/client_metadata.ts';
import { underProfile } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Context } from '../request/context.ts';
import { answerJwt, registeredEncryption } from '../tokens/answer_jwt.ts';
import type { FoundToken, OidcContext } from '../tokens/context.ts';
import { confirmationOf, personOf, refused } from '../tokens/state.ts';

/** What UserInfo needs from the server. */
export type UserInfoContext = Pick<
  Context,
  | 'issuer'
  | 'profile'
  | 'accessTokenAlgorithm'
  | 'idTokenAlgorithm'
  | 'storage'
  | 'jwt'
  | 'clientKeys'
  | 'oidc'
  | 'applicationClaims'
  | 'accessTokens'
  | 'userInfoAudiences'
  | 'endpointUrls'
  | 'clock'
  | 'secret'
  | 'dpopAlgorithms'
  | 'dpopNonces'
  | 'dpopProofLifetime'
>;

/** `GET` and `POST /userinfo` (OpenID Connect Core §5.3, errors by RFC 6750 §3; ADR 45). */
export async function userInfo(
  context: UserInfoContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §5.3.1 read the request and check the token
  const oidc = requireOidc(context);
  const credentials = readAccessToken(request, context.dpopAlgorithms.length > 0);
  if (credentials === undefined) {
    throw refused('access_token_missing');
  }
  const { token, scheme } = credentials;
  const certificate = request.clientCertificate && (await sha256(request.clientCertificate.der));
  const found = await context.accessTokens.verify(token, scheme, certificate); // RFC 8705 §3
  call.clientId = found.record.clientId;
  // RFC 9449 §7.1
  const holder = scheme === 'DPoP' ? await requireHolder(context, request, token, found) : undefined;
  requirePermission(context, found);

  // §5.3.2 answer in the client's registered format
  const [claims, client] = await inParallel(
    personalClaims(context, oidc, found),
    async () => holder ?? context.storage.clients.get(found.record.clientId),
  );
  return userInfoResponse(context, claims, client);
}

/**
 * Returns the user's claims that an access token permits, without HTTP. Refuses a bound token, because nothing
 * here proves possession of what it is bound to.
 * @throws {OAuthError} `invalid_token`, `insufficient_scope` (RFC 6750 §3.1)
 * @throws {StorageFault} storage or `getUserClaims` is unavailable
 */
export async function userInfoOf(context: UserInfoContext, token: string): Promise<Claims> {
  const oidc = requireOidc(context);
  const found = await context.accessTokens.verify(token);
  requirePermission(context, found);
  return personalClaims(context, oidc, found);
}

/** Requires that the client proves possession of the token's key. @returns the client, if it still exists */
async function requireHolder(
  context: UserInfoContext,
  request: HttpRequest,
  token: string,
  found: FoundToken,
): Promise<ClientRecord | undefined> {
  const client = await context.storage.clients.get(found.record.clientId);
  const jkt = dpopKeyOf(confirmationOf(found));
  const holder = client ? underProfile(context, client) : {};
  await requireProofOfToken(context, request, holder, { token, jkt, endpoint: 'userInfo' });
  return client;
}

/** Requires that the token has an accepted audience and the scope `openid`. */
function requirePermission({ userInfoAudiences }: UserInfoContext, { record, claims }: FoundToken): void {
  const audiences = [claims.aud].flat().map(String);
  if (userInfoAudiences !== undefined && !audiences.some((item) => hasResource(userInfoAudiences, item)))
    throw new OAuthError('invalid_token', 'the access token is for another audience', {
      reason: 'audience_wrong',
      value: audiences.join(' '),
    });
  if (!record.scopes.includes('openid'))
    throw new OAuthError('insufficient_scope', 'openid scope required', {
      reason: 'scope_openid_missing',
      scope: 'openid',
    });
}

/** Claims by scope, requested claims and application claims. `sub` comes from the token, not from the host. */
async function personalClaims(
  context: UserInfoContext,
  oidc: OidcContext,
  found: FoundToken,
): Promise<Claims> {
  const { getUserClaims, claimsByScope } = oidc;
  const { scopes, claimsRequest } = found.record;
  const person = personOf(found);
  const attributes = person && (await getUserClaims(person.subject));
  if (person === undefined || !attributes) throw refused('no_person');

  const names = permittedNames(scopes, claimsByScope);
  const requests = claimsRequest?.userinfo;
  const { sub: _, ...permitted } = {
    ...permittedClaims(attributes, names),
    ...(requests && requestedClaims(attributes, permittedRequests(requests, names))),
    ...(await context.applicationClaims?.ofResponse('userinfo', found)),
  };
  return { ...permitted, sub: person.sub };
}

/** A host may call the operation although OpenID Connect is off. */
function requireOidc({ oidc }: UserInfoContext): OidcContext {
  if (oidc === undefined) throw invalidRequest('OpenID Connect is not enabled', 'oidc_off', { status: 404 });
  return oidc;
}

/**
 * Answers as JSON, or as a JWT that is signed, encrypted or both, as the client is registered (OpenID Connect Core
 * §5.3.2).
 * @throws {OAuthError} `invalid_request`: the client has no key to encrypt to; `invalid_token`: the client was removed
 */
async function userInfoResponse(
  context: UserInfoContext,
  claims: Claims,
  client: ClientRecord | undefined,
): Promise<HttpResponse> {
  if (client === undefined) {
    throw refused('client_unknown');
  }
  const { metadata = {} } = client;
  const algorithm = metadata.userinfo_signed_response_alg;
  const encryption = registeredEncryption(
    metadata.userinfo_encrypted_response_alg,
    metadata.userinfo_encrypted_response_enc,
  );
  if (algorithm === undefined && encryption === undefined) return jsonResponse(claims);

  const signing = signingOf(context, client);
  const members = signing ? { ...claims, iss: context.issuer, aud: client.id } : claims;
  const body = await answerJwt(context, client, members, { signing, encryption });
  return { status: 200, headers: { 'content-type': 'application/jwt', 'cache-control': 'no-store' }, body };
}

/** How the client is registered, by an algorithm that its profile allows. */
function signingOf(context: UserInfoContext, client: ClientRecord) {
  const algorithm = underProfile(context, client).metadata?.userinfo_signed_response_alg;
  return algorithm && { type: 'JWT', algorithm };
}
