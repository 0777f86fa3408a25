import { isConfidential } from '../protocol/authentication_method.ts';
import { secondsOf } from '../protocol/environment.ts';
import { type HttpRequest, type HttpResponse, headerValue } from '../protocol/http.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import { qualityOf } from '../protocol/preferences.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { answerJwt, registeredEncryption } from '../tokens/answer_jwt.ts';
import type { Context } from './context.ts';

const JWT_MEDIA_TYPE = 'application/token-introspection+jwt';

/**
 * Who gets the answer as a JWT: whoever asks for that, and whoever is registered for it, whatever it asks for
 * (RFC 9701 §4, §8.2).
 * @returns `undefined` where the answer is JSON
 * @throws {OAuthError} `invalid_request`: nobody is authenticated (§5)
 */
export function jwtRecipient(
  request: HttpRequest,
  caller: ClientRecord | undefined,
): ClientRecord | undefined {
  const { introspection_signed_response_alg: signing, introspection_encrypted_response_alg: encryption } =
    caller?.metadata ?? {};
  const isRegistered = signing !== undefined || encryption !== undefined;
  const accept = headerValue(request, 'accept');
  if (!isRegistered && (accept === undefined || !prefersJwt(accept))) return undefined;
  if (caller !== undefined && isConfidential(caller)) return caller;
  throw new OAuthError('invalid_request', 'a JWT is answered to authenticated clients only', {
    reason: 'answer_not_authenticated',
    clientId: caller?.id,
  });
}

function prefersJwt(accept: string): boolean {
  const quality = qualityOf(JWT_MEDIA_TYPE, accept);
  return quality > 0 && quality >= qualityOf('application/json', accept);
}

/**
 * The answer of introspection as a JWT for its recipient (RFC 9701 §5). What is about the token stays in a member of its
 * own, and there is neither `sub` nor `exp`: the answer cannot be taken for a token.
 */
export async function introspectionJwtResponse(
  context: Context,
  result: object,
  recipient: ClientRecord,
): Promise<HttpResponse> {
  const { metadata = {} } = recipient;
  const claims = {
    iss: context.issuer,
    aud: recipient.id,
    iat: secondsOf(context.clock()),
    token_introspection: result,
  };
  const body = await answerJwt(context, recipient, claims, {
    signing: {
      type: 'token-introspection+jwt',
      algorithm: metadata.introspection_signed_response_alg ?? 'RS256',
    },
    encryption: registeredEncryption(
      metadata.introspection_encrypted_response_alg,
      metadata.introspection_encrypted_response_enc,
    ),
  });
  return { status: 200, headers: { 'content-type': JWT_MEDIA_TYPE, 'cache-control': 'no-store' }, body };
}
