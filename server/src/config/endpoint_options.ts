import type { ApplicationClaim, ClaimsByScope } from '@grantd/core';
import {
  block,
  isJsonObject,
  oneOf,
  option,
  optionWithoutDefault,
  REGISTRATION_OPTIONS,
  SHARED_OPTIONS,
  seconds,
  switchOrBlock,
  text,
  textList,
  trueOrFalse,
  wholeNumber,
} from '@grantd/core/options';
import { readDetailsTypes } from './details_types.ts';
import { parseNetwork } from './networks.ts';

/** Options of the library, and those of the program about endpoints. */
export const ENDPOINT_OPTIONS = {
  ...SHARED_OPTIONS,
  introspectionPolicy: { ...SHARED_OPTIONS.introspectionPolicy, kind: oneOf('any_client', 'audience') },
  // Opaque tokens are shorter and cheaper than signatures. The library defaults to JWTs, because hosts of its contract
  // expect them.
  useOpaqueRefreshTokens: { ...SHARED_OPTIONS.useOpaqueRefreshTokens, byDefault: true },
  oidc: option(
    'Endpoints',
    switchOrBlock('true, false or {"claimsByScope": {"SCOPE": ["CLAIM", …], …}}', readOidcBlock),
    'Whether OpenID Connect with UserInfo is on. In the config file, it can also map scopes to claims.',
    true,
  ),
  applicationClaims: optionWithoutDefault(
    'Endpoints',
    block(
      '{"CLAIM": {"from": "STORED CLAIM", "in": ["access_token", …], "scopes": […], "clients": […], "apis": […], "live": true|false}, …}',
      readApplicationClaims,
    ),
    'Additional user claims in tokens, UserInfo and introspection. Declare them in the config file (docs/application_claims.md).',
    'none',
  ),
  authorizationDetails: optionWithoutDefault(
    'Endpoints',
    block(
      '{"TYPE": {"schema": JSON SCHEMA, "texts": {"name": "TEXT", "description": "TEXT", "name#de": "TEXT", …}, "clientCredentials": true|false}, …}',
      readDetailsTypes,
    ),
    'Types of authorization details that clients may request, with texts for the consent page. Declare them in the config file (docs/rich_authorization_requests.md).',
    'none, so the server ignores authorization_details',
    { section: 'RFC 9396 §2' },
  ),
  registration: option(
    'Endpoints',
    oneOf('off', 'token', 'open'),
    'Who may register a client (RFC 7591): no one, callers with a token from grantd client registration-token, or anyone.',
    'off',
  ),
  clientDocuments: option(
    'Endpoints',
    oneOf('off', 'listed', 'open'),
    'Whether a client may use the https URL of a document with its metadata as its identifier (Client ID Metadata Documents): no client, those of clientDocumentHosts, or every one. These clients get the scopes, APIs and authorization details of self-registered ones.',
    'off',
  ),
  clientDocumentHosts: option(
    'Endpoints',
    textList('HOSTS', 'a list of hosts in lower case, such as claude.ai or *.example.com', isDocumentHost),
    'Hosts whose client documents are accepted if clientDocuments is listed.',
    [],
  ),
  clientDocumentSiteLimit: option(
    'Endpoints',
    wholeNumber(0, 1_000_000),
    'Maximum client documents that are fetched from one site (the last two labels of a host) for the first time in a minute, per process. One address can use up a third of them. 0 sets no limit.',
    30,
  ),
  clientDocumentDeniedHosts: option(
    'Endpoints',
    textList('HOSTS', 'a list of hosts in lower case, such as claude.ai or *.example.com', isDocumentHost),
    'Hosts whose client documents are never accepted.',
    [],
  ),
  tokenCheck: option(
    'Endpoints',
    trueOrFalse,
    'Whether gateways can check tokens at ISSUER/token/check, which answers by the status alone (docs/gateways.md).',
    false,
  ),
  tokenCheckHeaders: option(
    'Endpoints',
    textList('CLAIMS', 'names of claims such as client_id, separated by commas, or a list of them', (claim) =>
      /^[a-z][a-z0-9_]{0,63}$/.test(claim),
    ),
    'Claims that a gateway gets as headers: client_id as X-Auth-Client-Id.',
    ['sub', 'client_id', 'scope'],
  ),
  tokenCheckAudiences: optionWithoutDefault(
    'Endpoints',
    textList('URIS', 'absolute URIs, separated by commas, or a list of them', URL.canParse, 1),
    'Audiences that a gateway may name. A gateway that is a client may always name its own resource.',
    'none',
  ),
  tokenCheckFrom: optionWithoutDefault(
    'Endpoints',
    textList(
      'ADDRESSES',
      'IP addresses or networks such as 10.0.0.0/8, separated by commas, or a list of them',
      (network) => parseNetwork(network) !== undefined,
      1,
    ),
    'Addresses of gateways that need no credentials. Needs tokenCheckAudiences. Everything at these addresses can check tokens.',
    'none, so each gateway is a client',
  ),
  tokenCheckRequest: option(
    'Endpoints',
    oneOf('none', 'original', 'forwarded'),
    'In which headers gateways pass the method and URL that a client requested, which DPoP proofs need. original: X-Original-Method and X-Original-URL; forwarded: X-Forwarded-Method, X-Forwarded-Proto, X-Forwarded-Host and X-Forwarded-Uri; none: tokens that are bound to a key are refused. The gateway must overwrite these headers in each request.',
    'none',
    { section: 'RFC 9449 §7.1' },
  ),
  tokenCheckCertificateHeader: optionWithoutDefault(
    'Endpoints',
    text('NAME', 'a header name', (name) => /^[\w-]+$/.test(name)),
    'Header in which gateways pass the certificate of their client, in clientCertificateFormat. The gateway must overwrite it in each request.',
    'none, so tokens that are bound to a certificate are refused',
    { section: 'RFC 8705 §3' },
  ),
  registrationScopes: REGISTRATION_OPTIONS.scopes,
  registrationClosedScopes: REGISTRATION_OPTIONS.closedScopes,
  registrationApis: REGISTRATION_OPTIONS.apis,
  registrationRedirectUris: REGISTRATION_OPTIONS.redirectUris,
  registrationAuthorizationDetailsTypes: REGISTRATION_OPTIONS.authorizationDetailsTypes,
  registrationGrantTypes: REGISTRATION_OPTIONS.grantTypes,
  registrationLimit: REGISTRATION_OPTIONS.mostClients,
  registrationAddressLimit: REGISTRATION_OPTIONS.mostClientsPerAddress,
  unusedRegistrationLifetime: option(
    'Lifetimes',
    seconds(0),
    'Seconds after which the server removes an unused self-registered client: it has no active token, no consent, and sends no authorization request. Clients that an operator has changed stay. 0 keeps all. The shortest time is a day.',
    30 * 24 * 60 * 60,
  ),
  registrationAssertionAudience: REGISTRATION_OPTIONS.assertionAudience,
  registrationInsecureAllowMissingPkce: REGISTRATION_OPTIONS.insecureAllowMissingPkce,
  insecureDevelopment: option(
    'Endpoints',
    trueOrFalse,
    'For development only. The issuer may be http outside loopback, self-registered clients may use http and localhost, and the server also fetches client URLs from private addresses.',
    false,
  ),
};

function isDocumentHost(host: string): boolean {
  return /^(?:\*\.)?[a-z0-9.-]+$|^\[[0-9a-f:.]+\]$/.test(host);
}

/** Claim declarations. The library checks every member except `from`. */
export type StoredClaims = Readonly<Record<string, ApplicationClaim & { readonly from?: string }>>;

function readApplicationClaims(values: Readonly<Record<string, unknown>>): StoredClaims | undefined {
  const isClaim = (claim: unknown) =>
    isJsonObject(claim) &&
    Array.isArray(claim.in) &&
    (claim.from === undefined || (typeof claim.from === 'string' && claim.from !== ''));
  return Object.values(values).every(isClaim) ? (values as StoredClaims) : undefined;
}

function readOidcBlock(
  block: Readonly<Record<string, unknown>>,
): { claimsByScope: ClaimsByScope } | undefined {
  const { claimsByScope, ...unknown } = block;
  if (!isClaimsByScope(claimsByScope) || Object.keys(unknown).length > 0) return undefined;
  return { claimsByScope };
}

function isClaimsByScope(value: unknown): value is ClaimsByScope {
  return (
    isJsonObject(value) &&
    Object.values(value).every(
      (claims) => Array.isArray(claims) && claims.every((claim) => typeof claim === 'string'),
    )
  );
}
