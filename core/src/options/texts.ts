// What each option does, in words: for editors, the help of the command line and the documentation. The tables in
// options.ts have the rest. A server does not load this file.

import { ASSERTION_ALGORITHMS, CLIENT_ALGORITHMS } from '../protocol/client_metadata.ts';
import type { TextsOf } from '../protocol/option_kinds.ts';
import type { HOST_OPTIONS, OIDC_OPTIONS, REGISTRATION_OPTIONS, SHARED_OPTIONS } from './options.ts';

/** Texts of the options that a text or a number can express. */
export const SHARED_OPTION_TEXTS: TextsOf<typeof SHARED_OPTIONS> = {
  authenticateIntrospect: {
    group: 'Endpoints',
    about: 'Whether introspection requires client authentication.',
    section: 'RFC 7662 §2.1',
  },
  authenticateRevoke: {
    group: 'Endpoints',
    about: 'Whether revocation requires client authentication.',
    section: 'RFC 7009 §2.1',
  },
  introspectionRequiresConfidentialClient: {
    group: 'Endpoints',
    about:
      'Whether introspection rejects public clients. If authenticateIntrospect is false, the option has no effect.',
  },
  profile: {
    group: 'Endpoints',
    about:
      'FAPI 2.0 profile of the server and all its clients (docs/fapi.md). It changes the defaults of other options, and rejects values that it does not allow. You can also set a profile for single clients.',
    section: 'FAPI 2.0 Security Profile §5.3.2',
    defaultInWords: 'none',
  },
  introspectionPolicy: {
    group: 'Endpoints',
    about:
      'Who may introspect a token. any_client: every client, except that a self-registered client without a resource (which is no API) may introspect only its own tokens; audience: only the client to which the token was issued, the APIs in the token’s audience, and clients with follow_all.',
    section: 'RFC 7662 §4',
  },
  ignoreUnknownTokenTypeHints: {
    group: 'Endpoints',
    about:
      'Whether the server ignores an unknown token_type_hint instead of rejecting the request. For a single client, set ignore_unknown_token_type_hint.',
    section: 'RFC 7009 §2.2.1',
  },
  userInfoAudiences: {
    group: 'Endpoints',
    about:
      'Audiences (aud) that UserInfo accepts, such as the issuer. By default, UserInfo accepts tokens for any audience, so an API can use a token that it has received to read the user’s claims.',
    defaultInWords: 'any',
  },
  strictScopes: {
    group: 'Endpoints',
    about:
      'Whether to reject authorization requests with scopes that the client may not have, instead of leaving them out. For a single client, set strict_scopes.',
    section: 'RFC 6749 §3.3',
  },
  requirePushedAuthorizationRequests: {
    group: 'Endpoints',
    about:
      'Whether every authorization request must be pushed. You can also require this for single clients.',
    section: 'RFC 9126 §5',
  },
  requestUriHosts: {
    group: 'Endpoints',
    about:
      'Hosts from which the server fetches a request_uri that the client did not register. Include the port if it is not 443.',
    section: 'RFC 9101 §10.4.1',
    defaultInWords: 'none',
  },
  requestObjectAlgorithms: {
    group: 'Endpoints',
    about: 'Algorithms with which clients may sign request objects.',
    section: 'RFC 9101 §6.2',
    defaultInWords: CLIENT_ALGORITHMS.join(', '),
  },
  clientAssertionAlgorithms: {
    group: 'Endpoints',
    about:
      'Algorithms of the assertions that authenticate clients. client_secret_jwt needs HS256, HS384 or HS512, and private_key_jwt needs one of the others.',
    section: 'RFC 7523 §3',
    defaultInWords: ASSERTION_ALGORITHMS.join(', '),
  },
  refuseRs256FromClients: {
    group: 'Endpoints',
    about:
      'Whether the server rejects RS256, RS384 and RS512 signatures of clients. If true, it removes them from requestObjectAlgorithms, clientAssertionAlgorithms and dpopAlgorithms.',
    section: 'FAPI 2.0 Security Profile §5.4.1',
  },
  strictRequestObjects: {
    group: 'Endpoints',
    about:
      'Whether every request object needs aud, nbf and exp. By default, a request object in the parameter request needs only exp, and one from a request_uri needs none of them.',
    section: 'FAPI 2.0 Message Signing §5.3.1',
  },
  accessTokenFormat: {
    group: 'Tokens',
    about: 'Format of new access tokens. For a single client, set access_token_format.',
    section: 'RFC 9068',
  },
  accessTokenAlgorithm: {
    group: 'Tokens',
    about: 'Algorithm that signs new access tokens.',
  },
  idTokenAlgorithm: {
    group: 'Tokens',
    about: 'Algorithm that signs new ID tokens.',
  },
  apisWithPlainJwts: {
    group: 'Tokens',
    about:
      'APIs (resource URIs) whose verifiers reject the header typ: at+jwt. If such an API is the only audience of an access token, the token gets typ: JWT instead. UserInfo rejects such tokens.',
    section: 'RFC 9068 §2.1',
    defaultInWords: 'none',
  },
  useOpaqueRefreshTokens: {
    group: 'Tokens',
    about: 'Whether new refresh tokens are opaque instead of JWTs. Existing refresh tokens stay valid.',
  },
  dpopAlgorithms: {
    group: 'Tokens',
    about:
      'Algorithms of the DPoP proofs with which clients bind tokens to a key. DPoP is off if the list is empty, or if the storage has no oneTimeIdentifiers.',
    section: 'RFC 9449 §5.1',
    defaultInWords: CLIENT_ALGORITHMS.join(', '),
  },
  dpopNonces: {
    group: 'Tokens',
    about:
      'Whether DPoP proofs may (offered) or must (required) contain a nonce of this server. A nonce shows that the client did not create the proof in advance.',
    section: 'RFC 9449 §8',
  },
  defaultAudience: {
    group: 'Tokens',
    about: 'Audience (aud) of access tokens if the request selects no API.',
    defaultInWords: 'the issuer',
  },
  cachedTokens: {
    group: 'Tokens',
    about:
      'Maximum entries in each cache of tokens per process: of verified JWTs (about 60 bytes each) and, with SQLite, of records of access tokens (usually 150 to 600 bytes each). Half as many answers of introspection are remembered (about 500 bytes each, with PostgreSQL 900). The value 0 turns these caches off.',
  },
  accessTokenLifetime: {
    group: 'Lifetimes',
    about: 'Seconds until an access token expires.',
  },
  refreshTokenLifetime: {
    group: 'Lifetimes',
    about:
      'Seconds until a refresh token expires. Each rotation issues a new refresh token with the full lifetime.',
  },
  refreshFamilyLifetime: {
    group: 'Lifetimes',
    about:
      'Seconds until all refresh tokens that come from one sign-in expire, even if they were rotated. The user must then sign in again. 0 means no limit.',
    defaultInWords: '7776000 (90 days), or refreshTokenLifetime if that is longer',
  },
  idTokenLifetime: {
    group: 'Lifetimes',
    about: 'Seconds until an ID token expires.',
  },
  authorizationCodeLifetime: {
    group: 'Lifetimes',
    about: 'Seconds until an authorization code expires.',
    section: 'RFC 6749 §4.1.2',
  },
  pushedRequestLifetime: {
    group: 'Lifetimes',
    about: 'Seconds within which the browser must present a pushed authorization request.',
    section: 'RFC 9126 §2.2',
  },
  clientAssertionLifetime: {
    group: 'Lifetimes',
    about:
      'Longest lifetime in seconds of assertions that authenticate clients. For a single client, set assertion_lifetime.',
    section: 'RFC 7523 §3',
  },
  dpopProofLifetime: {
    group: 'Lifetimes',
    about: 'Seconds for which a DPoP proof is accepted after its time of issue (iat).',
    section: 'RFC 9449 §11.1',
  },
  refreshGrace: {
    group: 'Lifetimes',
    about:
      'Seconds for which a client may use a refresh token again after its rotation, and gets the same new token. This helps clients that have lost a response.',
  },
};

/** Texts of the options that only code can set, or that the program sets in its own way. */
export const HOST_OPTION_TEXTS: TextsOf<typeof HOST_OPTIONS> = {
  issuer: {
    group: 'Host',
    about: 'URL that names this server, and is the base of its other URLs.',
    section: 'RFC 8414 §2',
  },
  secret: {
    group: 'Host',
    about:
      'Secret of at least 32 characters. The server derives keys from it, which hash client secrets and encrypt signing keys. To rotate it, pass a list: the server uses the first secret for new hashes and encryption, and accepts data that was made with any secret of the list.',
    defaultInWords: 'none. Required if the server issues tokens, has signing keys or hashes client secrets',
  },
  storage: {
    group: 'Host',
    about: 'Stores clients and tokens, and what else the server needs, in groups of methods.',
  },
  pairwiseSecret: {
    group: 'Host',
    about:
      'Secret of at least 32 characters for pairwise subject identifiers. Never change it: every identifier would change.',
    section: 'OpenID Connect Core §8.1',
    defaultInWords: 'none, so no client can have pairwise subjects',
  },
  jwtService: {
    group: 'Host',
    about:
      'Signs and verifies JWTs. A server that issues no tokens only needs to verify them, as jwtVerifier() does.',
    defaultInWords:
      'a service that uses storage.keys, which is then required unless all tokens are opaque (storage.tokens.keyedBy)',
  },
  accessTokenVerifier: {
    group: 'Host',
    about:
      'Verifies access tokens for UserInfo: signature, typ, issuer and record. The server then checks that the token is alive.',
    defaultInWords: 'the verifier of the library',
  },
  insecureAllowGenericJwts: {
    group: 'Host',
    about:
      'Whether UserInfo also accepts access tokens whose typ is JWT or absent, if their record has the digest of the token or storage.tokens.identify names them. Other JWTs of the same key, such as ID tokens, may then pass for access tokens.',
    section: 'RFC 9068 §2.1',
  },
  verifySecretForUnknownClients: {
    group: 'Host',
    about:
      'Whether the server also calls storage.clients.verifySecret for unknown clients, and ignores the result. Without these calls, the time of a response reveals which clients exist.',
  },
  previousServer: {
    group: 'Host',
    about:
      'The server that this one replaces. Its tokens are accepted until they expire. Requires storage.getPrincipalState.',
    defaultInWords: 'none',
  },
  oidc: {
    group: 'Host',
    about: 'Turns on OpenID Connect.',
    defaultInWords: 'off',
  },
  applicationClaims: {
    group: 'Host',
    about: 'Additional claims, such as roles, groups or a tenant, in tokens, UserInfo and introspection.',
    defaultInWords: 'none',
  },
  authorizationDetails: {
    group: 'Host',
    about: 'Types of authorization details that clients may request, each with a JSON Schema.',
    section: 'RFC 9396 §2',
    defaultInWords: 'none, so the server ignores authorization_details',
  },
  registration: {
    group: 'Host',
    about: 'Turns on dynamic client registration.',
    section: 'RFC 7591, RFC 7592',
    defaultInWords: 'off',
  },
  clientDocuments: {
    group: 'Host',
    about:
      'Accepts clients whose identifier is the URL of a document with their metadata. Needs fetchDocument.',
    section: 'Client ID Metadata Documents',
    defaultInWords: 'off',
  },
  deviceAuthorization: {
    group: 'Host',
    about:
      'Lets devices without a browser sign users in with a short code. Users enter it on a page of your application.',
    section: 'RFC 8628',
    defaultInWords: 'off',
  },
  tokenExchange: {
    group: 'Host',
    about: 'Lets services exchange the token of a caller for one with which they call the next service.',
    section: 'RFC 8693',
    defaultInWords: 'off',
  },
  trustedIssuers: {
    group: 'Host',
    about:
      'Lets workloads authenticate as clients with JWTs of their platform, such as Kubernetes or GitHub Actions, instead of a secret.',
    section: 'RFC 7523 §2.2',
    defaultInWords: 'none',
  },
  acrValues: {
    group: 'Host',
    about: 'Authentication context classes (acr) that sign-ins can reach.',
    section: 'OpenID Connect Core §2',
    defaultInWords: 'none',
  },
  fetchDocument: {
    group: 'Host',
    about:
      'Fetches client URLs (jwks_uri, sector_identifier_uri, request_uri) and delivers back-channel logouts. It must refuse addresses inside the server’s own network, as documentFetcher() of @grantd/core/node does.',
    defaultInWords: 'the server refuses requests that need a fetch',
  },
  clientCertificates: {
    group: 'Host',
    about:
      'Whether clients can bind tokens to TLS certificates, and authenticate with a registered certificate (self_signed_tls_client_auth). With loadCertificateReader, they can also authenticate by a name in a certificate (tls_client_auth). Adapters get the certificate from their option clientCertificate.',
    section: 'RFC 8705 §2',
  },
  mtlsOrigin: {
    group: 'Host',
    about:
      'Origin at which clients present certificates. If it is not the issuer’s origin, browsers show no dialog for certificates. The metadata names its endpoints.',
    section: 'RFC 8705 §5',
    defaultInWords: 'the issuer’s origin',
  },
  paths: {
    group: 'Host',
    about:
      'Paths of the endpoints, below the issuer. Set those that your application serves at other paths than the default.',
    defaultInWords: 'DEFAULT_PATHS',
  },
  getSubjectState: {
    group: 'Host',
    about: 'Returns whether a user is enabled, disabled or unknown. Only enabled users have active tokens.',
    defaultInWords: 'the state in storage',
  },
  mayUseClient: {
    group: 'Host',
    about:
      'Returns whether a user may use a client that has allowed_groups: true, false, or acr_unmet if this sign-in is not enough. The server calls it before each code, code exchange, refresh and token exchange. With a sign-in whose amr is known, it also asks about clients that have sign_in_policy, and about sign-ins by recheckedAmr. If it rejects, the response is 503. When a user may no longer use a client, also call storage.revokeGrants.',
    defaultInWords: 'no user may use a client that has allowed_groups',
  },
  recheckedAmr: {
    group: 'Host',
    about:
      'Authentication methods (values of amr) that your application can take from a user after the sign-in. For their grants, the server asks mayUseClient for every client.',
    defaultInWords: 'none',
  },
  onEvent: {
    group: 'Host',
    about: 'Receives refusals, inactive tokens, revocations and successful requests, for logs and audits.',
    defaultInWords: 'console.error for faults',
  },
  clock: {
    group: 'Host',
    about: 'Returns the current time in milliseconds since 1970.',
    defaultInWords: 'the system clock',
  },
  random: {
    group: 'Host',
    about: 'Returns the requested number of cryptographically random bytes.',
    defaultInWords: 'the system’s random generator',
  },
};

/** Texts of the members of `oidc`. */
export const OIDC_OPTION_TEXTS: TextsOf<typeof OIDC_OPTIONS> = {
  getUserClaims: {
    group: 'Host',
    about: 'Returns a user’s claims for UserInfo. If it rejects, the response is 503.',
    section: 'OpenID Connect Core §5.3',
  },
  claimsByScope: {
    group: 'Host',
    about: 'Claims that each scope permits.',
    section: 'OpenID Connect Core §5.4',
    defaultInWords: 'the standard claims of OpenID Connect',
  },
};

/** Texts of the members of `registration`. */
export const REGISTRATION_OPTION_TEXTS: TextsOf<typeof REGISTRATION_OPTIONS> = {
  openTo: {
    group: 'Endpoints',
    about:
      'Who may register: anyone, or callers with an initial access token from operator.newInitialAccessToken. With a function, your application checks the initial access token itself.',
    section: 'RFC 7591 §3',
  },
  scopes: {
    group: 'Endpoints',
    about:
      'Scopes that self-registered clients may obtain, in addition to the OpenID Connect scopes and offline_access.',
    defaultInWords: 'none',
  },
  closedScopes: {
    group: 'Endpoints',
    about: 'Scopes that self-registered clients may not obtain, such as offline_access.',
    defaultInWords: 'none',
  },
  apis: {
    group: 'Endpoints',
    about:
      'Resource URIs of the APIs that self-registered clients may request. A client keeps the list with which it registered.',
    defaultInWords: 'none',
  },
  redirectUris: {
    group: 'Endpoints',
    about:
      'Exact redirect URIs that self-registered clients may also use, although the rules for their type of application exclude them, such as one with a private-use scheme without a period.',
    section: 'RFC 8252 §7.1',
    defaultInWords: 'none',
  },
  authorizationDetailsTypes: {
    group: 'Endpoints',
    about: 'Types of authorization details that self-registered clients may request.',
    section: 'RFC 9396 §10',
    defaultInWords: 'none',
  },
  grantTypes: {
    group: 'Endpoints',
    about:
      'Grant types that self-registered clients may use. With client_credentials, anyone who may register gets tokens without a user.',
    defaultInWords: 'authorization_code and refresh_token',
  },
  allowInsecureUris: {
    group: 'Endpoints',
    about:
      'For development only. Whether self-registered clients may use http and localhost, which exposes authorization codes on the network.',
  },
  assertionAudience: {
    group: 'Endpoints',
    about:
      'Audience that assertions of self-registered clients may name. issuer: only the issuer; endpoint: also the URL of the endpoint that receives the assertion. With endpoint, an attacker’s authorization server could name this URL as one of its own endpoints, and replay the assertions that it gets from clients. Clients keep the setting with which they registered.',
  },
  insecureAllowMissingPkce: {
    group: 'Endpoints',
    about:
      'Whether self-registered confidential clients may omit PKCE, which exposes them to code injection. A client keeps the setting with which it registered.',
    section: 'RFC 9700 §2.1.1',
  },
  mostClients: {
    group: 'Endpoints',
    about: 'Maximum number of self-registered clients. The server rejects further registrations.',
  },
  mostClientsPerAddress: {
    group: 'Endpoints',
    about:
      'Maximum number of self-registered clients from one IPv4 address or IPv6 /64, if anyone may register. The program counts an IPv6 /48 as four addresses. Needs requests with a place.',
  },
};
