// Parameters of an authorization request. § refers to OpenID Connect Core.
import { accessFor } from '../clients/access.ts';
import { mayOmitPkce } from '../clients/authentication.ts';
import { type ErrorCode, invalidRequest, OAuthError, type RefusalReason } from '../http/errors.ts';
import { type Form, formatScope, parseScope, refusedScope, selectScopes, valuesIn } from '../http/form.ts';
import { defined } from '../platform/environment.ts';
import { AUTHORIZATION_DETAILS } from '../protocol/authorization_details.ts';
import {
  isResponseMode,
  isS256Challenge,
  parsePrompt,
  parseUiLocales,
  RESPONSE_MODES,
} from '../protocol/authorization_parameters.ts';
import { type ClaimsRequest, type Confirmation, parseClaimsParameter } from '../protocol/claims.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { requireSigning } from '../tokens/answer_jwt.ts';
import type { TokenContext } from '../tokens/context.ts';
import { readIdTokenHint } from '../tokens/state.ts';
import { type SubjectAudience, subjectIdentifier } from '../tokens/subject_identifier.ts';
import type { AuthorizationContext } from './target.ts';

/** Parameter with the thumbprint of the client's DPoP key (RFC 9449 §10). */
export const DPOP_JKT = 'dpop_jkt';

/**
 * Reads the parameters of a request, in the order of their specifications (ADR 51).
 * @throws {OAuthError} a parameter is not allowed; the caller decides whether to redirect
 */
export async function readAuthorizationParameters(
  context: AuthorizationContext,
  client: ClientRecord,
  form: Form,
) {
  if (form.has('registration')) throw refused('registration_not_supported', 'registration is not supported');

  // RFC 6749 §4.1.1, OAuth 2.0 Multiple Response Types §2.1
  requireResponseType(client, form);
  const codeChallenge = requireChallenge(client, form);
  const nonce = form.get('nonce');
  if (nonce?.includes('\0')) throw invalid('the nonce contains a NUL character');
  return {
    ...(await readRequestedAccess(context, client, form)),
    ...defined({ nonce, codeChallenge }),
  };
}

/**
 * Reads what a request asks for, and what it requires of the sign-in.
 * @throws {OAuthError} as `readAuthorizationParameters`
 */
export async function readRequestedAccess(context: AuthorizationContext, client: ClientRecord, form: Form) {
  // RFC 9396 §2, §3
  const details = context.authorizationDetails?.read(client, form.get(AUTHORIZATION_DETAILS));
  const isStrict = client.metadata?.strict_scopes ?? context.strictScopes;
  const wanted = requestedScopes(context, client, form, isStrict, details !== undefined);

  // RFC 9449 §10
  const confirmation = confirmationOf(context, form);

  // OpenID Connect Core §3.1.2.1
  const prompt = parsePrompt(form.get('prompt'));
  const maxAge = maxAgeOf(client, form);
  const loginHint = form.get('login_hint');
  const uiLocales = parseUiLocales(form.get('ui_locales'));

  // OpenID Connect Core §5.5, RFC 8707 §2.1
  const claims = claimsOf(context, form);
  const acrValues = acrValuesOf(context, client, form, claims);
  const expectedSubject = await expectedSubjectOf(context, client, form, claims);
  const requested = valuesIn(form, 'resource');
  const { scopes, resources, authorizationDetails } = await accessFor(context, client, {
    scopes: wanted,
    mustFit: isStrict && form.has('scope'),
    ...(requested !== undefined && { resources: requested }),
    ...(details !== undefined && { authorizationDetails: details }),
  });

  requireSignatures(context, client, form, scopes);

  // Some databases end texts at NUL, and pages cannot contain it.
  if ([...form.values()].some((value) => value.includes('\0')))
    throw invalid('a parameter contains a NUL character');
  return {
    ...{ scopes, prompt, acrValues, uiLocales },
    ...defined({ confirmation, maxAge, loginHint, expectedSubject, claims, resources, authorizationDetails }),
  };
}

function requireResponseType(client: ClientRecord, form: Form): void {
  const responseType = form.get('response_type');
  if (responseType === undefined)
    throw refused('invalid_request', 'the parameter response_type is missing', 'parameter_missing');
  if (responseType !== 'code')
    throw refused('unsupported_response_type', 'only the response_type code is supported');
  if (!client.grantTypes.includes('authorization_code')) {
    throw refused('unauthorized_client', 'the client may not use this response_type', 'grant_not_allowed');
  }
  const responseMode = form.get('response_mode') ?? 'query';
  if (!isResponseMode(responseMode)) throw invalid('the response_mode is not supported');
  if (client.metadata?.response_modes?.includes(responseMode) === false)
    throw refused('invalid_request', 'the response_mode is not allowed', 'response_mode_not_allowed');
}

/**
 * Finds what could not be signed later before the user signs in. The algorithms of the server's own options are checked
 * at the start.
 * @throws {OAuthError} as `requireSigning`
 */
function requireSignatures(
  { jwt, accessTokenFormat }: TokenContext,
  client: ClientRecord,
  form: Form,
  scopes: readonly string[],
): void {
  const { metadata = {}, accessTokenAlgorithm, idTokenAlgorithm } = client;
  const mode = form.get('response_mode') ?? 'query';
  if (isResponseMode(mode) && RESPONSE_MODES[mode].isJwt)
    requireSigning(jwt, client, metadata.authorization_signed_response_alg);
  const ofTokens = [
    (client.accessTokenFormat ?? accessTokenFormat) === 'jwt' ? accessTokenAlgorithm : undefined,
    ...(scopes.includes('openid') ? [idTokenAlgorithm, metadata.userinfo_signed_response_alg] : []),
  ];
  for (const algorithm of ofTokens) if (algorithm !== undefined) requireSigning(jwt, client, algorithm);
}

/** RFC 7636 §4.3, §4.4.1. */
function requireChallenge(client: ClientRecord, form: Form): string | undefined {
  const codeChallenge = form.get('code_challenge');
  if (codeChallenge === undefined && (!mayOmitPkce(client) || form.has('code_challenge_method'))) {
    throw refused('invalid_request', 'the parameter code_challenge is missing', 'pkce_missing');
  }
  if (codeChallenge !== undefined && form.get('code_challenge_method') !== 'S256') {
    throw invalid('the code_challenge_method must be S256');
  }
  if (codeChallenge !== undefined && !isS256Challenge(codeChallenge)) {
    throw invalid('the code_challenge is malformed');
  }
  return codeChallenge;
}

/** SHA-256, base64url without padding (RFC 7638 §3). */
const THUMBPRINT = /^[\w-]{43}$/;

/** The key that the code is to be bound to (RFC 9449 §10). A server without DPoP ignores the parameter. */
function confirmationOf({ dpopAlgorithms }: AuthorizationContext, form: Form): Confirmation | undefined {
  const jkt = form.get(DPOP_JKT);
  if (jkt === undefined || dpopAlgorithms.length === 0) return undefined;
  if (!THUMBPRINT.test(jkt)) throw invalid('the dpop_jkt is not a SHA-256 thumbprint');
  return { jkt };
}

/**
 * Returns the scopes of the request that the client may have, and leaves out the others unless the request is strict
 * (RFC 6749 §3.3). A request with authorization details states its rights, so it gets no other scopes than those that it
 * names.
 * @throws {OAuthError} `invalid_scope`: malformed, or none is left, or not all are allowed and the request is strict
 */
function requestedScopes(
  { oidc }: TokenContext,
  client: ClientRecord,
  form: Form,
  isStrict: boolean,
  hasDetails: boolean,
): readonly string[] {
  const allowed = oidc === undefined ? client.scopes.filter((scope) => scope !== 'openid') : client.scopes;
  const parameter = form.get('scope');
  if (parameter === '') return []; // stored requests may have an empty scope
  if (parameter === undefined || isStrict) return selectScopes(parameter, allowed, hasDetails ? [] : allowed);
  const requested = parseScope(parameter);
  const possible = requested.filter((scope) => allowed.includes(scope));
  if (possible.length === 0 && !hasDetails)
    throw refusedScope('a scope is not allowed', formatScope(requested));
  return possible;
}

function maxAgeOf(client: ClientRecord, form: Form): number | undefined {
  const maxAge = form.get('max_age');
  if (maxAge === undefined) return client.metadata?.default_max_age;
  if (!/^\d{1,9}$/.test(maxAge))
    throw invalid('the max_age must be a number of seconds with at most nine digits');
  return Number(maxAge);
}

function claimsOf({ oidc }: TokenContext, form: Form) {
  const parameter = form.get('claims');
  if (oidc === undefined || parameter === undefined) return undefined;
  return parseClaimsParameter(parameter, oidc.claimsByScope);
}

function refused(
  code: ErrorCode,
  description: string,
  reason: RefusalReason = 'parameter_invalid',
): OAuthError {
  return new OAuthError(code, description, { reason });
}

/**
 * The requested authentication context classes, most preferred first: from the claim `acr`, from `acr_values`, or from
 * the client’s registration (OpenID Connect Core §3.1.2.1, §5.5.1.1).
 * @throws {OAuthError} `unmet_authentication_requirements`: one is essential, and the server supports none of them
 */
function acrValuesOf(
  { acrValues }: AuthorizationContext,
  client: ClientRecord,
  form: Form,
  claims: ClaimsRequest | undefined,
): readonly string[] {
  const required = requiredAcrOf(claims);
  if (required !== undefined && !required.some((acr) => acrValues.includes(acr))) throw unmetAcr();
  const requested = acrOf(claims);
  if (requested.length > 0) return requested;
  const parameter = form
    .get('acr_values')
    ?.split(' ')
    .filter((acr) => acr !== '');
  return parameter ?? client.metadata?.default_acr_values ?? [];
}

/**
 * The classes of which the sign-in must meet one; `undefined` if there is no requirement (OpenID Connect Core
 * §5.5.1.1).
 */
export function requiredAcrOf(claims: ClaimsRequest | undefined): readonly string[] | undefined {
  const requested = acrOf(claims);
  return claims?.id_token?.acr?.essential === true && requested.length > 0 ? requested : undefined;
}

function acrOf(claims: ClaimsRequest | undefined): readonly string[] {
  const { value, values = [] } = claims?.id_token?.acr ?? {};
  return [value, ...values].filter((acr) => typeof acr === 'string');
}

/** OpenID Connect Core Error Code unmet_authentication_requirements. */
export function unmetAcr(): OAuthError {
  return new OAuthError(
    'unmet_authentication_requirements',
    'the requested authentication context cannot be met',
    { reason: 'acr_unmet' },
  );
}

/**
 * The required subject: from `id_token_hint` (OpenID Connect Core §3.1.2.1), or from a requested value of `sub`
 * (§5.5.1). An unreadable hint, a `sub` that is not a string, or two different users are errors.
 * @throws {OAuthError} `invalid_request`
 */
async function expectedSubjectOf(
  context: TokenContext,
  client: ClientRecord,
  form: Form,
  claims: ClaimsRequest | undefined,
): Promise<string | undefined> {
  const requested = claims?.id_token?.sub?.value;
  if (requested !== undefined && typeof requested !== 'string')
    throw invalid('the requested sub must be a string');
  const hint = context.oidc === undefined ? undefined : form.get('id_token_hint');
  if (hint === undefined) return requested;
  const hinted = await subjectOfHint(context, client, hint);
  if (requested !== undefined && requested !== hinted)
    throw invalid('id_token_hint and the requested sub name different users');
  return hinted;
}

/** Whether a request is for this user or for no particular user. */
export async function isExpectedPerson(
  context: TokenContext,
  { client, expectedSubject }: { readonly client: SubjectAudience; readonly expectedSubject?: string },
  subject: string,
): Promise<boolean> {
  return (
    expectedSubject === undefined || expectedSubject === (await subjectIdentifier(context, client, subject))
  );
}

function invalid(description: string): OAuthError {
  return invalidRequest(description, 'parameter_invalid');
}

/**
 * The `sub` of an ID token of this server (OpenID Connect Core §3.1.2.1).
 * @throws {OAuthError} `invalid_request`: not an ID token of this server for this client
 */
async function subjectOfHint(
  context: TokenContext,
  client: Pick<ClientRecord, 'id'>,
  token: string,
): Promise<string> {
  const hint = await readIdTokenHint(context, token);
  if (hint?.clientId === client.id) return hint.sub;
  throw invalidRequest('the id_token_hint is not valid', 'id_token_hint_wrong');
}
