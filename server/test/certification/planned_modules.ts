import type { PlannedModule } from './plans.ts';

const NO_UNSIGNED_REQUESTS = 'request_object_signing_alg_values_supported does not list none';
const NO_UNSIGNED_ID_TOKENS = 'id_token_signing_alg_values_supported does not list none';

const IDTOKEN_UNSIGNED = skipped(
  'oidcc-idtoken-unsigned',
  'an ID token without a signature',
  NO_UNSIGNED_ID_TOKENS,
);
const SERVER = passed('oidcc-server', 'the code flow: response, tokens, ID token with its hashes, UserInfo');
const REFRESH_TOKEN = passed(
  'oidcc-refresh-token',
  'a refresh gives new tokens and an ID token of the same sign-in; another client cannot use it',
);
const REQUEST_OBJECT_REDIRECT_URI = skipped(
  'oidcc-ensure-request-object-with-redirect-uri',
  'the redirect URI in a request object takes precedence over the one in the query',
  NO_UNSIGNED_REQUESTS,
);

/** Modules of the basic profile, in the order of the suite. */
export const BASIC_MODULES: readonly PlannedModule[] = [
  SERVER,
  passed('oidcc-response-type-missing', 'a request without response_type is refused'),
  passed('oidcc-idtoken-signature', 'the ID token is signed with RS256 by default, and has a kid'),
  IDTOKEN_UNSIGNED,
  passed('oidcc-userinfo-get', 'UserInfo by GET'),
  passed('oidcc-userinfo-post-header', 'UserInfo by POST, the token in the header'),
  passed('oidcc-userinfo-post-body', 'UserInfo by POST, the token in the body'),
  passed(
    'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
    'without nonce in the request, the ID token has none',
  ),
  passed('oidcc-scope-profile', 'the claims of profile'),
  passed('oidcc-scope-email', 'the claims of email'),
  passed('oidcc-scope-address', 'the claim of address'),
  passed('oidcc-scope-phone', 'the claims of phone'),
  passed('oidcc-scope-all', 'the claims of all four scopes'),
  passed('oidcc-alternate-happy-flow', 'openid need not be the first scope'),
  passed('oidcc-display-page', 'display=page is no error'),
  passed('oidcc-display-popup', 'display=popup is no error'),
  passed('oidcc-prompt-login', 'prompt=login asks for the password again, and auth_time is later'),
  passed(
    'oidcc-prompt-none-not-logged-in',
    'prompt=none without a session gets an error, with an unchanged state',
  ),
  passed('oidcc-prompt-none-logged-in', 'prompt=none with a session shows no page; same sub and auth_time'),
  passed('oidcc-max-age-1', 'with an old sign-in the user signs in again; auth_time is present and later'),
  passed('oidcc-max-age-10000', 'a recent sign-in is enough; same sub and auth_time'),
  passed('oidcc-ensure-request-with-unknown-parameter-succeeds', 'an unknown parameter is ignored'),
  passed('oidcc-id-token-hint', 'id_token_hint with prompt=none; same sub and auth_time'),
  passed('oidcc-login-hint', 'login_hint is no error'),
  passed('oidcc-ui-locales', 'ui_locales is no error'),
  passed('oidcc-claims-locales', 'claims_locales is no error'),
  passed(
    'oidcc-ensure-request-with-acr-values-succeeds',
    'acr_values is no error, and the ID token should have a requested acr',
  ),
  passed('oidcc-codereuse', 'a code works once'),
  {
    ...passed(
      'oidcc-codereuse-30seconds',
      'a code works once, also after 30 seconds, and its access token is dead then',
    ),
    waitsSeconds: 30,
  },
  passed('oidcc-ensure-registered-redirect-uri', 'an unregistered redirect URI leads to an error page'),
  passed('oidcc-ensure-post-request-succeeds', 'an authorization request by POST'),
  {
    ...passed('oidcc-server-client-secret-post', 'the code flow, the secret in the body'),
    variant: { authentication: 'client_secret_post' },
  },
  skipped(
    'oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported',
    'an unsigned request object by reference',
    NO_UNSIGNED_REQUESTS,
  ),
  skipped(
    'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
    'an unsigned request object by value',
    NO_UNSIGNED_REQUESTS,
  ),
  warning(
    'oidcc-claims-essential',
    'the claims parameter requests name at UserInfo, with only the scope openid',
    'UserInfo has no name: it returns claims only within the granted scopes',
  ),
  REQUEST_OBJECT_REDIRECT_URI,
  REFRESH_TOKEN,
  passed('oidcc-ensure-request-with-valid-pkce-succeeds', 'the code flow with PKCE'),
];

/** Modules of the dynamic profile. */
export const DYNAMIC_MODULES: readonly PlannedModule[] = [
  passed('oidcc-idtoken-rs256', 'id_token_signed_response_alg=RS256'),
  IDTOKEN_UNSIGNED,
  passed('oidcc-userinfo-rs256', 'userinfo_signed_response_alg=RS256: a JWT with iss and aud, signed'),
  passed(
    'oidcc-ensure-redirect-uri-in-authorization-request',
    'a request without redirect_uri leads to an error page',
  ),
  passed('oidcc-redirect-uri-query-OK', 'a registered redirect URI keeps its query'),
  passed('oidcc-redirect-uri-query-mismatch', 'a changed query leads to an error page'),
  passed('oidcc-redirect-uri-query-added', 'an unregistered query leads to an error page'),
  passed('oidcc-redirect-uri-regfrag', 'a redirect URI with a fragment cannot be registered'),
  {
    ...passed(
      'oidcc-discovery-endpoint-verification',
      'the discovery document and the keys, as for a dynamic provider',
    ),
    result: 'failed',
    because:
      'a dynamic provider must have the response types id_token and id_token token (OpenID Connect Core §15.2), and grantd refuses implicit responses',
  },
  SERVER,
  passed('oidcc-registration-logo-uri', 'the logo of the client is on the login page'),
  passed('oidcc-registration-policy-uri', 'a link to the client’s policy is on the login page'),
  passed('oidcc-registration-tos-uri', 'a link to the client’s terms is on the login page'),
  passed('oidcc-registration-jwks-uri', 'the client’s keys are fetched from its jwks_uri'),
  passed('oidcc-registration-sector-uri', 'pairwise subjects with a sector_identifier_uri'),
  passed('oidcc-registration-sector-bad', 'a sector document without the redirect URI is refused'),
  passed('oidcc-server-rotate-keys', 'after a rotation the key set has a new key, and still the old one'),
  {
    ...passed(
      'oidcc-refresh-token-rp-key-rotation',
      'a refresh with an assertion of a key that is new at jwks_uri',
    ),
    waitsSeconds: 10,
  },
  skipped('oidcc-request-uri-unsigned', 'an unsigned request object by reference', NO_UNSIGNED_REQUESTS),
  passed('oidcc-request-uri-signed-rs256', 'a request object by reference, signed with RS256'),
  REQUEST_OBJECT_REDIRECT_URI,
  REFRESH_TOKEN,
  passed('oidcc-ensure-client-assertion-with-iss-aud-succeeds', 'an assertion whose audience is the issuer'),
];

const ERROR_OR_QUESTION = 'no redirect; an error page or the question';

/** Modules of RP-initiated logout. */
export const LOGOUT_MODULES: readonly PlannedModule[] = [
  passed('oidcc-rp-initiated-logout-discovery-endpoint-verification', 'end_session_endpoint is announced'),
  passed(
    'oidcc-rp-initiated-logout',
    'back to the client with its state; prompt=none then says that no user is signed in',
  ),
  passed('oidcc-rp-initiated-logout-bad-post-logout-redirect-uri', `another URI: ${ERROR_OR_QUESTION}`),
  passed('oidcc-rp-initiated-logout-modified-id-token-hint', `a hint with alg none: ${ERROR_OR_QUESTION}`),
  passed('oidcc-rp-initiated-logout-no-id-token-hint', `no hint: ${ERROR_OR_QUESTION}`),
  passed('oidcc-rp-initiated-logout-no-params', 'no parameters: signed out, on a page that says so'),
  passed(
    'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
    'no URI: signed out, on a page that says so',
  ),
  passed(
    'oidcc-rp-initiated-logout-no-state',
    'back to the client without a state; prompt=none then says that no user is signed in',
  ),
  passed('oidcc-rp-initiated-logout-only-state', 'only a state: signed out, on a page that says so'),
  passed(
    'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
    `a query added: ${ERROR_OR_QUESTION}`,
  ),
  passed(
    'oidcc-rp-initiated-logout-bad-id-token-hint',
    `a hint that the client signed: ${ERROR_OR_QUESTION}`,
  ),
];

export function passed(name: string, checks: string): PlannedModule {
  return { name, checks, result: 'passed' };
}

export function warning(name: string, checks: string, because: string): PlannedModule {
  return { name, checks, result: 'warning', because };
}

function skipped(name: string, checks: string, because: string): PlannedModule {
  return { name, checks, result: 'skipped', because };
}
