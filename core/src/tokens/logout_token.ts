import { secondsOf } from '../protocol/environment.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { TokenContext } from './context.ts';
import { idTokenAlgorithmOf } from './id_token.ts';
import { JWT_TYPES } from './jwt_types.ts';
import { newIdentifier } from './opaque_token.ts';

/** Seconds: what is captured on the way is soon of no use (Back-Channel Logout §4). */
const LOGOUT_TOKEN_LIFETIME = 120;

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token (Back-Channel Logout §2.4): tells a client that a session has ended, in the names that it knows. */
export async function mintLogoutToken(
  context: TokenContext,
  client: ClientRecord,
  { sub, sid }: { readonly sub?: string | undefined; readonly sid: string },
): Promise<string> {
  const iat = secondsOf(context.clock());
  const claims = {
    iss: context.issuer,
    ...(sub !== undefined && { sub }),
    aud: client.id,
    iat,
    exp: iat + LOGOUT_TOKEN_LIFETIME,
    jti: newIdentifier(context.random),
    sid,
    events: { [LOGOUT_EVENT]: {} },
  };
  const algorithm = idTokenAlgorithmOf(context, client);
  return (await context.jwt.sign(claims, { type: JWT_TYPES.logout_token, algorithm })).token;
}
