import { unreadableName } from '../../protocol/display_name.ts';
import { parseScope } from '../../protocol/scope.ts';
import { sectorOf, webHostOf } from '../../tokens/subject_identifier.ts';
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

const requireApi: Rule = ({ resource, api_scopes: scopes }) => {
  if (scopes !== undefined && resource === undefined) throw unfit('api_scopes', 'needs resource');
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

/** Nothing but PKCE protects the codes of a public client (RFC 9700 §2.1.1). */
const requirePkceOfPublicClients: Rule = (document) => {
  const { token_endpoint_auth_method: method, insecure_allow_missing_pkce: isWaived } = document;
  if (method === 'none' && isWaived === true)
    throw unfit('insecure_allow_missing_pkce', 'a public client needs PKCE (RFC 9700 section 2.1.1)');
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
    throw unfit(
      'sector_identifier_uri',
      'is needed unless all redirect URIs are of one https host, or none is',
    );
};

/**
 * Logout tokens carry the subject, and the client has not proven that the URI is its own: with pairwise subjects they go
 * to a host of its redirect URIs or sector alone. An operator knows the owner of the URI.
 */
const requireLogoutInSector: Rule = (document, { registrant }) => {
  const { backchannel_logout_uri: uri, sector_identifier_uri: sector, redirect_uris: own = [] } = document;
  if (registrant === 'operator' || document.subject_type !== 'pairwise' || uri === undefined) return;
  const hosts = [...own.map(webHostOf), sector === undefined ? undefined : new URL(sector).hostname];
  if (!hosts.includes(new URL(uri).hostname))
    throw unfit(
      'backchannel_logout_uri',
      'expected an https host of the redirect URIs, with pairwise subjects',
    );
};

/** A URL that this server never asks for is refused at once, not when it would be needed. */
const requireReachable: Rule = (document, { canFetch, refusalOf }) => {
  for (const name of ['request_uris', 'backchannel_logout_uri'] as const) {
    if (document[name] !== undefined && !canFetch) throw unfit(name, CANNOT_FETCH);
  }
  for (const [name, value] of Object.entries(document)) {
    const [base = ''] = name.split('#');
    if (!FETCHED_MEMBERS.has(base)) continue;
    const refusal = [value]
      .flat()
      .map((url) => refusalOf(String(url)))
      .find((one) => one !== undefined);
    if (refusal !== undefined) throw unfit(base, `the server never asks for this URL: ${refusal}`);
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

/** People trust a client by its name, so one that nobody checked has no name that could be read as another's. */
const requireReadableName: Rule = (document, { registrant }) => {
  if (registrant === 'operator') return;
  const problem = unreadableNameOf(document);
  if (problem !== undefined) throw unfit('client_name', `expected ${problem}`);
};

/**
 * What is wrong with the name of a client in any language, for a person who reads it.
 * @returns ends the sentence "expected …"
 */
export function unreadableNameOf(document: ClientDocument): string | undefined {
  for (const [name, value] of Object.entries(document)) {
    if (name.split('#')[0] !== 'client_name') continue;
    const problem = unreadableName(String(value));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const RULES: readonly Rule[] = [
  requireReadableName,
  requireReturnUris,
  requireWorkableGrants,
  requireAllowedScopes,
  requireApi,
  requireAuthentication,
  requirePkceOfPublicClients,
  requireKeys,
  requireSignable,
  requireWholeEncryption,
  requireSector,
  requireLogoutInSector,
  requireSecureUris,
  requireReachable,
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

/** Members with URLs that the server asks for by itself. */
export const FETCHED_MEMBERS: ReadonlySet<string> = new Set<string>([
  'jwks_uri',
  'logo_uri',
  'request_uris',
  'sector_identifier_uri',
  'backchannel_logout_uri',
] satisfies readonly MemberName[]);

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
