import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import { readIdTokenHint } from '../../../tokens/id_token_hint.ts';
import type { Context } from '../../context.ts';

/**
 * Whom an ID token of this server speaks of, as its client was told (OpenID Connect Core §3.1.2.1).
 * @throws {OAuthError} `invalid_request`: no ID token of this server, or one for another client
 */
export async function subjectOfHint(
  context: Context,
  client: Pick<ClientRecord, 'id'>,
  token: string,
): Promise<string> {
  const hint = await readIdTokenHint(context, token);
  if (hint?.clientId === client.id) return hint.sub;
  throw new OAuthError('invalid_request', 'the id_token_hint is not valid', {
    reason: 'id_token_hint_wrong',
  });
}
