import { DEFAULT_CONTENT_ENCRYPTION } from '../../protocol/client_metadata.ts';
import { formatScope } from '../../protocol/scope.ts';
import { type ClientDocument, responseTypesOf } from './client_document.ts';
import { usualApplicationType } from './redirect_uri_rules.ts';
import type { RegistrationPolicy } from './registration_policy.ts';

/**
 * What a client is where it says nothing: RFC 7591 §2, OpenID Connect Dynamic Client Registration §2. An operator's
 * client is what the operator wrote, and follows the server's own options otherwise.
 */
export function withDefaults(document: ClientDocument, policy: RegistrationPolicy): ClientDocument {
  const complete = { ...document, ...encryptionDefaults(document) };
  if (policy.registrant === 'operator') return complete;
  const { grant_types: grantTypes = ['authorization_code'] } = document;
  const { scopes = [], signingAlgorithms } = policy;
  return {
    token_endpoint_auth_method: 'client_secret_basic',
    response_types: responseTypesOf(grantTypes),
    application_type: usualApplicationType(document, policy),
    subject_type: 'public',
    ...(signingAlgorithms.includes('RS256') && { id_token_signed_response_alg: 'RS256' }),
    ...(scopes.length > 0 && { scope: formatScope(scopes) }),
    ...assertionDefaults(document, policy),
    ...pkceDefaults(document, policy),
    ...complete,
    grant_types: grantTypes,
  };
}

/** Written down only where it differs from what is so anyway. */
function assertionDefaults(
  { token_endpoint_auth_method: method }: ClientDocument,
  { assertionAudience }: RegistrationPolicy,
): ClientDocument {
  const isToBeSaid = method === 'private_key_jwt' && assertionAudience !== 'issuer';
  return isToBeSaid ? { assertion_audience: assertionAudience } : {};
}

function pkceDefaults(
  { token_endpoint_auth_method: method }: ClientDocument,
  { insecureAllowMissingPkce }: RegistrationPolicy,
): ClientDocument {
  return insecureAllowMissingPkce && method !== 'none' ? { insecure_allow_missing_pkce: true } : {};
}

function encryptionDefaults(document: ClientDocument): ClientDocument {
  const byDefault = DEFAULT_CONTENT_ENCRYPTION;
  return {
    ...(document.userinfo_encrypted_response_alg && {
      userinfo_encrypted_response_enc: document.userinfo_encrypted_response_enc ?? byDefault,
    }),
    ...(document.introspection_encrypted_response_alg && {
      introspection_encrypted_response_enc: document.introspection_encrypted_response_enc ?? byDefault,
    }),
  };
}
