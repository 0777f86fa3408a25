import { bearerOfHeader } from '../../protocol/bearer.ts';
import type { HttpRequest } from '../../protocol/http.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { Context } from '../context.ts';
import { takeOnce } from '../one_time_identifier.ts';
import { type InitialAccess, readInitialAccessToken } from './initial_access_token.ts';
import type { ResolvedRegistration } from './registration_settings.ts';

/**
 * Registration, where it is on. A host may call the operation although nothing is mounted.
 * @throws {OAuthError} with status 404
 */
export function requireRegistration({ registration }: Context): ResolvedRegistration {
  if (registration !== undefined) return registration;
  throw new OAuthError('invalid_request', 'clients cannot register themselves here', {
    status: 404,
    reason: 'registration_off',
  });
}

/**
 * Whether the sender may register a client (RFC 7591 §3).
 * @returns what its token permits, where it is one of this server's
 * @throws {OAuthError} `invalid_token`
 */
export async function requireAdmission(
  context: Context,
  { openTo }: ResolvedRegistration,
  request: HttpRequest,
): Promise<InitialAccess | undefined> {
  if (openTo === 'anyone') return undefined;
  const token = bearerOfHeader(request);
  if (token === undefined) throw refused('access_token_missing');
  if (openTo === 'initial_access_token') {
    const access = await readInitialAccessToken(context, token);
    if (access === undefined) throw refused('initial_access_token_invalid');
    return access;
  }
  if (!(await openTo(token))) throw refused('initial_access_token_invalid');
  return undefined;
}

/**
 * Uses up a token that is for one client. What fails afterwards leaves it used: nobody can register twice with it.
 * @throws {OAuthError} `invalid_token`: it was used before
 */
export async function useAdmission(context: Context, access: InitialAccess | undefined): Promise<void> {
  if (access === undefined || !access.isForOne) return;
  if (!(await takeOnce(context, `initial_access_token ${access.id}`, access.expiresAt)))
    throw refused('initial_access_token_used');
}

function refused(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_token', 'registration needs a valid initial access token', { reason });
}
