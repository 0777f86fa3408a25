// Issuers whose JWTs the operator trusts, and client authentication by such JWTs. § refers to RFC 7523.
import type { CryptoKey, JWK } from 'jose';
import { sha256 } from '#crypto';
import { ASSERTION_TYPE, isTime, MAX_ASSERTION_LENGTH, unverifiedClaims } from '../clients/assertion.ts';
import { type ClientContext, type ForeignAssertions, takeOnce, type UnfitJwt } from '../clients/client.ts';
import { type Claim, type FoundCredentials, refusedClient, type Verdict } from '../clients/credentials.ts';
import { standInKey } from '../clients/private_key_jwt.ts';
import { ConfigurationError, loggable, type RefusalReason } from '../http/errors.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { type Form, isScopeToken, requireParameter } from '../http/form.ts';
import { isJsonObject, type JsonObject, parseJson } from '../http/http.ts';
import { CLIENT_CLOCK_AHEAD } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import {
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  clientAlgorithmOf,
  ID_JAG_TYPE,
  isResourceUri,
  JWT_BEARER_GRANT,
  macAlgorithmOf,
} from '../protocol/client_metadata.ts';
import {
  anyFunction,
  anyValue,
  hostValue,
  type KindsOf,
  listOf,
  oneOf,
  requireKinds,
  seconds,
  text,
  textList,
  trueOrFalse,
} from '../protocol/option_kinds.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { Awaitable } from '../storage/contract.ts';
import { readJwtHeader, verifiedPayload } from '../tokens/jwt.ts';
import { importPublicKey, keyThatSigned, RemoteKeySets, readPublicKeys } from '../tokens/public_keys.ts';
import { patternsOf, type UnmatchedClaim } from './claim_patterns.ts';
import {
  acceptedJwt,
  assertedSession,
  type GrantRule,
  identifierOf,
  jwtBearer,
  namedBy,
  unmatchedBy,
  unusedRow,
  type Verifies,
} from './jwt_bearer.ts';

/** An issuer whose JWTs are accepted. */
export interface TrustedIssuer {
  /** The `iss` of its JWTs, or `spiffe://` and the trust domain of JWT-SVIDs. */
  readonly issuer: string;
  /** Its public keys. */
  readonly jwks?: JsonObject;
  /** URL of its public keys. Default: the metadata of the issuer names it. */
  readonly jwksUri?: string;
  /** Fetches metadata and keys. Default: the server's option. */
  readonly fetchDocument?: FetchDocument;
  /** Default: all that use public keys. */
  readonly algorithms?: readonly ClientAlgorithm[];
  /**
   * Whether a JWT works for one request, or until it ends. A client assertion needs a `jti` for `once`. Default: `allowed` for
   * JWT-SVIDs, otherwise `once`.
   */
  readonly reuse?: 'allowed' | 'once';
  /** The most seconds between `iat` and `exp`. Default: 3600. */
  readonly maxLifetime?: number;
  /** Clients that its JWTs authenticate. Each needs the authentication method `trusted_issuer_jwt`. */
  readonly clients?: readonly TrustedClient[];
  /** Whose access clients get with its JWTs. Each client needs the grant `JWT_BEARER_GRANT`. */
  readonly grants?: readonly TrustedGrant[];
  /** The user whom a JWT with this `sub` names, for grants without `subject`. */
  readonly findSubject?: (sub: string) => Awaitable<string | undefined>;
  /** Whether `aud` of a grant may be the URL of the token endpoint. Default: `false`. */
  readonly tokenEndpointAudience?: boolean;
}

/** Whose access clients get with a JWT: an access token that lives no longer than the JWT. */
export interface TrustedGrant {
  readonly clients: readonly string[];
  /** Needs `sub`, unless `findSubject` tells the user. Default: all claims match. */
  readonly claims?: ClaimPatterns;
  /** The user. Default: `findSubject` tells. */
  readonly subject?: string;
  /** Default: those of the client. */
  readonly scopes?: readonly string[];
  /** URIs of APIs. Default: those of the client. */
  readonly apis?: readonly string[];
  /** The most seconds that the access token lives. */
  readonly lifetime?: number;
  /** `id-jag`: for identity assertions, and for no other JWTs. */
  readonly profile?: 'id-jag';
}

/**
 * What claims must be. A text must equal the whole claim. In it, `*` stands for a whole part between `:` or `/`, which is
 * not empty and has neither character. A list has alternatives, and an object patterns for the members of the claim.
 * @example
 * { sub: 'repo:acme/shop:ref:refs/heads/*', repository_owner_id: '4711', 'kubernetes.io': { namespace: 'shop' } }
 */
export interface ClaimPatterns {
  readonly [claim: string]: string | number | boolean | readonly string[] | ClaimPatterns;
}

/** A client, with claims of its JWTs. */
export interface TrustedClient {
  readonly client: string;
  readonly claims: ClaimPatterns;
}

/** What the option `trustedIssuers` takes. */
export interface TrustedIssuers {
  /** @throws {ConfigurationError} the storage lacks what the issuers need, or nothing can fetch keys */
  open(services: TrustServices): ForeignAssertions;
}

type TrustServices = Pick<ClientContext, 'clock' | 'storage' | 'issuer'> & {
  readonly fetchDocument: FetchDocument | undefined;
};

const OPTION = 'trustedIssuers';

const OPTIONS: KindsOf<TrustedIssuer> = {
  issuer: text('ISSUER', 'the iss of its JWTs, or spiffe:// and a trust domain', isIssuerText),
  jwks: hostValue<JsonObject>('a JWK set with a public key', hasPublicKey),
  jwksUri: text('URL', 'an http or https URL', isHttpUrl),
  fetchDocument: hostValue<FetchDocument>('a function', (value) => typeof value === 'function'),
  algorithms: listOf(CLIENT_ALGORITHMS, 1),
  reuse: oneOf('allowed', 'once'),
  maxLifetime: seconds(1, 24 * 60 * 60),
  clients: hostValue<readonly TrustedClient[]>('a list of clients', Array.isArray),
  grants: hostValue<readonly TrustedGrant[]>('a list of grants', Array.isArray),
  findSubject: anyFunction,
  tokenEndpointAudience: trueOrFalse,
};

const CLIENT_OPTIONS: KindsOf<TrustedClient> = {
  client: text('ID', 'the identifier of a client', isFilled),
  claims: anyValue,
};

const GRANT_OPTIONS: KindsOf<TrustedGrant> = {
  clients: textList('IDS', 'a list of identifiers of clients', isFilled, 1),
  claims: anyValue,
  subject: text('SUBJECT', 'the identifier of a user', isFilled),
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken, 1),
  apis: textList('URIS', 'a list of absolute URIs without fragment', isResourceUri, 1),
  lifetime: seconds(1),
  profile: oneOf('id-jag'),
};

function isFilled(value: string): boolean {
  return value !== '';
}

/**
 * Lets workloads authenticate as clients with JWTs of their platform, such as Kubernetes or GitHub Actions, and clients get
 * tokens for users with JWTs of an identity provider.
 * @param issuers by a name of yours
 * @throws {ConfigurationError} an option is wrong; the message names it
 * @example
 * trustedIssuers({
 *   github: {
 *     issuer: 'https://token.actions.githubusercontent.com',
 *     clients: [{ client: 'deploy', claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } }],
 *   },
 * });
 */
export function trustedIssuers(issuers: Readonly<Record<string, TrustedIssuer>>): TrustedIssuers {
  if (!isJsonObject(issuers)) throw new ConfigurationError(OPTION, 'an issuer for each name');
  const read = Object.entries(issuers).map(([name, issuer]) => readIssuer(issuer, `${OPTION}.${name}`));
  const [twice] = read.filter(({ issuer }, at) => read.findIndex((other) => other.issuer === issuer) < at);
  if (twice) throw new ConfigurationError(`${twice.place}.issuer`, 'another issuer than those before it');
  return {
    open(services) {
      const opened = new Map(read.map((issuer) => [issuer.issuer, openIssuer(issuer, services)]));
      const grants = read.flatMap((issuer) => issuer.grants);
      const verify: Verifies = (context, assertion) => verifyGrant(opened, context, assertion);
      /** An identity assertion is for the grant alone. */
      const verifySubject: Verifies = async (context, token) => {
        const verified = await verify(context, token);
        const isAssertion = !('reason' in verified) && verified.isIdentityAssertion;
        return isAssertion ? { reason: 'assertion_type_unknown' } : verified;
      };
      const issuerOfGrant = (jwt: string) => {
        const claims = unverifiedClaims(jwt);
        const issuer = claims && issuerOf(opened, claims, false);
        return issuer && issuer.grants.length > 0 ? { claims, issuer } : undefined;
      };
      return {
        find: (form) => findAssertion(opened, form),
        grants: grants.length > 0 ? { [JWT_BEARER_GRANT]: jwtBearer(verify) } : {},
        acceptsIdentityAssertions: grants.some((rule) => rule.isForIdentityAssertions),
        sessionOf: assertedSession,
        async rowOf(assertion) {
          const named = issuerOfGrant(assertion);
          return named && identifierOf(named.issuer.issuer, named.claims, assertion);
        },
        unusedRow: (...args) => unusedRow(verify, ...args),
        subjectOf: async (context, client, token, proven) =>
          issuerOfGrant(token) && acceptedJwt(verifySubject, context, client, token, proven),
      };
    },
  };
}

const SPIFFE = 'spiffe://';

function isIssuerText(issuer: string): boolean {
  return issuer.startsWith(SPIFFE) ? /^[a-z0-9._-]+$/.test(issuer.slice(SPIFFE.length)) : issuer !== '';
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function hasPublicKey(value: unknown): boolean {
  return (readPublicKeys(value, Infinity) ?? []).length > 0;
}

interface Rule {
  readonly client: string;
  readonly unmatched: UnmatchedClaim;
}

type ReadIssuer = ReturnType<typeof readIssuer>;

function readIssuer(options: TrustedIssuer, place: string) {
  if (!isJsonObject(options)) throw new ConfigurationError(place, 'an object');
  requireKinds(options, OPTIONS, place);
  const {
    issuer,
    jwks,
    jwksUri,
    clients = [],
    grants = [],
    algorithms = CLIENT_ALGORITHMS,
    maxLifetime = 3600,
  } = options;
  const isSpiffe = issuer.startsWith(SPIFFE);
  if (jwks !== undefined && jwksUri !== undefined)
    throw new ConfigurationError(`${place}.jwksUri`, 'either jwks or jwksUri');
  if ((jwks ?? jwksUri) === undefined && !isHttpUrl(issuer))
    throw new ConfigurationError(`${place}.jwks`, 'jwks or jwksUri, because the issuer is no URL');
  const rules = clients.map((rule, at): Rule => {
    const within = `${place}.clients.${at}`;
    requireMembers(rule, CLIENT_OPTIONS, within, 'client');
    return { client: rule.client, unmatched: patternsOf(rule.claims, `${within}.claims`) };
  });
  if (isSpiffe && grants.length > 0)
    throw new ConfigurationError(`${place}.grants`, 'none, because JWT-SVIDs authenticate clients alone');
  if (rules.length + grants.length === 0)
    throw new ConfigurationError(`${place}.clients`, 'at least one client, or one of grants');
  const {
    reuse = isSpiffe ? 'allowed' : 'once',
    fetchDocument,
    findSubject,
    tokenEndpointAudience = false,
  } = options;
  return {
    ...{ place, issuer, isSpiffe, jwks, jwksUri, fetchDocument, algorithms, maxLifetime, reuse, rules },
    ...{ findSubject, tokenEndpointAudience },
    grants: grants.map((rule, at) => readGrant(rule, `${place}.grants.${at}`, findSubject !== undefined)),
  };
}

function readGrant(rule: TrustedGrant, place: string, findsSubjects: boolean): GrantRule {
  requireMembers(rule, GRANT_OPTIONS, place, 'clients');
  const { clients, claims, subject, scopes, apis, lifetime = Infinity, profile } = rule;
  if (subject === undefined && !findsSubjects)
    throw new ConfigurationError(`${place}.subject`, 'a user, because nothing else tells who it is');
  // Without a fixed user, the link of each subject decides.
  const unmatched =
    claims === undefined && subject === undefined
      ? () => undefined
      : patternsOf(claims, `${place}.claims`, subject !== undefined);
  return {
    clients,
    subject,
    scopes,
    apis,
    lifetime,
    isForIdentityAssertions: profile === 'id-jag',
    unmatched,
  };
}

function requireMembers(
  rule: object,
  kinds: Parameters<typeof requireKinds>[1],
  place: string,
  needed: string,
): void {
  if (!isJsonObject(rule)) throw new ConfigurationError(place, 'an object');
  requireKinds(rule, kinds, place);
  if (!Object.hasOwn(rule, needed))
    throw new ConfigurationError(`${place}.${needed}`, 'a value, because it is required');
}

interface OpenIssuer extends ReadIssuer {
  /** @throws {DocumentError} the keys cannot be fetched */
  findKey(algorithm: ClientAlgorithm, keyId: string | undefined): Promise<CryptoKey | undefined>;
}

function openIssuer(issuer: ReadIssuer, { clock, storage, ...services }: TrustServices): OpenIssuer {
  const { place, jwks, jwksUri, isSpiffe } = issuer;
  // By the draft of identity assertions, no server accepts those that it issued itself.
  if (issuer.issuer === services.issuer)
    throw new ConfigurationError(`${place}.issuer`, 'another one than that of this server');
  if (issuer.grants.length > 0 && !storage.keepsAncestors)
    throw new ConfigurationError('storage', `tokens.keepsAncestors, because of ${place}.grants`);
  if (issuer.reuse === 'once' && storage.oneTimeIdentifiers === undefined)
    throw new ConfigurationError(`${place}.reuse`, 'allowed, because the storage has no oneTimeIdentifiers');
  const fetchDocument = issuer.fetchDocument ?? services.fetchDocument;
  if (jwks === undefined && fetchDocument === undefined)
    throw new ConfigurationError(`${place}.jwks`, 'jwks, or the option fetchDocument');
  const stored = readPublicKeys(jwks, Infinity) ?? [];
  const remote =
    fetchDocument &&
    new RemoteKeySets({
      ...{ clock, mostKeys: Infinity },
      fetchDocument: jwksUri === undefined ? discovering(issuer.issuer, fetchDocument) : fetchDocument,
    });
  return {
    ...issuer,
    async findKey(algorithm, keyId) {
      const choose = (keys: readonly JWK[]) =>
        keyThatSigned(isSpiffe ? keys.flatMap(keyOfSvids) : keys, algorithm, keyId);
      const jwk = jwks === undefined ? await remote?.find(jwksUri ?? issuer.issuer, choose) : choose(stored);
      return jwk && importPublicKey(jwk, algorithm);
    },
  };
}

/** Keys of X.509 SVIDs do not sign JWTs. The use of the others is one of SPIFFE's own. */
function keyOfSvids({ use, ...jwk }: JWK): readonly JWK[] {
  return use === 'jwt-svid' ? [jwk] : [];
}

/** Finds the keys of an issuer by its metadata (RFC 8414 §3, OpenID Discovery §4), which must name it. */
function discovering(issuer: string, fetchDocument: FetchDocument): FetchDocument {
  return async (url, request) => {
    const body = await fetchBody(
      fetchDocument,
      `${url.replace(/\/$/, '')}/.well-known/openid-configuration`,
      {
        headers: { accept: 'application/json' },
      },
    );
    const metadata = parseJson(body);
    if (!isJsonObject(metadata) || metadata.issuer !== issuer || typeof metadata.jwks_uri !== 'string')
      throw new DocumentError('refused', 'the metadata is of another issuer, or names no keys');
    return fetchDocument(metadata.jwks_uri, request);
  };
}

/** Of a JWT-SVID (OAuth SPIFFE Client Authentication, draft 02). */
const SPIFFE_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';

/** Accepted `typ` values. JWTs for other purposes have one of their own (RFC 8725 §3.11). */
const TYPES: readonly (string | undefined)[] = [undefined, 'jwt', 'jose', 'client-authentication+jwt'];

type OpenIssuers = ReadonlyMap<string, OpenIssuer>;

/** Finds an assertion whose issuer is not its subject. Those that clients sign themselves name the client in both. */
function findAssertion(issuers: OpenIssuers, form: Form): FoundCredentials | undefined {
  const assertion = form.get('client_assertion') ?? '';
  const header = readJwtHeader(assertion);
  const claims = unverifiedClaims(assertion);
  if (header === undefined || macAlgorithmOf(header.algorithm) !== undefined) return undefined;
  if (claims === undefined || claims.iss === claims.sub) return undefined;
  return () => {
    const type = requireParameter(form, 'client_assertion_type');
    const isSpiffe = type === SPIFFE_ASSERTION_TYPE;
    if (!(isSpiffe || type === ASSERTION_TYPE)) throw refusedClient('assertion_type_unknown');
    const jwt = claimedJwt(issuers, assertion, TYPES, isSpiffe);
    if ('reason' in jwt) throw refusedClient(jwt.reason);
    return claimOf(jwt, form.get('client_id'));
  };
}

/** Some databases cannot store NUL or lone surrogates. */
const SUBJECT = /^[^\p{Cc}\p{Cs}]+$/u;

function claimedJwt(
  issuers: OpenIssuers,
  assertion: string,
  types: typeof TYPES,
  isSpiffe: boolean,
): ClaimedJwt | { readonly reason: RefusalReason } {
  const header = readJwtHeader(assertion);
  const claims = unverifiedClaims(assertion);
  // An extension could give the payload another meaning than that of its claims here.
  if (
    header === undefined ||
    header.isExtended ||
    claims === undefined ||
    assertion.length > MAX_ASSERTION_LENGTH
  )
    return { reason: 'assertion_malformed' };
  if (typeof claims.sub !== 'string' || !SUBJECT.test(claims.sub)) return { reason: 'assertion_malformed' };
  const { type, keyId } = header;
  if (!types.includes(type)) return { reason: 'assertion_type_unknown' };
  const algorithm = clientAlgorithmOf(header.algorithm);
  if (algorithm === undefined) return { reason: 'assertion_algorithm_refused' };
  return { assertion, algorithm, keyId, type, issuer: issuerOf(issuers, claims, isSpiffe), claims };
}

/** Accepted `typ` values of a grant. */
const GRANT_TYPES_OF_JWTS: typeof TYPES = [undefined, 'jwt', ID_JAG_TYPE];

/** Verifies a JWT for a grant. An issuer without grants is none. */
async function verifyGrant(issuers: OpenIssuers, context: ClientContext, assertion: string) {
  const jwt = claimedJwt(issuers, assertion, GRANT_TYPES_OF_JWTS, false);
  if ('reason' in jwt) return jwt;
  const { claims, type } = jwt;
  const isIdentityAssertion = type === ID_JAG_TYPE;
  const issuer = jwt.issuer?.grants.length === 0 ? undefined : jwt.issuer;
  const mayNameEndpoint = issuer?.tokenEndpointAudience === true && !isIdentityAssertion;
  const verified = await verify(context, { ...jwt, issuer }, mayNameEndpoint);
  return 'reason' in verified ? verified : { ...verified, claims, isIdentityAssertion };
}

/** A JWT-SVID is of the trust domain in its `sub`. Its `iss` does not count. */
function issuerOf(issuers: OpenIssuers, { iss, sub }: Claims, isSpiffe: boolean): OpenIssuer | undefined {
  const name = isSpiffe ? /^spiffe:\/\/[^/]+(?=\/)/.exec(String(sub))?.[0] : iss;
  const issuer = typeof name === 'string' ? issuers.get(name) : undefined;
  return issuer?.isSpiffe === isSpiffe ? issuer : undefined;
}

/** A JWT that has not been verified yet. */
interface ClaimedJwt {
  readonly assertion: string;
  readonly type: string | undefined;
  readonly algorithm: ClientAlgorithm;
  readonly keyId: string | undefined;
  readonly issuer: OpenIssuer | undefined;
  readonly claims: Claims;
}

/**
 * The client that a JWT names by its claims. If several rules match, `client_id` selects one. Whether a rule matches must
 * not show before the signature has verified, so a JWT without a client goes the same way.
 */
function claimOf(jwt: ClaimedJwt, clientId: string | undefined): Claim {
  const { issuer, claims } = jwt;
  const rules = issuer?.rules ?? [];
  const clients = rules.flatMap(({ client, unmatched }) => (unmatched(claims) === undefined ? [client] : []));
  const wanted = clientId ?? clients[0] ?? '';
  let named = loggable(`${typeof claims.iss === 'string' ? claims.iss : ''} ${claims.sub}`);
  return {
    method: 'trusted_issuer_jwt',
    clientId: wanted,
    get named() {
      return named;
    },
    async verify(context): Promise<Verdict> {
      const verified = await verify(context, jwt);
      if ('reason' in verified) return verified;
      if (!clients.includes(wanted)) {
        const ofClient = rules.filter(({ client }) => clientId === undefined || client === clientId);
        named = unmatchedBy(ofClient, verified.issuer, claims);
        return { reason: 'assertion_claims_unmatched' };
      }
      if (verified.issuer.reuse === 'once' && (typeof verified.jti !== 'string' || verified.jti === ''))
        return { reason: 'assertion_identifier_missing' };
      return {
        async accept(client, beforeUse) {
          // A stolen JWT ends with its client.
          const state = await context.storage.getPrincipalState?.('client', client.id);
          if (verified.signedAtMs <= (state?.raisedAtMs ?? 0))
            throw refusedClient('assertion_ended', client, { value: named });
          await beforeUse();
          if (!(await useUp(context, verified)))
            throw refusedClient('assertion_replayed', client, { value: named });
        },
      };
    },
  };
}

interface VerifiedTimes {
  readonly issuer: OpenIssuer;
  readonly jti: unknown;
  readonly exp: number;
  /** Without `iat`, a JWT counts as signed as early as possible. */
  readonly signedAtMs: number;
}

/** Verifies signature and claims (§3). The signature is checked even if there is no key, so that all refusals take equally long. */
async function verify(
  { issuer: own, clock, paths }: ClientContext,
  { issuer, assertion, algorithm, keyId, claims }: ClaimedJwt,
  mayNameEndpoint = false,
): Promise<VerifiedTimes | (UnfitJwt & { readonly reason: RefusalReason })> {
  const isAllowed = issuer?.algorithms.includes(algorithm) === true;
  let key: CryptoKey | undefined;
  try {
    key = isAllowed ? await issuer.findKey(algorithm, keyId) : undefined;
  } catch (cause) {
    if (!(cause instanceof DocumentError && cause.outcome === 'refused')) throw cause;
    return { reason: 'issuer_keys_refused', cause };
  }
  // §3 (9)
  const payload = await verifiedPayload(assertion, key ?? (await standInKey(algorithm)), algorithm);
  if (issuer === undefined) return { reason: 'assertion_issuer_unknown' };
  if (!isAllowed) return { reason: 'assertion_algorithm_refused' };
  if (key === undefined) return { reason: 'assertion_key_unknown' };
  if (payload === undefined) return { reason: 'assertion_signature_wrong' };
  // §3 (1 to 7)
  const unfit = (reason: RefusalReason) => ({ reason, named: namedBy(issuer, claims) });
  const { aud, exp, iat, nbf, jti } = claims;
  const audiences: readonly unknown[] = [aud].flat();
  const isRight = audiences[0] === own || (mayNameEndpoint && audiences[0] === endpointUrl(own, paths.token));
  if (audiences.length !== 1 || !isRight) return unfit('assertion_audience_wrong');
  const now = clock() / 1000;
  if (!isTime(exp) || !isTime(iat ?? now) || !isTime(nbf ?? now)) return unfit('assertion_malformed');
  const issuedAt = Number(iat ?? now);
  if (exp <= now) return unfit('assertion_expired');
  if (exp > issuedAt + issuer.maxLifetime) return unfit('assertion_lives_too_long');
  if (Math.max(issuedAt, Number(nbf ?? now)) > now + CLIENT_CLOCK_AHEAD)
    return unfit('assertion_not_yet_valid');
  return { issuer, jti, exp, signedAtMs: Math.floor(Number(iat ?? exp - issuer.maxLifetime) * 1000) };
}

/** Marks a JWT as used (§3 (7)), if it is accepted once. @returns whether it was not used before */
async function useUp(context: ClientContext, { issuer, jti, exp }: VerifiedTimes): Promise<boolean> {
  if (issuer.reuse === 'allowed') return true;
  const id = await sha256(JSON.stringify(['trusted_issuer', context.issuer, issuer.issuer, jti]));
  // Beyond its expiry, because a process with a slower clock still accepts it.
  return takeOnce(context, id, Math.ceil(exp) + CLIENT_CLOCK_AHEAD);
}
