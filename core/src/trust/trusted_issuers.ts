// Issuers whose JWTs the operator trusts, and client authentication by such JWTs. § refers to RFC 7523.
import type { CryptoKey, JWK } from 'jose';
import { sha256 } from '#crypto';
import { ASSERTION_TYPE, isTime, MAX_ASSERTION_LENGTH, unverifiedClaims } from '../clients/assertion.ts';
import { type ClientContext, type ForeignAssertions, takeOnce } from '../clients/client.ts';
import { type Claim, type FoundCredentials, refusedClient, type Verdict } from '../clients/credentials.ts';
import { standInKey } from '../clients/private_key_jwt.ts';
import { ConfigurationError, loggable, type RefusalReason } from '../http/errors.ts';
import { DocumentError, type FetchDocument, fetchBody } from '../http/fetch_document.ts';
import { type Form, requireParameter } from '../http/form.ts';
import { isJsonObject, type JsonObject, parseJson } from '../http/http.ts';
import { CLIENT_CLOCK_AHEAD, type Clock } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import {
  CLIENT_ALGORITHMS,
  type ClientAlgorithm,
  clientAlgorithmOf,
  macAlgorithmOf,
} from '../protocol/client_metadata.ts';
import {
  hostValue,
  type KindsOf,
  listOf,
  oneOf,
  requireKinds,
  seconds,
  text,
} from '../protocol/option_kinds.ts';
import { readJwtHeader, verifiedPayload } from '../tokens/jwt.ts';
import { importPublicKey, keyThatSigned, RemoteKeySets, readPublicKeys } from '../tokens/public_keys.ts';
import { patternsOf } from './claim_patterns.ts';

/** An issuer whose JWTs are accepted. */
export interface TrustedIssuer {
  /** The `iss` of its JWTs, or `spiffe://` and the trust domain of JWT-SVIDs, which are known by their `sub`. */
  readonly issuer: string;
  /** Its public keys, as a JWK set. */
  readonly jwks?: JsonObject;
  /** URL of its public keys. Without it and `jwks`, the metadata of the issuer names it. */
  readonly jwksUri?: string;
  /** Fetches metadata and keys. Default: the server's option. */
  readonly fetchDocument?: FetchDocument;
  /** Default: all that use public keys. */
  readonly algorithms?: readonly ClientAlgorithm[];
  /**
   * Whether a JWT authenticates one request, or every request until it ends, as tokens do that a platform puts into a file.
   * `once` needs a `jti`. Default: `allowed` for JWT-SVIDs, otherwise `once`.
   */
  readonly reuse?: 'allowed' | 'once';
  /** The most seconds between `iat` and `exp`. Default: 3600. */
  readonly maxLifetime?: number;
  /** Clients that its JWTs authenticate. Each needs the authentication method `trusted_issuer_jwt`. */
  readonly clients?: readonly TrustedClient[];
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

/** A client, and the claims of its JWTs. */
export interface TrustedClient {
  readonly client: string;
  readonly claims: ClaimPatterns;
}

/** What the option `trustedIssuers` takes, as `trustedIssuers()` returns it. */
export interface TrustedIssuers {
  /** @throws {ConfigurationError} the storage cannot remember a JWT that is accepted once, or nothing can fetch keys */
  open(services: TrustServices): ForeignAssertions;
}

interface TrustServices {
  readonly clock: Clock;
  /** `undefined` if the host did not set the option. */
  readonly fetchDocument: FetchDocument | undefined;
  readonly storage: Pick<ClientContext['storage'], 'oneTimeIdentifiers'>;
}

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
};

/**
 * Lets workloads authenticate as clients with the JWTs that their platform gives them, so they need no secret: Kubernetes
 * service accounts, GitHub Actions, GitLab, SPIFFE. The clients need the authentication method `trusted_issuer_jwt`.
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
      return { find: (form) => findAssertion(opened, form) };
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
  matches(claims: Claims): boolean;
}

type ReadIssuer = ReturnType<typeof readIssuer>;

function readIssuer(options: TrustedIssuer, place: string) {
  if (!isJsonObject(options)) throw new ConfigurationError(place, 'an object');
  requireKinds(options, OPTIONS, place);
  const { issuer, jwks, jwksUri, clients = [], algorithms = CLIENT_ALGORITHMS, maxLifetime = 3600 } = options;
  const isSpiffe = issuer.startsWith(SPIFFE);
  if (jwks !== undefined && jwksUri !== undefined)
    throw new ConfigurationError(`${place}.jwksUri`, 'either jwks or jwksUri');
  if ((jwks ?? jwksUri) === undefined && !isHttpUrl(issuer))
    throw new ConfigurationError(`${place}.jwks`, 'jwks or jwksUri, because the issuer is no URL');
  const rules = clients.map((rule: unknown, at): Rule => {
    const within = `${place}.clients.${at}`;
    if (!isJsonObject(rule)) throw new ConfigurationError(within, 'an object with client and claims');
    const { client, claims, ...others } = rule;
    if (typeof client !== 'string' || client === '')
      throw new ConfigurationError(`${within}.client`, 'the identifier of a client');
    const [unknown] = Object.keys(others);
    if (unknown !== undefined)
      throw new ConfigurationError(`${within}.${unknown}`, 'client and claims alone');
    return { client, matches: patternsOf(claims, `${within}.claims`) };
  });
  if (rules.length === 0) throw new ConfigurationError(`${place}.clients`, 'at least one client');
  const { reuse = isSpiffe ? 'allowed' : 'once', fetchDocument } = options;
  return { place, issuer, isSpiffe, jwks, jwksUri, fetchDocument, algorithms, maxLifetime, reuse, rules };
}

interface OpenIssuer extends ReadIssuer {
  /** @throws {DocumentError} the keys cannot be fetched */
  findKey(algorithm: ClientAlgorithm, keyId: string | undefined): Promise<CryptoKey | undefined>;
}

function openIssuer(issuer: ReadIssuer, { clock, storage, ...services }: TrustServices): OpenIssuer {
  const { place, jwks, jwksUri, isSpiffe } = issuer;
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

/** Finds an assertion that names another issuer than its subject. Those that clients sign themselves name the client in both. */
function findAssertion(issuers: OpenIssuers, form: Form): FoundCredentials | undefined {
  const assertion = form.get('client_assertion') ?? '';
  const header = readJwtHeader(assertion);
  const claims = unverifiedClaims(assertion);
  if (header === undefined || macAlgorithmOf(header.algorithm) !== undefined) return undefined;
  if (claims === undefined || claims.iss === claims.sub) return undefined;
  return () => {
    const type = requireParameter(form, 'client_assertion_type');
    const isSpiffe = type === SPIFFE_ASSERTION_TYPE;
    if (!(isSpiffe || type === ASSERTION_TYPE) || !TYPES.includes(header.type))
      throw refusedClient('assertion_type_unknown');
    if (assertion.length > MAX_ASSERTION_LENGTH) throw refusedClient('assertion_malformed');
    const algorithm = clientAlgorithmOf(header.algorithm);
    if (algorithm === undefined) throw refusedClient('assertion_algorithm_refused');
    const issuer = issuerOf(issuers, claims, isSpiffe);
    return claimOf({ assertion, algorithm, keyId: header.keyId, issuer, claims }, form.get('client_id'));
  };
}

/** A JWT-SVID is of the trust domain in its `sub`, whatever its `iss` says. */
function issuerOf(issuers: OpenIssuers, { iss, sub }: Claims, isSpiffe: boolean): OpenIssuer | undefined {
  const name = isSpiffe ? /^spiffe:\/\/[^/]+(?=\/)/.exec(String(sub))?.[0] : iss;
  const issuer = typeof name === 'string' ? issuers.get(name) : undefined;
  return issuer?.isSpiffe === isSpiffe ? issuer : undefined;
}

/** A JWT that has not been verified yet. */
interface ClaimedJwt {
  readonly assertion: string;
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
  const clients = issuer?.rules.filter(({ matches }) => matches(claims)).map(({ client }) => client) ?? [];
  const wanted = clientId ?? clients[0] ?? '';
  return {
    method: 'trusted_issuer_jwt',
    clientId: wanted,
    named: loggable(`${claims.iss ?? ''} ${claims.sub}`),
    async verify(context): Promise<Verdict> {
      const verified = await verify(context, jwt);
      if ('reason' in verified) return verified;
      if (!clients.includes(wanted)) return { reason: 'assertion_claims_unmatched' };
      return {
        async accept(client, beforeUse) {
          await beforeUse();
          if (!(await useUp(context, verified))) throw refusedClient('assertion_replayed', client);
        },
      };
    },
  };
}

interface VerifiedJwt {
  readonly issuer: OpenIssuer;
  readonly jti: unknown;
  readonly exp: number;
}

/** Verifies signature and claims (§3). The signature is checked even if there is no key, so that all refusals take equally long. */
async function verify(
  { issuer: own, clock }: ClientContext,
  { issuer, assertion, algorithm, keyId, claims }: ClaimedJwt,
): Promise<VerifiedJwt | { readonly reason: RefusalReason; readonly cause?: unknown }> {
  if (issuer !== undefined && !issuer.algorithms.includes(algorithm))
    return { reason: 'assertion_algorithm_refused' };
  let key: CryptoKey | undefined;
  try {
    key = await issuer?.findKey(algorithm, keyId);
  } catch (cause) {
    if (!(cause instanceof DocumentError && cause.outcome === 'refused')) throw cause;
    return { reason: 'issuer_keys_refused', cause };
  }
  // §3 (9)
  const payload = await verifiedPayload(assertion, key ?? (await standInKey(algorithm)), algorithm);
  if (issuer === undefined) return { reason: 'assertion_issuer_unknown' };
  if (key === undefined) return { reason: 'assertion_key_unknown' };
  if (payload === undefined) return { reason: 'assertion_signature_wrong' };
  // §3 (1 to 7)
  const { aud, exp, iat, nbf, jti } = claims;
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (audiences.length !== 1 || audiences[0] !== own) return { reason: 'assertion_audience_wrong' };
  const now = clock() / 1000;
  if (!isTime(exp) || !isTime(iat ?? now) || !isTime(nbf ?? now)) return { reason: 'assertion_malformed' };
  const [issuedAt, notBefore] = [Number(iat ?? now), Number(nbf ?? now)];
  if (exp <= now) return { reason: 'assertion_expired' };
  if (exp > issuedAt + issuer.maxLifetime) return { reason: 'assertion_lives_too_long' };
  if (Math.max(issuedAt, notBefore) > now + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_not_yet_valid' };
  if (issuer.reuse === 'once' && (typeof jti !== 'string' || jti === ''))
    return { reason: 'assertion_identifier_missing' };
  return { issuer, jti, exp };
}

/** Marks a JWT as used (§3 (7)), if it is accepted once. @returns whether it was not used before */
async function useUp(context: ClientContext, { issuer, jti, exp }: VerifiedJwt): Promise<boolean> {
  if (issuer.reuse === 'allowed') return true;
  const id = await sha256(JSON.stringify(['trusted_issuer', context.issuer, issuer.issuer, jti]));
  // Kept beyond its expiry, because a process with a slower clock would still accept it.
  return takeOnce(context, id, Math.ceil(exp) + CLIENT_CLOCK_AHEAD);
}
