import { sha256 } from '#hashing';
import type { Claims } from '../../protocol/claims.ts';
import { secondsOf } from '../../protocol/environment.ts';
import type { HttpResponse } from '../../protocol/http.ts';
import type { ErrorCode } from '../../protocol/oauth_error.ts';
import type { ReasonCode } from '../../protocol/reasons.ts';
import { grantClaimsOf } from '../../tokens/grant_claims.ts';
import { newOpaque, newTimedIdentifier } from '../../tokens/opaque_token.ts';
import { subjectLife } from '../../tokens/state.ts';
import { sessionIdentifier, subjectIdentifier } from '../../tokens/subject_identifier.ts';
import type { Context } from '../context.ts';
import type { AuthorizationRequest } from './authorization_request.ts';
import { grantedAuthorization, refusedAuthorization } from './authorization_response.ts';
import { requiredAcrOf, unmetAcr } from './parameters/acr_values.ts';
import { isExpectedPerson } from './parameters/expected_subject.ts';

/** What a person approved, and how they signed in. */
export interface Approval {
  /** The host's own identifier of the person. */
  readonly subject: string;
  /** What was approved of the request's scopes; all of them where this is absent. */
  readonly scopes?: readonly string[];
  /** Readable name, for introspection. */
  readonly username?: string;
  /** Seconds: when the person signed in; needed where the request has `maxAge` or the client registered that it is. */
  readonly authTime?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  /** From it comes the `sid` of ID tokens. What is granted ends when the host ends the session, unless `offline_access` is approved. */
  readonly sessionId?: string;
}

/**
 * Second step: the person approved. The code is durable once this has resolved.
 * @throws {OAuthError} with `redirectTo`: `access_denied` where the person or client was disabled meanwhile,
 *   `login_required` where the client means another person or the sign-in is too old,
 *   `unmet_authentication_requirements`
 */
export async function completeAuthorization(
  context: Context,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<HttpResponse> {
  requirePossible(request, approval);
  const { client, redirectUri, redirectUriGiven, codeChallenge, nonce, claims, resources } = request;
  const { subject, sessionId, scopes = request.scopes } = approval;
  const refuse = (code: ErrorCode, description: string, reason: ReasonCode) =>
    refusedAuthorization(context, request, { code, description, reason });

  const requiredAcr = requiredAcrOf(claims);
  if (requiredAcr !== undefined && !requiredAcr.includes(approval.acr ?? ''))
    throw refusedAuthorization(context, request, unmetAcr());
  if (!(await isExpectedPerson(context, request, subject)))
    throw refuse('login_required', 'another person is signed in', 'other_person');
  if (isTooOld(context, request, approval))
    throw refuse('login_required', 'the sign-in is older than max_age', 'sign_in_too_old');
  const life = await subjectLife(context, subject);
  if (!life.alive) throw refuse('access_denied', VOID, life.reason);

  const code = newOpaque('authorization_code', context.random);
  const issuedAtMs = context.clock();
  const endsWithSession = sessionId !== undefined && !scopes.includes('offline_access');
  const outcome = await context.storage.authorizationCodes.issue(
    {
      id: await sha256(code),
      clientId: client.id,
      redirectUri,
      redirectUriGiven,
      scopes,
      subject,
      grantId: newTimedIdentifier(context),
      // What the client is told is as it is registered now, whatever it registers until it redeems the code.
      claims: {
        ...grantClaimsOf(client, claimsOf(approval)),
        sub: await subjectIdentifier(context, client, subject),
        ...(sessionId !== undefined && { sid: await sessionIdentifier(context, client, sessionId) }),
      },
      issuedAtMs,
      expiresAt: secondsOf(issuedAtMs) + context.lifetimes.authorizationCode,
      ...(codeChallenge !== undefined && { codeChallenge }),
      ...(nonce !== undefined && { nonce }),
      ...(endsWithSession && { sessionId }),
      ...(claims !== undefined && { claimsRequest: claims }),
      ...(resources !== undefined && { resources }),
    },
    { clientGeneration: client.generation ?? 0 },
  );
  if (outcome !== 'issued') throw refuse('access_denied', VOID, 'issuance_overtaken');
  return grantedAuthorization(context, request, code);
}

const VOID = 'the authorization is void';

/** Seconds that a person may spend on the host's pages. */
const LONGEST_DECISION = 60 * 60;

/**
 * Whether not even an hour on the host's pages explains how old the sign-in is. When the request came is the host's to
 * know, and with it whether the sign-in was recent enough then (OpenID Connect Core §3.1.2.1).
 */
function isTooOld({ clock }: Context, { maxAge }: AuthorizationRequest, { authTime = 0 }: Approval): boolean {
  return maxAge !== undefined && authTime < secondsOf(clock()) - maxAge - LONGEST_DECISION;
}

/** Otherwise it is the host's mistake. */
function requirePossible(request: AuthorizationRequest, { scopes = [], authTime }: Approval): void {
  const { maxAge, claims, client } = request;
  const needsAuthTime =
    maxAge !== undefined ||
    client.metadata?.require_auth_time === true ||
    claims?.id_token?.auth_time?.essential === true;
  if (needsAuthTime && authTime === undefined)
    throw new TypeError('this request is approved with the time of sign-in');
  if (!scopes.every((scope) => request.scopes.includes(scope)))
    throw new TypeError('only scopes of the request can be approved');
}

/** What the tokens of the grant say about the sign-in. */
function claimsOf({ username, authTime, acr, amr }: Approval): Claims {
  return {
    ...(username !== undefined && { username }),
    ...(authTime !== undefined && { auth_time: authTime }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
  };
}
