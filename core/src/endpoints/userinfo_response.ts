import type { Claims } from '../protocol/claims.ts';
import { type HttpResponse, jsonResponse } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { answerJwt, registeredEncryption } from '../tokens/answer_jwt.ts';
import type { Context } from './context.ts';

/**
 * The answer of UserInfo in the form that the client is registered for (OpenID Connect Core §5.3.2): JSON, or a JWT that
 * is signed, encrypted, or both.
 * @throws {OAuthError} `invalid_request`: the client has no key to encrypt to; `invalid_token`: it is gone
 */
export async function userInfoResponse(
  context: Context,
  claims: Claims,
  client: ClientRecord | undefined,
): Promise<HttpResponse> {
  if (client === undefined) {
    throw new OAuthError('invalid_token', 'the access token is not valid', { reason: 'client_unknown' });
  }
  const { metadata = {} } = client;
  const algorithm = metadata.userinfo_signed_response_alg;
  const encryption = registeredEncryption(
    metadata.userinfo_encrypted_response_alg,
    metadata.userinfo_encrypted_response_enc,
  );
  if (algorithm === undefined && encryption === undefined) return jsonResponse(claims);

  const signing = algorithm && { type: 'JWT', algorithm };
  const named = signing ? { ...claims, iss: context.issuer, aud: client.id } : claims;
  const body = await answerJwt(context, client, named, { signing, encryption });
  return { status: 200, headers: { 'content-type': 'application/jwt', 'cache-control': 'no-store' }, body };
}
