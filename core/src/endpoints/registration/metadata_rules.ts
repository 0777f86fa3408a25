import { parseScope } from '../../protocol/scope.ts';
import { sectorOf } from '../../tokens/subject_identifier.ts';
import { type ClientDocument, type MemberName, responseTypesOf } from './client_document.ts';
import { ClientMetadataError } from './client_metadata_error.ts';
import { requireReturnUris } from './redirect_uri_rules.ts';
import type { RegistrationPolicy } from './registration_policy.ts';

type Rule = (document: ClientDocument, policy: RegistrationPolicy) => void;

/**
 * What the members of a document must be to each other and to the server.
 * @throws {ClientMetadataError} the first breach
 */
export function requireRules(document: ClientDocument, policy: RegistrationPolicy): void {
  for (const rule of RULES) rule(document, policy);
}

/** RFC 7591 §2.1: grants and response types go together. */
const requireWorkableGrants: Rule = (document, { grantTypes: allowed }) => {
  const { grant_types: grantTypes = [], response_types: responseTypes } = document;
  if (!grantTypes.every((grant) => allowed.includes(grant)))
    throw unfit('grant_types', `expected ${allowed.join(', ')}`);
  if (grantTypes.includes('refresh_token') && !grantTypes.includes('authorization_code'))
    throw unfit('grant_types', 'refresh_token needs authorization_code');
  const fitting = responseTypesOf(grantTypes);
  if (responseTypes !== undefined && responseTypes.length !== fitting.length)
    throw unfit('response_types', 'expected code where the grants have authorization_code, otherwise none');
};

const requireAllowedScopes: Rule = ({ scope }, { scopes: allowed }) => {
  if (scope === undefined || allowed === undefined) return;
  if (!parseScope(scope).every((one) => allowed.includes(one)))
    throw unfit('scope', `open to clients that register themselves: ${allowed.join(', ') || 'none'}`);
};

/** Keys are given once (RFC 7591 §2), and there where something rests upon them. */
const requireKeys: Rule = (document, { canFetch }) => {
  const { jwks, jwks_uri: uri, token_endpoint_auth_method: method } = document;
  if (jwks !== undefined && uri !== undefined) throw unfit('jwks_uri', 'expected either jwks or jwks_uri');
  if (uri !== undefined && !canFetch) throw unfit('jwks_uri', CANNOT_FETCH);
  if (jwks !== undefined || uri !== undefined) return;
  if (method === 'private_key_jwt')
    throw unfit('token_endpoint_auth_method', 'private_key_jwt needs jwks or jwks_uri');
  for (const name of NEEDING_KEYS) {
    if (document[name] !== undefined && document[name] !== false) throw unfit(name, 'needs jwks or jwks_uri');
  }
};

const requireAuthentication: Rule = (document) => {
  const { token_endpoint_auth_method: method, grant_types: grantTypes = [] } = document;
  if (method === 'none' && grantTypes.includes('client_credentials'))
    throw unfit('grant_types', 'client_credentials needs a confidential client (RFC 6749 section 4.4)');
  if (document.token_endpoint_auth_signing_alg !== undefined && method !== 'private_key_jwt')
    throw unfit('token_endpoint_auth_signing_alg', 'goes with private_key_jwt alone');
};

const requireSignable: Rule = (document, { signingAlgorithms }) => {
  for (const name of SIGNED_BY_SERVER) {
    const algorithm = document[name];
    if (algorithm !== undefined && !signingAlgorithms.includes(algorithm))
      throw unfit(name, `expected one of ${signingAlgorithms.join(', ')}`);
  }
};

/** A content encryption alone would be no encryption (OpenID Connect Dynamic Client Registration §2, RFC 9701 §6). */
const requireWholeEncryption: Rule = (document) => {
  for (const kind of ['userinfo', 'introspection'] as const) {
    const isWhole = document[`${kind}_encrypted_response_alg`] !== undefined;
    if (!isWhole && document[`${kind}_encrypted_response_enc`] !== undefined)
      throw unfit(`${kind}_encrypted_response_enc`, `needs ${kind}_encrypted_response_alg`);
  }
};

/** OpenID Connect Core §8.1: every client with pairwise subjects is of one sector. */
const requireSector: Rule = (document, { hasPairwiseSubjects, canFetch }) => {
  const { sector_identifier_uri: uri, redirect_uris: redirectUris = [], subject_type: type } = document;
  if (uri !== undefined && !canFetch) throw unfit('sector_identifier_uri', CANNOT_FETCH);
  if (type !== 'pairwise') return;
  if (!hasPairwiseSubjects) throw unfit('subject_type', 'pairwise is not supported by this server');
  if (sectorOf({ redirectUris, metadata: document }) === undefined)
    throw unfit('sector_identifier_uri', 'is needed where the redirect URIs are not of one host');
};

/**
 * Logout tokens go where nobody has shown to be of the client, so with pairwise subjects, of which they speak, to a host
 * of its sector. An operator knows whose the place is.
 */
const requireLogoutInSector: Rule = (document, { registrant }) => {
  const { backchannel_logout_uri: uri, sector_identifier_uri: sector, redirect_uris: own = [] } = document;
  if (registrant === 'operator' || document.subject_type !== 'pairwise' || uri === undefined) return;
  const hosts = [...own, ...(sector === undefined ? [] : [sector])].map((one) => new URL(one).hostname);
  if (!hosts.includes(new URL(uri).hostname))
    throw unfit('backchannel_logout_uri', 'expected a host of the redirect URIs, with pairwise subjects');
};

const requireReachable: Rule = (document, { canFetch }) => {
  for (const name of ['request_uris', 'backchannel_logout_uri'] as const) {
    if (document[name] !== undefined && !canFetch) throw unfit(name, CANNOT_FETCH);
  }
};

/** What strangers show to people, or have this server ask, is https. */
const requireSecureUris: Rule = (document, { registrant, allowInsecureUris }) => {
  if (registrant === 'operator' || allowInsecureUris) return;
  for (const [name, value] of Object.entries(document)) {
    const [base = ''] = name.split('#');
    if (!WEB_URIS.has(base)) continue;
    const uris: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (!uris.every((uri) => typeof uri === 'string' && new URL(uri).protocol === 'https:'))
      throw unfit(base, 'expected https');
  }
};

const RULES: readonly Rule[] = [
  requireReturnUris,
  requireWorkableGrants,
  requireAllowedScopes,
  requireAuthentication,
  requireKeys,
  requireSignable,
  requireWholeEncryption,
  requireSector,
  requireLogoutInSector,
  requireReachable,
  requireSecureUris,
];

const CANNOT_FETCH = 'this server fetches nothing from outside';

const NEEDING_KEYS = [
  'request_object_signing_alg',
  'require_signed_request_object',
  'userinfo_encrypted_response_alg',
  'introspection_encrypted_response_alg',
] as const satisfies readonly MemberName[];

const SIGNED_BY_SERVER = [
  'id_token_signed_response_alg',
  'userinfo_signed_response_alg',
  'introspection_signed_response_alg',
  'access_token_signed_response_alg',
] as const satisfies readonly MemberName[];

const WEB_URIS: ReadonlySet<string> = new Set<string>([
  'client_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'jwks_uri',
  'sector_identifier_uri',
  'initiate_login_uri',
  'request_uris',
  'backchannel_logout_uri',
] satisfies readonly MemberName[]);

function unfit(member: string, problem: string): ClientMetadataError {
  return new ClientMetadataError(member, problem);
}
