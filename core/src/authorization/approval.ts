// Second step of the authorization endpoint: issues a code after the user has approved.
import { sha256 } from '#crypto';
import { mayUse, resourcesWithDetails } from '../clients/access.ts';
import type { ClientContext } from '../clients/client.ts';
import type { OAuthError, ReasonCode } from '../http/errors.ts';
import type { HttpResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { type AuthorizationDetails, detailsIn } from '../protocol/authorization_details.ts';
import type { Claims } from '../protocol/claims.ts';
import { lifetimeFor } from '../protocol/profile.ts';
import type { TokenContext } from '../tokens/context.ts';
import { grantClaimsOf } from '../tokens/mint.ts';
import { newOpaque, newTimedIdentifier } from '../tokens/opaque_token.ts';
import { subjectLife } from '../tokens/state.ts';
import { sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';
import type { AuthorizationRequest } from './authorization_request.ts';
import { grantedAuthorization, type Refusal, refusedAuthorization } from './authorization_response.ts';
import { isExpectedPerson, requiredAcrOf, unmetAcr } from './parameters.ts';
import { endRequest } from './request_end.ts';

/** What the user approved, and how they signed in. */
export interface Approval {
  /** The host’s identifier of the user. */
  readonly subject: string;
  /** The approved scopes of the request. Default: all. */
  readonly scopes?: readonly string[];
  /**
   * The approved authorization details, of types of the request. They may say less than the request, or more, such as
   * the accounts that the user chose (RFC 9396 §3, §7.1). An empty list approves none. Default: all of the request.
   */
  readonly authorizationDetails?: AuthorizationDetails;
  /** The user’s readable name, for introspection. */
  readonly username?: string;
  /**
   * Seconds since 1970 of the sign-in. Required if the request has `maxAge` or asks for `auth_time`, or if the client
   * registered `require_auth_time`.
   */
  readonly authTime?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  /**
   * The host’s session, the basis of `sid` in ID tokens. The grant ends with the session, unless `offline_access` is
   * approved.
   */
  readonly sessionId?: string;
  /**
   * Called after the code is stored and before it leaves the server. Return `false` if the approval has ended in the
   * meantime, for example by a sign-out or a withdrawn consent. The code is then revoked, and the client gets
   * `access_denied`.
   */
  readonly isStillApproved?: () => Promise<boolean>;
}

/**
 * Second step of the authorization endpoint, after the user has approved. When it resolves, the code is durable.
 * @throws {OAuthError} without `redirectTo` if the request was already answered. Otherwise with `redirectTo`:
 *   `access_denied` if the user or client has been disabled, `login_required` if the client means another user or the
 *   sign-in is too old, or `unmet_authentication_requirements`.
 */
export async function completeAuthorization(
  context: ClientContext,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<HttpResponse> {
  requirePossible(request, approval);
  const impossible = await refusalOf(context, request, approval);
  if (impossible !== undefined) throw (await endRequest(context, request)) ?? impossible;

  const { redirectUri, redirectUriGiven, codeChallenge, confirmation, nonce, claims } = request;
  const { subject, sessionId, scopes = request.scopes } = approval;
  // A client with a document is stored only now, so that requests alone store nothing (ADR 169).
  const client = (await context.documents?.keep(request.client, subject)) ?? request.client;
  const authorizationDetails = await grantedDetails(context, request, approval);
  const resources = await resourcesWithDetails(context, client, request.resources, authorizationDetails);
  const code = newOpaque('authorization_code', context.random);
  const id = await sha256(code);
  // Comes first: if the response cannot be signed, no code is issued.
  const response = await grantedAuthorization(context, request, code);
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
      // Fixes the claims at approval, even if the client’s registration changes before it redeems the code.
      claims: {
        ...grantClaimsOf(client, claimsOf(approval)),
        sub: await subjectIdentifier(context, client, subject),
        ...(sessionId !== undefined && { sid: await sessionIdentifier(context, client, sessionId) }),
        // Also here, so that a store that forgets the binding does not make the code usable without the key.
        ...(confirmation !== undefined && { cnf: confirmation }),
      },
      issuedAtMs,
      expiresAt: secondsOf(issuedAtMs) + lifetimeFor(client, context.lifetimes, 'authorizationCode'),
      ...(codeChallenge !== undefined && { codeChallenge }),
      ...(confirmation !== undefined && { confirmation }),
      ...(nonce !== undefined && { nonce }),
      ...(endsWithSession && { sessionId }),
      ...(claims !== undefined && { claimsRequest: claims }),
      ...(resources !== undefined && { resources }),
      ...(authorizationDetails !== undefined && { authorizationDetails }),
    },
    { clientGeneration: client.generation ?? 0 },
  );
  const isGranted = outcome === 'issued' && (await (approval.isStillApproved?.() ?? true));
  const refusal = isGranted
    ? undefined
    : await refusedAuthorization(context, request, overtaken('issuance_overtaken'));
  // Comes last: if something fails before, the user can repeat the answer.
  const ended = await endRequest(context, request);
  if (refusal === undefined && ended === undefined) return response;
  if (outcome === 'issued') await revokeCode(context, id);
  throw ended ?? refusal;
}

/** Returns what is granted of the approved details; `undefined` if there are none. */
async function grantedDetails(
  { authorizationDetails: types }: TokenContext,
  { client, scopes: requested, authorizationDetails }: AuthorizationRequest,
  { subject, scopes = requested, authorizationDetails: details = authorizationDetails }: Approval,
): Promise<AuthorizationDetails | undefined> {
  if (types === undefined || details === undefined || details.length === 0) return undefined;
  return types.granted({ details, clientId: client.id, subject, scopes });
}

/** Why this request cannot be approved in this way. */
async function refusalOf(
  context: ClientContext,
  request: AuthorizationRequest,
  approval: Approval,
): Promise<OAuthError | undefined> {
  const refuse = (refusal: Refusal) => refusedAuthorization(context, request, refusal);
  const requiredAcr = requiredAcrOf(request.claims);
  if (requiredAcr !== undefined && !requiredAcr.includes(approval.acr ?? '')) return refuse(unmetAcr());
  if (!(await isExpectedPerson(context, request, approval.subject)))
    return refuse(signInAgain('another user is signed in', 'other_person'));
  if (isTooOld(context, request, approval))
    return refuse(signInAgain('the sign-in is older than max_age', 'sign_in_too_old'));
  const life = await subjectLife(context, approval.subject);
  if (!life.alive) return refuse(overtaken(life.reason));
  if (await mayUse(context, request.client, approval.subject)) return undefined;
  const description = 'the user may not use this client';
  return refuse({ code: 'access_denied', description, reason: 'person_not_allowed' });
}

function signInAgain(description: string, reason: ReasonCode): Refusal {
  return { code: 'login_required', description, reason };
}

function overtaken(reason: ReasonCode): Refusal {
  return { code: 'access_denied', description: 'the authorization was revoked', reason };
}

async function revokeCode({ storage: { authorizationCodes } }: TokenContext, id: string): Promise<void> {
  const issued = await authorizationCodes.get(id);
  if (issued !== undefined) await authorizationCodes.revoke(issued);
}

/** Seconds that a user may spend on the host’s pages. */
const MAX_DECISION_SECONDS = 60 * 60;

/**
 * Whether the sign-in is too old even for a user who spent an hour on the host’s pages. Only the host knows when the
 * request arrived, so it makes the exact check (OpenID Connect Core §3.1.2.1).
 */
function isTooOld(
  { clock }: TokenContext,
  { maxAge }: AuthorizationRequest,
  { authTime = 0 }: Approval,
): boolean {
  return maxAge !== undefined && authTime < secondsOf(clock()) - maxAge - MAX_DECISION_SECONDS;
}

/** Throws for mistakes of the host. */
function requirePossible(request: AuthorizationRequest, approval: Approval): void {
  const { maxAge, claims, client } = request;
  const { scopes = [], authTime, authorizationDetails: details = [] } = approval;
  const needsAuthTime =
    maxAge !== undefined ||
    client.metadata?.require_auth_time === true ||
    claims?.id_token?.auth_time?.essential === true;
  if (needsAuthTime && authTime === undefined)
    throw new TypeError('expected authTime, because this request asks for the time of sign-in');
  if (!scopes.every((scope) => request.scopes.includes(scope)))
    throw new TypeError('scopes: expected only scopes of the request');
  const types = request.authorizationDetails?.map(({ type }) => type) ?? [];
  if (details.length > 0 && !detailsIn(details)?.every(({ type }) => types.includes(type)))
    throw new TypeError('authorizationDetails: expected details of types of the request, within the limits');
}

/** Claims about the sign-in for the grant’s tokens. */
function claimsOf({ username, authTime, acr, amr }: Approval): Claims {
  return {
    ...(username !== undefined && { username }),
    ...(authTime !== undefined && { auth_time: authTime }),
    ...(acr !== undefined && { acr }),
    ...(amr !== undefined && { amr }),
  };
}
