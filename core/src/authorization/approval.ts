// Second step of the authorization endpoint: issues a code after the user has approved.
import { sha256 } from '#crypto';
import { refusedUse, resourcesWithDetails } from '../clients/access.ts';
import type { AuthorizationClient, ClientContext } from '../clients/client.ts';
import type { ReasonCode } from '../http/errors.ts';
import type { HttpResponse } from '../http/http.ts';
import { defined, secondsOf } from '../platform/environment.ts';
import { type AuthorizationDetails, detailsIn } from '../protocol/authorization_details.ts';
import type { Claims } from '../protocol/claims.ts';
import { lifetimeFor } from '../protocol/profile.ts';
import type { NewAuthorizationCode } from '../protocol/records.ts';
import type { TokenContext } from '../tokens/context.ts';
import { grantClaimsOf } from '../tokens/mint.ts';
import { newOpaque, newTimedIdentifier } from '../tokens/opaque_token.ts';
import { subjectLife } from '../tokens/state.ts';
import { sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';
import type { AccessRequest, AuthorizationRequest } from './authorization_request.ts';
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
  /**
   * Runs the write that stores the code. A host with tables in the same database can add to its transaction. Return
   * `undefined` if the code was not stored, and the client gets `access_denied`. Default: only the code is stored.
   * @param client as it is stored, which a client with a document is not before
   */
  readonly storing?: <T>(store: () => Promise<T>, client: AuthorizationClient) => Promise<T | undefined>;
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
  const impossible = await refusalOf(context, request, approval);
  if (impossible !== undefined) {
    const refusal = await refusedAuthorization(context, request, impossible);
    throw (await endRequest(context, request)) ?? refusal;
  }
  const { redirectUri, redirectUriGiven, codeChallenge, nonce } = request;
  const code = newOpaque('authorization_code', context.random);
  const id = await sha256(code);
  // Comes first: if the response cannot be signed, no code is issued.
  const response = await grantedAuthorization(context, request, code);
  const lifetime = lifetimeFor(request.client, context.lifetimes, 'authorizationCode');
  const expiresAt = secondsOf(context.clock()) + lifetime;
  const members = defined({ id, redirectUri, redirectUriGiven, expiresAt, codeChallenge, nonce });
  const isGranted = await issueApproved(context, request, approval, members);
  const refusal = isGranted ? undefined : await refusedAuthorization(context, request, overtaken());
  // Comes last: if something fails before, the user can repeat the answer.
  const answered = await endRequest(context, request);
  if (refusal === undefined && answered === undefined) return response;
  if (isGranted) await revokeCode(context, id);
  throw answered ?? refusal;
}

/** Members of a code that do not follow from the approval. */
type CodeOfRequest = Pick<
  NewAuthorizationCode,
  'id' | 'redirectUri' | 'redirectUriGiven' | 'expiresAt' | 'codeChallenge' | 'nonce'
>;

/**
 * Issues a code for what the user approved.
 * @returns `false` if the approval has ended in the meantime. The code is then revoked.
 */
export async function issueApproved(
  context: ClientContext,
  request: AccessRequest,
  approval: Approval,
  code: CodeOfRequest,
): Promise<boolean> {
  const { confirmation, claims } = request;
  const { subject, sessionId, scopes = request.scopes, storing = (store) => store() } = approval;
  // A client with a document is stored only now, so that requests alone store nothing (ADR 169).
  const client = (await context.documents?.keep(request.client, subject)) ?? request.client;
  const authorizationDetails = await grantedDetails(context, request, approval);
  const resources = authorizationDetails
    ? await resourcesWithDetails(context, client, request.resources, authorizationDetails)
    : request.resources;
  const endsWithSession = sessionId !== undefined && !scopes.includes('offline_access');
  const store = async () =>
    context.storage.authorizationCodes.issue(
      defined({
        ...code,
        clientId: client.id,
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
        issuedAtMs: context.clock(),
        confirmation,
        sessionId: endsWithSession ? sessionId : undefined,
        claimsRequest: claims,
        resources,
        authorizationDetails,
      }),
      { clientGeneration: client.generation ?? 0 },
    );
  if ((await storing(store, client)) !== 'issued') return false;
  if (await (approval.isStillApproved?.() ?? true)) return true;
  await revokeCode(context, code.id);
  return false;
}

/** Returns what is granted of the approved details; `undefined` if there are none. */
async function grantedDetails(
  { authorizationDetails: types }: TokenContext,
  { client, scopes: requested, authorizationDetails }: AccessRequest,
  { subject, scopes = requested, authorizationDetails: details = authorizationDetails }: Approval,
): Promise<AuthorizationDetails | undefined> {
  if (types === undefined || details === undefined || details.length === 0) return undefined;
  return types.granted({ details, clientId: client.id, subject, scopes });
}

/**
 * Why this request cannot be approved in this way.
 * @throws {TypeError} the approval does not fit the request, which is a mistake of the host
 */
export async function refusalOf(
  context: ClientContext,
  request: AccessRequest,
  approval: Approval,
): Promise<Refusal | undefined> {
  requirePossible(request, approval);
  const requiredAcr = requiredAcrOf(request.claims);
  if (requiredAcr !== undefined && !requiredAcr.includes(approval.acr ?? '')) return unmetAcr();
  if (!(await isExpectedPerson(context, request, approval.subject)))
    return signInAgain('another user is signed in', 'other_person');
  if (isTooOld(context, request, approval))
    return signInAgain('the sign-in is older than max_age', 'sign_in_too_old');
  const life = await subjectLife(context, approval.subject);
  if (!life.alive) return overtaken(life.reason);
  const reason = await refusedUse(context, request.client, approval.subject, approval);
  if (reason === 'acr_unmet') return signInAgain('sign in again', reason);
  return reason && { code: 'access_denied', description: 'the user may not use this client', reason };
}

function signInAgain(description: string, reason: ReasonCode): Refusal {
  return { code: 'login_required', description, reason };
}

/** The refusal of an approval that has ended before its code left the server. */
export function overtaken(reason: ReasonCode = 'issuance_overtaken'): Refusal {
  return { code: 'access_denied', description: 'the authorization was revoked', reason };
}

export async function revokeCode(
  { storage: { authorizationCodes } }: TokenContext,
  id: string,
): Promise<void> {
  const issued = await authorizationCodes.get(id);
  if (issued !== undefined) await authorizationCodes.revoke(issued);
}

/** Seconds that a user may spend on the host’s pages. */
const MAX_DECISION_SECONDS = 60 * 60;

/**
 * Whether the sign-in is too old even for a user who spent an hour on the host’s pages. Only the host knows when the
 * request arrived, so it makes the exact check (OpenID Connect Core §3.1.2.1).
 */
function isTooOld({ clock }: TokenContext, { maxAge }: AccessRequest, { authTime = 0 }: Approval): boolean {
  return maxAge !== undefined && authTime < secondsOf(clock()) - maxAge - MAX_DECISION_SECONDS;
}

/** Throws for mistakes of the host. */
function requirePossible(request: AccessRequest, approval: Approval): void {
  const { maxAge, claims, client } = request;
  const { scopes = [], authTime, authorizationDetails: details = [] } = approval;
  const needsAuthTime =
    maxAge !== undefined ||
    client.metadata?.require_auth_time === true ||
    claims?.id_token?.auth_time?.essential === true;
  if (needsAuthTime && authTime === undefined)
    throw new TypeError('expected authTime, which this request asks for');
  if (!scopes.every((scope) => request.scopes.includes(scope)))
    throw new TypeError('scopes: expected only scopes of the request');
  const types = request.authorizationDetails?.map(({ type }) => type) ?? [];
  if (details.length > 0 && !detailsIn(details)?.every(({ type }) => types.includes(type)))
    throw new TypeError('authorizationDetails: expected types of the request, within the limits');
}

/** Claims about the sign-in for the grant’s tokens. */
function claimsOf({ username, authTime, acr, amr }: Approval): Claims {
  return defined({ username, auth_time: authTime, acr, amr });
}
