// The forms of clients: what each kind of client needs at first, and the parts of the form that changes one.
import { EXCHANGE_GRANT, MEMBER_NAMES } from '@grantd/core';

interface NewClientForm {
  /** Members of the form, in order, after the client ID. */
  readonly first: readonly string[];
  /** What the fields contain at first. */
  readonly values: object;
  /** Members that follow from the kind. */
  readonly members: { readonly token_endpoint_auth_method?: 'none'; readonly [member: string]: unknown };
}

const SIGNS_IN = [
  'client_name',
  'redirect_uris',
  'post_logout_redirect_uris',
  'scope',
  'apis',
  'allowed_groups',
];
const SCOPES = { scope: 'openid profile email' };
const OF_USERS = ['authorization_code', 'refresh_token'];
const IN_BROWSERS = { grant_types: OF_USERS, application_type: 'web' };

/** What each kind of client needs at first. Everything else can be changed later. */
export const NEW_CLIENTS: Readonly<Record<string, NewClientForm>> = {
  web: { first: SIGNS_IN, values: SCOPES, members: IN_BROWSERS },
  spa: {
    first: SIGNS_IN,
    values: { ...SCOPES, redirect_uris: ['http://localhost:5173/'] },
    members: { ...IN_BROWSERS, token_endpoint_auth_method: 'none' },
  },
  native: {
    first: SIGNS_IN,
    values: { ...SCOPES, redirect_uris: ['http://127.0.0.1/callback'] },
    members: { grant_types: OF_USERS, token_endpoint_auth_method: 'none', application_type: 'native' },
  },
  machine: {
    first: ['client_name', 'apis', 'scope'],
    values: {},
    members: { grant_types: ['client_credentials'] },
  },
  api: { first: ['client_name', 'resource', 'api_scopes'], values: {}, members: { grant_types: [] } },
  agent: {
    first: ['client_name', 'resource', 'apis', 'scope', 'exchange_scopes', 'access_token_lifetime'],
    values: { access_token_lifetime: 300 },
    members: { kind: 'agent', grant_types: [EXCHANGE_GRANT] },
  },
};

const named = (...patterns: readonly RegExp[]) =>
  MEMBER_NAMES.filter((name) => patterns.some((pattern) => pattern.test(name)));

/** The form that changes a client. */
export const CLIENT_PARTS = {
  first: [
    'client_name',
    'redirect_uris',
    'post_logout_redirect_uris',
    'scope',
    'grant_types',
    'token_endpoint_auth_method',
  ],
  parts: {
    users: [
      ...['consent_required', 'allowed_groups', 'sign_in_policy', 'subject_type', 'sector_identifier_uri'],
      ...['default_max_age', 'default_acr_values', 'require_auth_time', 'initiate_login_uri'],
      ...named(/logout_uri$|logout_session/),
    ],
    about: [
      'kind',
      'client_uri',
      'logo_uri',
      'brand_color',
      'policy_uri',
      'tos_uri',
      'contacts',
      'software_id',
      'software_version',
      'application_type',
    ],
    apis: [
      'resource',
      'api_scopes',
      'apis',
      'follow_all',
      'strict_scopes',
      'authorization_details_types',
      'ignore_unknown_token_type_hint',
    ],
    tokens: [
      ...['access_token_format', 'access_token_lifetime', 'rotate_refresh_tokens', 'id_token_user_claims'],
      ...['dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens'],
    ],
    exchange: named(/^exchange_|^identity_assertions$/),
    authentication: [
      ...['jwks_uri', 'jwks', 'token_endpoint_auth_signing_alg', 'assertion_audience', 'assertion_lifetime'],
      ...named(/^tls_client_auth_/),
    ],
    requests: [
      ...['profile', 'require_pushed_authorization_requests', 'require_signed_request_object'],
      ...['request_uris', 'request_object_signing_alg', 'response_modes'],
      ...['insecure_allow_missing_pkce', 'insecure_redirect_uris'],
    ],
    cryptography: named(/_(?:signed|encrypted)_response_(?:alg|enc)$/),
  },
  /** Every member. */
  all: Object.fromEntries(MEMBER_NAMES.map((name) => [name, true])),
} as const;
