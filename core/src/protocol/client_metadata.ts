// Values of client metadata, how URIs of APIs are compared, and what each grant type requires. The members are in
// client_members.ts.

/** How a client authenticates (RFC 7591 §2, RFC 7523 §2.2, RFC 8705 §2). */
export const AUTHENTICATION_METHODS = [
  'client_secret_basic',
  'client_secret_post',
  'client_secret_jwt',
  'private_key_jwt',
  'trusted_issuer_jwt',
  'tls_client_auth',
  'self_signed_tls_client_auth',
  'none',
] as const;
export type AuthenticationMethod = (typeof AUTHENTICATION_METHODS)[number];

/** The methods of a client with a secret that is registered for none. */
export const USUAL_SECRET_METHODS = ['client_secret_basic', 'client_secret_post'] as const;

/** The method of a client that registers itself without naming one (RFC 7591 §2). */
export const REGISTERED_METHOD: AuthenticationMethod = 'client_secret_basic';

/** Audiences that client assertions may name: only the issuer, or also the URL of the endpoint. */
export const ASSERTION_AUDIENCES = ['issuer', 'endpoint'] as const;
export type AssertionAudience = (typeof ASSERTION_AUDIENCES)[number];

/** Security profiles, each stricter than the one before. `PROFILES` in profile.ts says what they require. */
export const PROFILE_NAMES = ['fapi2-security', 'fapi2-message-signing'] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/**
 * What a sign-in can need: a second factor if the user has one, a second factor, or a passkey. Each is stricter than the
 * one before.
 */
export const SIGN_IN_POLICIES = ['second_factor_if_enrolled', 'second_factor', 'phishing_resistant'] as const;

/** Key management algorithms for encrypted responses (RFC 7518 §4.1). */
export const ENCRYPTION_ALGORITHMS = ['RSA-OAEP-256', 'ECDH-ES', 'ECDH-ES+A128KW', 'ECDH-ES+A256KW'] as const;
export type EncryptionAlgorithm = (typeof ENCRYPTION_ALGORITHMS)[number];

/** Content encryption algorithms for encrypted responses (RFC 7518 §5.1). */
export const CONTENT_ENCRYPTIONS = ['A128CBC-HS256', 'A256CBC-HS512', 'A128GCM', 'A256GCM'] as const;
export type ContentEncryption = (typeof CONTENT_ENCRYPTIONS)[number];

/** What the server can encrypt for a client: the members `…_encrypted_response_alg` and `…_encrypted_response_enc`. */
export const ENCRYPTED_RESPONSES = ['id_token', 'userinfo', 'authorization', 'introspection'] as const;
export type EncryptedResponse = (typeof ENCRYPTED_RESPONSES)[number];

/** OpenID Connect Dynamic Client Registration §2, JARM §3, RFC 9701 §6. */
export const DEFAULT_CONTENT_ENCRYPTION: ContentEncryption = 'A128CBC-HS256';

/** Maximum keys of one client. Further ones are ignored, because anyone can register a client with a huge set. */
export const MOST_KEYS = 32;

export const TOKEN_FORMATS = ['jwt', 'opaque'] as const;
export type TokenFormat = (typeof TOKEN_FORMATS)[number];

/**
 * Algorithms that the server signs with. Ed25519 is the newer name of EdDSA with this curve (RFC 9864 §2.2). Some
 * libraries know only one of the names, so each has its own keys, and the client registers the one it knows.
 */
export const SIGNING_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'] as const;
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number];

/** Algorithms that clients sign with, by private key. EdDSA stands for both of its names (ADR 74, ADR 129). */
export const CLIENT_ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512'] as const),
  ...(['PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
  'EdDSA',
] as const;
export type ClientAlgorithm = (typeof CLIENT_ALGORITHMS)[number];

/** Returns the algorithm of an `alg` value, or `undefined` if it is not accepted. */
export function clientAlgorithmOf(alg: unknown): ClientAlgorithm | undefined {
  return alg === 'Ed25519' ? 'EdDSA' : CLIENT_ALGORITHMS.find((algorithm) => algorithm === alg);
}

/** Returns all `alg` values of an algorithm. */
export function namesOf(algorithm: string): readonly string[] {
  return algorithm === 'EdDSA' ? [algorithm, 'Ed25519'] : [algorithm];
}

/** MACs of assertions by the client's secret (RFC 7518 §3.2). The server itself signs nothing with them. */
export const MAC_ALGORITHMS = ['HS256', 'HS384', 'HS512'] as const;
export type MacAlgorithm = (typeof MAC_ALGORITHMS)[number];

/** All algorithms of client assertions. */
export const ASSERTION_ALGORITHMS = [...CLIENT_ALGORITHMS, ...MAC_ALGORITHMS] as const;
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

export function macAlgorithmOf(alg: unknown): MacAlgorithm | undefined {
  return MAC_ALGORITHMS.find((algorithm) => algorithm === alg);
}

/** Returns the least bytes of a key: as many as the MAC has (RFC 7518 §3.2). */
export function macKeyBytes(algorithm: MacAlgorithm): number {
  return { HS256: 32, HS384: 48, HS512: 64 }[algorithm];
}

/** Scopes about a user. A client that acts for itself cannot have them. */
const PERSONAL_SCOPES: ReadonlySet<string> = new Set([
  'openid',
  'profile',
  'email',
  'address',
  'phone',
  'offline_access',
]);

export function isPersonalScope(scope: string): boolean {
  return PERSONAL_SCOPES.has(scope);
}

// ── URIs of APIs ──────────────────────────────────────────────────────────────────────────────────────────

/** Whether a text can identify an API: an absolute ASCII URI without fragment (RFC 8707 §2). */
export function isResourceUri(text: string): boolean {
  return /^[\x21-\x7E]+$/.test(text) && !text.includes('#') && URL.canParse(text);
}

const SCHEME = /^[a-z][a-z\d+.-]*:/i;
/** After the authority comes a path, a query or nothing (RFC 3986 §3). */
const UP_TO_PATH =
  /^(?<scheme>[a-z\d+.-]+):\/\/(?<userinfo>[^/?#]*@)?(?<host>[^/?#@]*?)(?::(?<port>\d*))?(?:\/|(?=[?#]|$))/;

/** Default ports (RFC 3986 §6.2.3). */
const PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443' };

/**
 * Returns the same text for all spellings of a URI that differ only in the case of scheme and host (RFC 3986 §6.2.2.1),
 * in a default port, or in the slash of an empty path (RFC 3986 §6.2.3), because URL libraries add and remove them. Everything
 * else is exact. A text that is no URI comes back as it is.
 */
export function normalResource(uri: string): string {
  const lower = uri.replace(SCHEME, (scheme) => scheme.toLowerCase());
  return lower.replace(UP_TO_PATH, (_, scheme: string, userinfo = '', host: string, port = '') => {
    return `${scheme}://${userinfo}${host.toLowerCase()}${['', PORTS[scheme]].includes(port) ? '' : `:${port}`}/`;
  });
}

/** Whether two URIs are the same resource. Use it wherever resources and audiences are compared. */
export function isSameResource(a: unknown, b: string): boolean {
  return a === b || (typeof a === 'string' && normalResource(a) === normalResource(b));
}

/** Whether a list has a resource, in any spelling. */
export function hasResource(list: readonly unknown[], resource: string): boolean {
  return list.includes(resource) || list.some((item) => isSameResource(item, resource));
}

/** Whether clients can send the URI: URL libraries do not turn it into another one, as they do with dot segments. */
export function isSendableResource(uri: string): boolean {
  return isSameResource(URL.parse(uri)?.href, uri);
}

/**
 * Returns all spellings of a URI, in lower case, for stores that look them up in an index. Paths may differ in case, so
 * the store must compare what it finds by `isSameResource`.
 */
export function lowerCaseSpellings(uri: string): readonly string[] {
  const normal = normalResource(uri);
  const [start = '', scheme = '', , , port] = UP_TO_PATH.exec(normal) ?? [];
  if (start === '') return [normal.toLowerCase()];
  const rest = normal.slice(start.length);
  const ports = port === undefined ? ['', ':', `:${PORTS[scheme] ?? ''}`] : [''];
  const slashes = rest === '' || rest.startsWith('?') ? ['/', ''] : ['/'];
  const spellings = ports.flatMap((port) => slashes.map((slash) => start.slice(0, -1) + port + slash + rest));
  return [...new Set(spellings.map((spelling) => spelling.toLowerCase()))];
}

// ── Grant types ───────────────────────────────────────────────────────────────────────────────────────────

/** What a client must have to use a grant type (RFC 7591 §2.1). Registration and the token endpoint check it. */
interface GrantRequirements {
  /** The grant type's `response_types`. If there are any, the client needs a redirect URI. */
  readonly responseTypes: readonly 'code'[];
  /** Other grant types that issue what this one redeems. The client needs one of them. */
  readonly needs?: readonly string[];

  readonly isForConfidentialClients?: true;
  /** Only an operator gives it. */
  readonly isForOperators?: true;
}

/** The grant type of devices (RFC 8628 §3.4). */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** The grant type of token exchange (RFC 8693 §2.1). */
export const EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The grant type of JWTs of trusted issuers (RFC 7523 §2.1). */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** `typ` of identity assertions (Identity Assertion JWT Authorization Grant), in lower case. */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt';

/** What a client requests to obtain one. */
export const ID_JAG_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:id-jag';

/** All grant types. The table in token/token.ts has the code of each, except of those that are options (ADR 171, ADR 182). */
export const GRANTS = {
  authorization_code: { responseTypes: ['code'] },
  refresh_token: { responseTypes: [], needs: ['authorization_code', DEVICE_GRANT] },
  client_credentials: { responseTypes: [], isForConfidentialClients: true },
  [DEVICE_GRANT]: { responseTypes: [] },
  [EXCHANGE_GRANT]: { responseTypes: [], isForConfidentialClients: true, isForOperators: true },
  [JWT_BEARER_GRANT]: { responseTypes: [], isForConfidentialClients: true, isForOperators: true },
} as const satisfies Readonly<Record<string, GrantRequirements>>;

export type GrantType = keyof typeof GRANTS;

/** What options add to the token endpoint. Each is a `Grant`, which declarations do not describe. */
export type FurtherGrants = { readonly [G in GrantType]?: object };

export const GRANT_TYPES = Object.keys(GRANTS) as readonly GrantType[];

/** Those that a client can register itself for. */
export const OPEN_GRANT_TYPES = GRANT_TYPES.filter((grant) => !requirementsOf(grant).isForOperators);

/** The grants of a client that registers itself without naming any (RFC 7591 §2). */
export const REGISTERED_GRANTS: readonly GrantType[] = ['authorization_code'];

export function requirementsOf(grantType: GrantType): GrantRequirements {
  return GRANTS[grantType];
}

/** Whether the client knows users by an identifier that other sectors do not have (OpenID Connect Core §8). */
export function hasPairwiseSubjects({ metadata }: { metadata?: { subject_type?: string } }): boolean {
  return metadata?.subject_type === 'pairwise';
}

/** A day in seconds. Retired keys stay published at least this long, because ID tokens have no records. */
export const LONGEST_ID_TOKEN_LIFETIME = 24 * 60 * 60;
