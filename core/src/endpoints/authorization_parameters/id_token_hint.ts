import { OAuthError } from '../../protocol/oauth_error.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type { Context } from '../context.ts';

/**
 * Whom an ID token of this server speaks of, as its client was told; also one that has expired, since it only names the
 * person whom the client means (OpenID Connect Core §3.1.2.1).
 * @throws {OAuthError} `invalid_request`: no ID token of this server, or one for another client
 */
export async function subjectOfHint(
  { jwt, issuer }: Context,
  client: Pick<ClientRecord, 'id'>,
  hint: string,
): Promise<string> {
  const verified = await jwt.verify(hint);
  // Its times tell it from the server's other JWTs of this type: an answer of UserInfo has none.
  if (verified.verified && verified.type === 'jwt') {
    const { iss, sub, aud, exp, iat } = verified.claims;
    const isIdToken = iss === issuer && typeof exp === 'number' && typeof iat === 'number';
    const isForClient = aud === client.id || (Array.isArray(aud) && aud.includes(client.id));
    if (isIdToken && isForClient && typeof sub === 'string') return sub;
  }
  throw new OAuthError('invalid_request', 'the id_token_hint is not valid', {
    reason: 'id_token_hint_wrong',
  });
}
