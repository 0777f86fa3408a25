// The server's metadata document and its public keys.
import { acceptedAlgorithms, provesNothing, supportedMethods } from '../clients/authentication.ts';
import { proofAlgorithms } from '../confirmation/dpop_proof.ts';
import type { HttpResponse } from '../http/http.ts';
import { PROMPTS, RESPONSE_MODES } from '../protocol/authorization_parameters.ts';
import {
  type AuthenticationMethod,
  CONTENT_ENCRYPTIONS,
  DEVICE_GRANT,
  ENCRYPTION_ALGORITHMS,
  type EncryptedResponse,
  EXCHANGE_GRANT,
  GRANT_TYPES,
  type GrantType,
  ID_JAG_TOKEN_TYPE,
  JWT_BEARER_GRANT,
  namesOf,
  requirementsOf,
} from '../protocol/client_metadata.ts';
import { PROFILES } from '../protocol/profile.ts';
import { endpointUrl, urlAt } from '../protocol/redirect_uri.ts';
import type { Context } from '../request/context.ts';
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
  | 'documents'
  | 'deviceAuthorization'
  | 'tokenExchange'
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
  | 'trustedIssuers'
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

/** The members of the metadata document, named as on the wire. Without a group of storage, its endpoints are missing. */
export function serverMetadata(context: MetadataContext): Readonly<Record<string, unknown>> {
  const { issuer, paths, registration, storage } = context;
  const at = (path: string) => endpointUrl(issuer, path);
  const methods = supportedMethods(context);
  return {
    issuer,
    ...endpointsAt(context, issuer),
    ...(storage.groups.has('authorizationCodes') && authorizationMembers(context)),
    ...(storage.groups.has('issuing') && {
      jwks_uri: at(paths.jwks),
      response_types_supported: responseTypes(context),
      grant_types_supported: grantTypes(context),
      ...(context.trustedIssuers?.acceptsIdentityAssertions && {
        authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'],
      }),
      ...(context.tokenExchange && {
        identity_chaining_requested_token_types_supported: [ID_JAG_TOKEN_TYPE],
      }),
      ...authentication(context, 'token', methods),
    }),
    ...authentication(context, 'introspection', introspectionMethods(context, methods)),
    ...(context.authenticateIntrospect && jwtAnswers(context, 'introspection')),
    ...(registration !== undefined && { registration_endpoint: at(paths.registration) }),
    ...(context.documents !== undefined && { client_id_metadata_document_supported: true }),
    ...authentication(context, 'revocation', context.authenticateRevoke ? methods : ['none']),
    ...(context.dpopAlgorithms.length > 0 && {
      dpop_signing_alg_values_supported: proofAlgorithms(context.dpopAlgorithms),
    }),
    ...(context.clientCertificates && { tls_client_certificate_bound_access_tokens: true }),
    ...(context.mtlsOrigin !== undefined && {
      mtls_endpoint_aliases: endpointsAt(context, urlAt(context.mtlsOrigin, issuer)),
    }),
    ...openIdMembers(context),
  };
}

function responseTypes({ storage }: MetadataContext): readonly string[] {
  return storage.groups.has('authorizationCodes') ? ['code'] : [];
}

function grantTypes(context: MetadataContext): readonly GrantType[] {
  const offered = responseTypes(context);
  return GRANT_TYPES.filter(
    (grant) =>
      (grant !== DEVICE_GRANT || context.deviceAuthorization) &&
      (grant !== EXCHANGE_GRANT || context.tokenExchange) &&
      (grant !== JWT_BEARER_GRANT || context.trustedIssuers?.grants[grant]) &&
      requirementsOf(grant).responseTypes.every((type) => offered.includes(type)),
  );
}

function authorizationMembers(context: MetadataContext) {
  const { issuer, paths, profile } = context;
  const rules = profile && PROFILES[profile].members;
  return {
    authorization_endpoint: endpointUrl(issuer, paths.authorization),
    response_modes_supported: Object.keys(RESPONSE_MODES).filter(
      (mode) => rules?.response_modes?.allows([mode]) ?? true,
    ),
    code_challenge_methods_supported: ['S256'],
    ...(context.authorizationDetails !== undefined && {
      authorization_details_types_supported: context.authorizationDetails.names, // RFC 9396 §10
    }),
    authorization_response_iss_parameter_supported: true,
    ...jwtAnswers(context, 'authorization'),
    ...(rules?.require_signed_request_object !== undefined && { require_signed_request_object: true }), // RFC 9101 §10.5
    request_parameter_supported: true,
    request_uri_parameter_supported: context.canFetch,
    require_request_uri_registration: context.requestUriHosts.length === 0,
    request_object_signing_alg_values_supported: context.requestObjectAlgorithms.flatMap(namesOf),
    ...(canPush(context.storage) && {
      require_pushed_authorization_requests: context.requirePushedAuthorizationRequests,
    }),
  };
}

/** Without one-time identifiers, a pushed request would never end. */
function canPush({ groups }: MetadataContext['storage']): boolean {
  return (['pending', 'oneTimeIdentifiers', 'authorizationCodes'] as const).every((name) => groups.has(name));
}

function openIdMembers(context: MetadataContext) {
  const { issuer, paths, oidc, canFetch, pairwiseSecret, storage } = context;
  if (oidc === undefined) return undefined;
  const personal = context.applicationClaims?.personal ?? [];
  return {
    ...jwtAnswers(context, 'userinfo'),
    ...(storage.groups.has('authorizationCodes') && {
      end_session_endpoint: endpointUrl(issuer, paths.endSession),
      backchannel_logout_supported: canFetch,
      backchannel_logout_session_supported: canFetch,
      ...jwtAnswers(context, 'id_token'),
      prompt_values_supported: PROMPTS,
      claims_parameter_supported: true,
      ...(context.acrValues.length > 0 && { acr_values_supported: context.acrValues }),
    }),
    subject_types_supported: pairwiseSecret === undefined ? ['public'] : ['public', 'pairwise'],
    scopes_supported: [...new Set([...Object.keys(oidc.claimsByScope), 'offline_access'])],
    claims_supported: ['sub', ...new Set([...Object.values(oidc.claimsByScope).flat(), ...personal])],
    claim_types_supported: ['normal'],
  };
}

/** Algorithms of answers that can be JWTs. A server that only verifies signs none. */
function jwtAnswers({ jwt }: MetadataContext, answer: EncryptedResponse) {
  return (
    jwt.algorithms.length > 0 && {
      [`${answer}_signing_alg_values_supported`]: jwt.algorithms,
      [`${answer}_encryption_alg_values_supported`]: ENCRYPTION_ALGORITHMS,
      [`${answer}_encryption_enc_values_supported`]: CONTENT_ENCRYPTIONS,
    }
  );
}

/** The endpoints that clients call themselves, below the issuer or at the origin that asks for certificates (RFC 8705 §5). */
function endpointsAt({ paths, oidc, storage, deviceAuthorization }: MetadataContext, base: string) {
  const at = (path: string) => endpointUrl(base, path);
  return {
    ...(storage.groups.has('issuing') && { token_endpoint: at(paths.token) }),
    introspection_endpoint: at(paths.introspection),
    revocation_endpoint: at(paths.revocation),
    ...(canPush(storage) && {
      pushed_authorization_request_endpoint: at(paths.pushedAuthorizationRequest),
    }),
    ...(deviceAuthorization && { device_authorization_endpoint: at(paths.deviceAuthorization) }), // RFC 8628 §4
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
