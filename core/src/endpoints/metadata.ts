import type { HttpResponse } from '../protocol/http.ts';
import { PROMPTS } from '../protocol/prompt.ts';
import { SIGNING_ALGORITHMS } from '../protocol/records.ts';
import { RESPONSE_MODES } from '../protocol/response_mode.ts';
import type { Context } from './context.ts';
import { GRANT_TYPES } from './grants/grants.ts';
import { PUBLIC_CACHE_SECONDS } from './jwks.ts';

const CONFIDENTIAL_METHODS = ['client_secret_basic', 'client_secret_post'] as const;
const ALL_METHODS = [...CONFIDENTIAL_METHODS, 'none'] as const;

/** Authorization server metadata (RFC 8414 §2) with what OpenID Discovery §3 adds, from the live configuration. */
export async function metadata(context: Context): Promise<HttpResponse> {
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${PUBLIC_CACHE_SECONDS}`,
    },
    body: JSON.stringify(serverMetadata(context)),
  };
}

/** The members of the metadata document, names as on the wire. */
export function serverMetadata(context: Context): Readonly<Record<string, unknown>> {
  const { issuer, paths, oidc } = context;
  const at = (path: string) => issuer.replace(/\/$/, '') + path;
  return {
    issuer,
    authorization_endpoint: at(paths.authorization),
    token_endpoint: at(paths.token),
    jwks_uri: at(paths.jwks),
    response_types_supported: ['code'],
    response_modes_supported: RESPONSE_MODES,
    grant_types_supported: GRANT_TYPES,
    token_endpoint_auth_methods_supported: ALL_METHODS,
    introspection_endpoint: at(paths.introspection),
    introspection_endpoint_auth_methods_supported: introspectionMethods(context),
    revocation_endpoint: at(paths.revocation),
    revocation_endpoint_auth_methods_supported: context.authenticateRevoke ? ALL_METHODS : ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: true,
    request_uri_parameter_supported: context.fetchDocument !== undefined,
    require_request_uri_registration: context.requestUriHosts.length === 0,
    request_object_signing_alg_values_supported: SIGNING_ALGORITHMS,
    ...(context.storage.pushedRequests !== undefined && {
      pushed_authorization_request_endpoint: at(paths.pushedAuthorizationRequest),
      require_pushed_authorization_requests: context.requirePushedAuthorizationRequests,
    }),
    ...(oidc !== undefined && {
      userinfo_endpoint: at(paths.userInfo),
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: context.jwt.algorithms,
      scopes_supported: Object.keys(oidc.claimsByScope),
      claims_supported: ['sub', ...new Set(Object.values(oidc.claimsByScope).flat())],
      claim_types_supported: ['normal'],
      claims_parameter_supported: true,
      prompt_values_supported: PROMPTS,
      ...(context.acrValues.length > 0 && { acr_values_supported: context.acrValues }),
    }),
  };
}

function introspectionMethods(context: Context): readonly string[] {
  if (!context.authenticateIntrospect) return ['none'];
  return context.introspectionRequiresConfidentialClient ? CONFIDENTIAL_METHODS : ALL_METHODS;
}
