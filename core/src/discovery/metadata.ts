// The server's metadata document and its public keys.
import { acceptedAlgorithms, provesNothing, supportedMethods } from '../clients/authentication.ts';
import { proofAlgorithms } from '../confirmation/dpop_proof.ts';
import type { Context } from '../context.ts';
import type { HttpResponse } from '../http/http.ts';
import { PROMPTS, RESPONSE_MODES } from '../protocol/authorization_parameters.ts';
import {
  type AuthenticationMethod,
  CONTENT_ENCRYPTIONS,
  ENCRYPTION_ALGORITHMS,
  GRANT_TYPES,
  namesOf,
} from '../protocol/client_metadata.ts';
import { PROFILES } from '../protocol/profile.ts';
import { endpointUrl, urlAt } from '../protocol/redirect_uri.ts';
import { PUBLIC_CACHE_SECONDS } from '../tokens/jwt_service.ts';

/** What the metadata document says about the server. */
export type MetadataContext = Pick<
  Context,
  | 'issuer'
  | 'profile'
  | 'paths'
  | 'storage'
  | 'jwt'
  | 'pairwiseSecret'
  | 'oidc'
  | 'applicationClaims'
  | 'authorizationDetails'
  | 'registration'
  | 'authenticateIntrospect'
  | 'introspectionRequiresConfidentialClient'
  | 'authenticateRevoke'
  | 'canFetch'
  | 'requestUriHosts'
  | 'requirePushedAuthorizationRequests'
  | 'acrValues'
  | 'requestObjectAlgorithms'
  | 'clientAssertionAlgorithms'
  | 'dpopAlgorithms'
  | 'clientCertificates'
  | 'mtlsOrigin'
>;

/** Authorization server metadata (RFC 8414 §2, OpenID Discovery §3) from the current configuration. */
export async function metadata(context: MetadataContext): Promise<HttpResponse> {
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${PUBLIC_CACHE_SECONDS}`,
    },
    body: JSON.stringify(serverMetadata(context)),
  };
}

/** The members of the metadata document, named as on the wire. */
export function serverMetadata(context: MetadataContext): Readonly<Record<string, unknown>> {
  const { issuer, paths, oidc, registration } = context;
  const at = (path: string) => endpointUrl(issuer, path);
  const methods = supportedMethods(context);
  const rules = context.profile && PROFILES[context.profile].members;
  return {
    issuer,
    authorization_endpoint: at(paths.authorization),
    token_endpoint: at(paths.token),
    jwks_uri: at(paths.jwks),
    response_types_supported: ['code'],
    response_modes_supported: Object.keys(RESPONSE_MODES).filter(
      (mode) => rules?.response_modes?.allows([mode]) ?? true,
    ),
    grant_types_supported: GRANT_TYPES,
    ...authentication(context, 'token', methods),
    introspection_endpoint: at(paths.introspection),
    ...authentication(context, 'introspection', introspectionMethods(context, methods)),
    ...(context.authenticateIntrospect && {
      introspection_signing_alg_values_supported: context.jwt.algorithms,
      introspection_encryption_alg_values_supported: ENCRYPTION_ALGORITHMS,
      introspection_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
    }),
    ...(registration !== undefined && { registration_endpoint: at(paths.registration) }),
    revocation_endpoint: at(paths.revocation),
    ...authentication(context, 'revocation', context.authenticateRevoke ? methods : ['none']),
    code_challenge_methods_supported: ['S256'],
    ...(context.authorizationDetails !== undefined && {
      authorization_details_types_supported: context.authorizationDetails.names, // RFC 9396 §10
    }),
    ...(context.dpopAlgorithms.length > 0 && {
      dpop_signing_alg_values_supported: proofAlgorithms(context.dpopAlgorithms),
    }),
    ...(context.clientCertificates && { tls_client_certificate_bound_access_tokens: true }),
    ...(context.mtlsOrigin !== undefined && {
      mtls_endpoint_aliases: endpointsAt(context, context.mtlsOrigin),
    }),
    authorization_response_iss_parameter_supported: true,
    authorization_signing_alg_values_supported: context.jwt.algorithms,
    authorization_encryption_alg_values_supported: ENCRYPTION_ALGORITHMS,
    authorization_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
    ...(rules?.require_signed_request_object !== undefined && { require_signed_request_object: true }), // RFC 9101 §10.5
    request_parameter_supported: true,
    request_uri_parameter_supported: context.canFetch,
    require_request_uri_registration: context.requestUriHosts.length === 0,
    request_object_signing_alg_values_supported: context.requestObjectAlgorithms.flatMap(namesOf),
    ...(context.storage.pushedRequests !== undefined && {
      pushed_authorization_request_endpoint: at(paths.pushedAuthorizationRequest),
      require_pushed_authorization_requests: context.requirePushedAuthorizationRequests,
    }),
    ...(oidc !== undefined && {
      userinfo_endpoint: at(paths.userInfo),
      userinfo_signing_alg_values_supported: context.jwt.algorithms,
      userinfo_encryption_alg_values_supported: ENCRYPTION_ALGORITHMS,
      userinfo_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
      end_session_endpoint: at(paths.endSession),
      backchannel_logout_supported: context.canFetch,
      backchannel_logout_session_supported: context.canFetch,
      subject_types_supported: context.pairwiseSecret === undefined ? ['public'] : ['public', 'pairwise'],
      id_token_signing_alg_values_supported: context.jwt.algorithms,
      id_token_encryption_alg_values_supported: ENCRYPTION_ALGORITHMS,
      id_token_encryption_enc_values_supported: CONTENT_ENCRYPTIONS,
      scopes_supported: [...new Set([...Object.keys(oidc.claimsByScope), 'offline_access'])],
      claims_supported: [
        'sub',
        ...new Set([
          ...Object.values(oidc.claimsByScope).flat(),
          ...(context.applicationClaims?.personal ?? []),
        ]),
      ],
      claim_types_supported: ['normal'],
      claims_parameter_supported: true,
      prompt_values_supported: PROMPTS,
      ...(context.acrValues.length > 0 && { acr_values_supported: context.acrValues }),
    }),
  };
}

/** The endpoints that clients call themselves, at the origin that asks for certificates (RFC 8705 §5). */
function endpointsAt({ issuer, paths, oidc, storage }: MetadataContext, origin: string) {
  const at = (path: string) => urlAt(origin, endpointUrl(issuer, path));
  return {
    token_endpoint: at(paths.token),
    introspection_endpoint: at(paths.introspection),
    revocation_endpoint: at(paths.revocation),
    ...(storage.pushedRequests !== undefined && {
      pushed_authorization_request_endpoint: at(paths.pushedAuthorizationRequest),
    }),
    ...(oidc !== undefined && { userinfo_endpoint: at(paths.userInfo) }),
  };
}

function introspectionMethods(
  context: MetadataContext,
  methods: readonly AuthenticationMethod[],
): readonly AuthenticationMethod[] {
  if (!context.authenticateIntrospect) return ['none'];
  if (!context.introspectionRequiresConfidentialClient) return methods;
  return methods.filter((method) => !provesNothing(method));
}

/** Authentication methods of an endpoint, and the signing algorithms of assertions (RFC 8414 §2). */
function authentication(
  { clientAssertionAlgorithms: accepted }: MetadataContext,
  endpoint: string,
  methods: readonly AuthenticationMethod[],
) {
  const accepting = methods.flatMap((method) => acceptedAlgorithms(method, accepted) ?? []);
  const algorithms = new Set(accepting.flatMap(namesOf));
  return {
    [`${endpoint}_endpoint_auth_methods_supported`]: methods,
    ...(algorithms.size > 0 && {
      [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: [...algorithms],
    }),
  };
}

/** `GET /jwks` (RFC 7517 §5): next, current and retired keys. */
export async function jwks(context: Pick<MetadataContext, 'jwt'>): Promise<HttpResponse> {
  return {
    status: 200,
    headers: {
      'content-type': 'application/jwk-set+json',
      'cache-control': `public, max-age=${PUBLIC_CACHE_SECONDS}`,
    },
    body: JSON.stringify({ keys: await context.jwt.publicKeys() }),
  };
}
