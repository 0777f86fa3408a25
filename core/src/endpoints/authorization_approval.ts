import { sha256 } from '#hashing';
import { secondsOf } from '../protocol/environment.ts';
import type { HttpResponse } from '../protocol/http.ts';
import type { ReasonCode } from '../protocol/reasons.ts';
import { newIdentifier, newOpaque } from '../tokens/opaque_token.ts';
import { subjectLife } from '../tokens/state.ts';
import type { AuthorizationRequest } from './authorization_request.ts';
import { grantedAuthorization, refusedAuthorization } from './authorization_response.ts';
import type { Context } from './context.ts';

/** What a person approved, and how they signed in. */
export interface Approval {
  /** The host's own identifier of the person. */
  readonly subject: string;
  /** What was approved of the request's scopes; all of them where this is absent. */
  readonly scopes?: readonly string[];
  /** Readable name, for introspection. */
  readonly username?: string;
  /** Seconds: when the person signed in; needed where the request has `maxAge`. */
  readonly authTime?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  readonly sessionId?: string;
}

/**
 * Second step: the person approved. The code is durable once this has resolved.
 * @throws {OAuthError} `access_denied` with `redirectTo`: the person or client was disabled meanwhile
 */
export async function completeAuthorization(
  context: Context,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<HttpResponse> {
  const { client, redirectUri, redirectUriGiven, codeChallenge, nonce } = request;
  const { subject, username, authTime, acr, amr, sessionId, scopes = request.scopes } = approval;
  if (request.maxAge !== undefined && authTime === undefined) {
    throw new TypeError('a request with max_age is approved with the time of sign-in');
  }
  if (!scopes.every((scope) => request.scopes.includes(scope))) {
    throw new TypeError('only scopes of the request can be approved');
  }
  const code = newOpaque('authorization_code', context.random);
  const issuedAtMs = context.clock();
  const refuse = (reason: ReasonCode) =>
    refusedAuthorization(context, request, 'access_denied', 'the authorization is void', reason);
  const life = await subjectLife(context, subject);
  if (!life.alive) throw refuse(life.reason);
  const outcome = await context.storage.authorizationCodes.issue(
    {
      id: await sha256(code),
      clientId: client.id,
      redirectUri,
      redirectUriGiven,
      scopes,
      subject,
      grantId: newIdentifier(context.random),
      claims: {
        ...(username !== undefined && { username }),
        ...(authTime !== undefined && { auth_time: authTime }),
        ...(acr !== undefined && { acr }),
        ...(amr !== undefined && { amr }),
      },
      issuedAtMs,
      expiresAt: secondsOf(issuedAtMs) + context.lifetimes.authorizationCode,
      ...(codeChallenge !== undefined && { codeChallenge }),
      ...(nonce !== undefined && { nonce }),
      ...(sessionId !== undefined && { sessionId }),
    },
    { clientGeneration: client.generation ?? 0 },
  );
  if (outcome !== 'issued') throw refuse('issuance_overtaken');
  return grantedAuthorization(context, request, code);
}
