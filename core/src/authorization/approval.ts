import { sha256 } from '#hashing';
import type { Context } from '../context.ts';
import { secondsOf } from '../environment.ts';
import type { OAuthError, ReasonCode } from '../http/errors.ts';
import type { HttpResponse } from '../http/http.ts';
import type { Claims } from '../protocol/claims.ts';
import { grantClaimsOf } from '../tokens/access_token.ts';
import { newOpaque, newTimedIdentifier } from '../tokens/opaque_token.ts';
import { subjectLife } from '../tokens/state.ts';
import { sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';
import type { AuthorizationRequest } from './authorization_request.ts';
import { grantedAuthorization, type Refusal, refusedAuthorization } from './authorization_response.ts';
import { isExpectedPerson, requiredAcrOf, unmetAcr } from './parameters.ts';
import { endRequest } from './request_end.ts';

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
  /**
   * Asked once the code is stored, and before anybody knows it: whether the approval has not ended meanwhile, as by a
   * sign-out or a withdrawn consent. With `false` the code is revoked, and the client gets `access_denied`.
   */
  readonly isStillApproved?: () => Promise<boolean>;
}

/**
 * Second step: the person approved. The code is durable once this has resolved.
 * @throws {OAuthError} with `redirectTo`: `access_denied` where the person or client was disabled meanwhile,
 *   `login_required` where the client means another person or the sign-in is too old,
 *   `unmet_authentication_requirements`; without it: the request was answered before
 */
export async function completeAuthorization(
  context: Context,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<HttpResponse> {
  requirePossible(request, approval);
  const impossible = await refusalOf(context, request, approval);
  if (impossible !== undefined) throw (await endRequest(context, request)) ?? impossible;

  const { client, redirectUri, redirectUriGiven, codeChallenge, nonce, claims, resources } = request;
  const { subject, sessionId, scopes = request.scopes } = approval;
  const code = newOpaque('authorization_code', context.random);
  const id = await sha256(code);
  const issuedAtMs = context.clock();
  const endsWithSession = sessionId !== undefined && !scopes.includes('offline_access');
  const outcome = await context.storage.authorizationCodes.issue(
    {
      id,
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
  const isGranted = outcome === 'issued' && (await (approval.isStillApproved?.() ?? true));
  // The code comes first: if storage fails in between, the person can give the same answer again.
  const ended = await endRequest(context, request);
  if (isGranted && ended === undefined) return grantedAuthorization(context, request, code);
  if (outcome === 'issued') await revokeCode(context, id);
  throw ended ?? refusedAuthorization(context, request, overtaken('issuance_overtaken'));
}

/** Why nobody can approve this request in this way. */
async function refusalOf(
  context: Context,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<OAuthError | undefined> {
  const refuse = (refusal: Refusal) => refusedAuthorization(context, request, refusal);
  const requiredAcr = requiredAcrOf(request.claims);
  if (requiredAcr !== undefined && !requiredAcr.includes(approval.acr ?? '')) return refuse(unmetAcr());
  if (!(await isExpectedPerson(context, request, approval.subject)))
    return refuse(signInAgain('another person is signed in', 'other_person'));
  if (isTooOld(context, request, approval))
    return refuse(signInAgain('the sign-in is older than max_age', 'sign_in_too_old'));
  const life = await subjectLife(context, approval.subject);
  return life.alive ? undefined : refuse(overtaken(life.reason));
}

function signInAgain(description: string, reason: ReasonCode): Refusal {
  return { code: 'login_required', description, reason };
}

function overtaken(reason: ReasonCode): Refusal {
  return { code: 'access_denied', description: 'the authorization is void', reason };
}

async function revokeCode({ storage: { authorizationCodes } }: Context, id: string): Promise<void> {
  const issued = await authorizationCodes.get(id);
  if (issued !== undefined) await authorizationCodes.revoke(issued);
}

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
