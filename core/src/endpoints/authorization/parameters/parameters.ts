import { mayOmitPkce } from '../../../protocol/authentication_method.ts';
import { parseClaimsParameter } from '../../../protocol/claims_parameter.ts';
import type { Form } from '../../../protocol/form.ts';
import { type ErrorCode, OAuthError } from '../../../protocol/oauth_error.ts';
import { isS256Challenge } from '../../../protocol/pkce.ts';
import { parsePrompt } from '../../../protocol/prompt.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import { isResponseMode } from '../../../protocol/response_mode.ts';
import { selectScopes } from '../../../protocol/scope.ts';
import { parseUiLocales } from '../../../protocol/ui_locales.ts';
import type { Context } from '../../context.ts';
import { accessFor, resourcesIn } from '../../resource.ts';
import { acrValuesOf } from './acr_values.ts';
import { expectedSubjectOf } from './expected_subject.ts';

/**
 * What a request asks for, in the order of the documents that define it.
 * @throws {OAuthError} what is wrong with it; whoever calls knows where the client is told
 */
export async function readAuthorizationParameters(context: Context, client: ClientRecord, form: Form) {
  if (form.has('registration')) throw refused('registration_not_supported', 'registration is not supported');

  // RFC 6749 §4.1.1, OAuth 2.0 Multiple Response Types §2.1
  requireResponseType(client, form);
  const codeChallenge = requireChallenge(client, form);
  const wanted = requestedScopes(context, client, form);

  // OpenID Connect Core §3.1.2.1
  const prompt = parsePrompt(form.get('prompt'));
  const maxAge = maxAgeOf(client, form);
  const nonce = form.get('nonce');
  if (nonce?.includes('\0')) throw refused('invalid_request', 'the nonce is not allowed');
  const loginHint = form.get('login_hint');
  const uiLocales = parseUiLocales(form.get('ui_locales'));

  // OpenID Connect Core §5.5, RFC 8707 §2.1
  const claims = claimsOf(context, form);
  const acrValues = acrValuesOf(context, client, form, claims);
  const expectedSubject = await expectedSubjectOf(context, client, form, claims);
  const asked = resourcesIn(form);
  const { scopes, resources } = await accessFor(context, client, {
    scopes: wanted,
    areScopesNamed: form.has('scope'),
    ...(asked !== undefined && { resources: asked }),
  });

  // There are databases whose texts end at this character, and pages that cannot hold it.
  if ([...form.values()].some((value) => value.includes('\0')))
    throw refused('invalid_request', 'a parameter has a character that is not allowed');
  return {
    scopes,
    prompt,
    acrValues,
    uiLocales,
    ...(nonce !== undefined && { nonce }),
    ...(codeChallenge !== undefined && { codeChallenge }),
    ...(maxAge !== undefined && { maxAge }),
    ...(loginHint !== undefined && { loginHint }),
    ...(expectedSubject !== undefined && { expectedSubject }),
    ...(claims !== undefined && { claims }),
    ...(resources !== undefined && { resources }),
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
  if (!isResponseMode(form.get('response_mode') ?? 'query'))
    throw refused('invalid_request', 'the response_mode is not supported');
}

/** RFC 7636 §4.3, §4.4.1. */
function requireChallenge(client: ClientRecord, form: Form): string | undefined {
  const codeChallenge = form.get('code_challenge');
  if (codeChallenge === undefined && (!mayOmitPkce(client) || form.has('code_challenge_method'))) {
    throw refused('invalid_request', 'the parameter code_challenge is missing', 'pkce_missing');
  }
  if (codeChallenge !== undefined && form.get('code_challenge_method') !== 'S256') {
    throw refused('invalid_request', 'the code_challenge_method must be S256');
  }
  if (codeChallenge !== undefined && !isS256Challenge(codeChallenge)) {
    throw refused('invalid_request', 'the code_challenge is malformed');
  }
  return codeChallenge;
}

function requestedScopes({ oidc }: Context, client: ClientRecord, form: Form): readonly string[] {
  const allowed = oidc === undefined ? client.scopes.filter((scope) => scope !== 'openid') : client.scopes;
  const parameter = form.get('scope');
  return parameter === '' ? [] : selectScopes(parameter, allowed); // empty where it was kept like that
}

function maxAgeOf(client: ClientRecord, form: Form): number | undefined {
  const maxAge = form.get('max_age');
  if (maxAge === undefined) return client.metadata?.default_max_age;
  if (!/^\d{1,9}$/.test(maxAge)) throw refused('invalid_request', 'the max_age is not allowed');
  return Number(maxAge);
}

function claimsOf({ oidc }: Context, form: Form) {
  const parameter = form.get('claims');
  return oidc === undefined || parameter === undefined ? undefined : parseClaimsParameter(parameter);
}

function refused(
  code: ErrorCode,
  description: string,
  reason: RefusalReason = 'parameter_invalid',
): OAuthError {
  return new OAuthError(code, description, { reason });
}
