import { isConfidential } from '../protocol/authentication_method.ts';
import { type Form, parseForm, readForm, requireParameter } from '../protocol/form.ts';
import { type HttpRequest, queryOf } from '../protocol/http.ts';
import { type ErrorCode, OAuthError } from '../protocol/oauth_error.ts';
import { isS256Challenge } from '../protocol/pkce.ts';
import type { RefusalReason } from '../protocol/reasons.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { redirectUriMatches } from '../protocol/redirect_uri.ts';
import { selectScopes } from '../protocol/scope.ts';
import { refusedAuthorization } from './authorization_response.ts';
import type { Context } from './context.ts';

/** An authorization request that has been checked: plain data, for the host to ask the person about. */
export interface AuthorizationRequest {
  /** Who asks; `name` is for people. */
  readonly client: Pick<ClientRecord, 'id' | 'name' | 'generation'>;
  readonly redirectUri: string;
  /** Whether the request named it (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly scopes: readonly string[];
  readonly state?: string;
  readonly nonce?: string;
  readonly codeChallenge?: string;
  /** OpenID Connect Core §3.1.2.1; the host obeys them. */
  readonly prompt: readonly Prompt[];
  /** Seconds since the person signed in at most. */
  readonly maxAge?: number;
  readonly loginHint?: string;
  readonly uiLocales?: string;
}

export type Prompt = 'none' | 'login' | 'consent' | 'select_account';

const PROMPTS: readonly string[] = ['none', 'login', 'consent', 'select_account'] satisfies Prompt[];

/**
 * First step of the authorization endpoint: whether a request may be put to the person (RFC 6749 §4.1.1).
 * @throws {OAuthError} with `redirectTo` once client and redirect URI are certain (§4.1.2.1), without it before
 */
export async function validateAuthorizationRequest(
  context: Context,
  request: HttpRequest,
): Promise<AuthorizationRequest> {
  const form = request.method === 'POST' ? readForm(request) : parseForm(queryOf(request));
  const client = await requireClient(context, requireParameter(form, 'client_id'));
  const target = { client, ...requireRedirectUri(client, form) };
  const { id, name, generation = 0 } = client;
  return {
    ...target,
    ...readRequest(context, form, target),
    client: { id, generation, ...(name !== undefined && { name }) },
  };
}

async function requireClient({ storage }: Context, clientId: string): Promise<ClientRecord> {
  const client = /^[\x20-\x7E]+$/.test(clientId) ? await storage.clients.get(clientId) : undefined;
  if (!client) throw untrusted('the client is unknown', 'client_unknown');
  if (client.disabledAtMs !== undefined) throw untrusted('the client is disabled', 'client_disabled');
  return client;
}

/** Exactly a registered URI; it may be left out where there is only one and OpenID Connect does not ask for it. */
function requireRedirectUri(client: ClientRecord, form: Form) {
  const requested = form.get('redirect_uri');
  const [only, ...others] = client.redirectUris;
  const isOpenId = form.get('scope')?.split(' ').includes('openid') ?? false;
  if (requested === undefined && only !== undefined && others.length === 0 && !isOpenId) {
    return { redirectUri: only, redirectUriGiven: false };
  }
  if (
    requested !== undefined &&
    client.redirectUris.some((registered) => redirectUriMatches(registered, requested))
  ) {
    return { redirectUri: requested, redirectUriGiven: true };
  }
  throw untrusted('the redirect_uri is not registered for this client', 'redirect_uri_mismatch');
}

/** Everything else; from here on the client learns of an error. */
function readRequest(context: Context, form: Form, target: { client: ClientRecord; redirectUri: string }) {
  const { client } = target;
  const state = form.get('state');
  const refuse = (code: ErrorCode, description: string, reason: RefusalReason = 'parameter_invalid') =>
    refusedAuthorization(
      context,
      { ...target, ...(state !== undefined && { state }) },
      code,
      description,
      reason,
    );

  if (form.has('request')) throw refuse('request_not_supported', 'request objects are not supported');
  if (form.has('request_uri')) throw refuse('request_uri_not_supported', 'request_uri is not supported');
  if (form.has('registration')) throw refuse('registration_not_supported', 'registration is not supported');
  const responseType = form.get('response_type');
  if (responseType === undefined)
    throw refuse('invalid_request', 'the parameter response_type is missing', 'parameter_missing');
  if (responseType !== 'code')
    throw refuse('unsupported_response_type', 'only the response_type code is supported');
  if (!client.grantTypes.includes('authorization_code')) {
    throw refuse('unauthorized_client', 'the client may not use this response_type', 'grant_not_allowed');
  }
  if ((form.get('response_mode') ?? 'query') !== 'query') {
    throw refuse('invalid_request', 'only the response_mode query is supported');
  }

  const codeChallenge = form.get('code_challenge');
  const mayOmitPkce = isConfidential(client) && context.allowConfidentialClientsWithoutPkce;
  if (codeChallenge === undefined && (!mayOmitPkce || form.has('code_challenge_method'))) {
    throw refuse('invalid_request', 'the parameter code_challenge is missing', 'pkce_missing');
  }
  if (codeChallenge !== undefined && form.get('code_challenge_method') !== 'S256') {
    throw refuse('invalid_request', 'the code_challenge_method must be S256');
  }
  if (codeChallenge !== undefined && !isS256Challenge(codeChallenge)) {
    throw refuse('invalid_request', 'the code_challenge is malformed');
  }

  const prompt = form.get('prompt')?.split(' ') ?? [];
  if (!prompt.every(isPrompt) || (prompt.includes('none') && prompt.length > 1)) {
    throw refuse('invalid_request', 'the prompt is not allowed');
  }
  const maxAge = form.get('max_age');
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    throw refuse('invalid_request', 'the max_age is not allowed');

  // It is kept until the code is redeemed, and there are databases whose texts end at this character.
  const nonce = form.get('nonce');
  if (nonce?.includes('\0')) throw refuse('invalid_request', 'the nonce is not allowed');

  const loginHint = form.get('login_hint');
  const uiLocales = form.get('ui_locales');
  return {
    scopes: requestedScopes(context, form, client, refuse),
    prompt,
    ...(state !== undefined && { state }),
    ...(nonce !== undefined && { nonce }),
    ...(codeChallenge !== undefined && { codeChallenge }),
    ...(maxAge !== undefined && { maxAge: Number(maxAge) }),
    ...(loginHint !== undefined && { loginHint }),
    ...(uiLocales !== undefined && { uiLocales }),
  };
}

function requestedScopes(
  { oidc }: Context,
  form: Form,
  client: ClientRecord,
  refuse: (code: ErrorCode, description: string, reason?: RefusalReason) => OAuthError,
): readonly string[] {
  const allowed = oidc === undefined ? client.scopes.filter((scope) => scope !== 'openid') : client.scopes;
  try {
    return selectScopes(form.get('scope'), allowed);
  } catch (error) {
    if (error instanceof OAuthError) throw refuse(error.code, error.description, 'scope_not_allowed');
    throw error;
  }
}

function isPrompt(text: string): text is Prompt {
  return PROMPTS.includes(text);
}

/** No redirect: the browser must not be sent where the client did not register (RFC 6749 §3.1.2.4). */
function untrusted(description: string, reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request', description, { reason });
}
