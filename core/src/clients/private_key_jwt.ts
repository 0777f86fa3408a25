import { base64url, type CryptoKey, importJWK, type JWK } from 'jose';
import { sha256 } from '#hashing';
import { CLIENT_CLOCK_AHEAD } from '../environment.ts';
import type { RefusalReason } from '../http/errors.ts';
import type { Call, Operation } from '../http/events.ts';
import { DocumentError } from '../http/fetch_document.ts';
import { type Form, requireParameter } from '../http/form.ts';
import type { Claims } from '../protocol/claims.ts';
import { type SigningAlgorithm, signingAlgorithmOf } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import { parseClaims, readJwtHeader, verifiedPayload } from '../tokens/jwt.ts';
import type { ClientContext, EndpointPaths } from './client.ts';
import { authenticationMethodsOf, findNamedClient, takeOnce } from './client.ts';
import { type ClaimedAssertion, refusedClient } from './credentials.ts';

/** RFC 7523 §2.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Characters. */
const LONGEST_ASSERTION = 8 * 1024;

/** A JWS has three parts; what has five is encrypted, and is refused. */
const COMPACT_JWS = /^[\w-]+\.([\w-]+)\.[\w-]+$/;

/** `typ` as types are compared; another one belongs to a JWT that was made for something else (RFC 8725 §3.11). */
const TYPES: readonly (string | undefined)[] = [undefined, 'jwt', 'client-authentication+jwt'];

/**
 * A client's signed assertion in the form body (RFC 7521 §4.2, RFC 7523 §2.2). The client is the one that its `sub`
 * names.
 * @returns `undefined` where there is none
 * @throws {OAuthError} `invalid_request`: one of the two parameters is missing; `invalid_client`: it is none that any
 *   client could have sent
 */
export function claimedAssertion(form: Form): ClaimedAssertion | undefined {
  if (!form.has('client_assertion') && !form.has('client_assertion_type')) return undefined;
  if (requireParameter(form, 'client_assertion_type') !== ASSERTION_TYPE) {
    throw refusedClient('assertion_type_unknown');
  }
  const assertion = requireParameter(form, 'client_assertion');
  if (assertion.length > LONGEST_ASSERTION) throw refusedClient('assertion_malformed');
  const header = readJwtHeader(assertion);
  const claims = unverifiedClaims(assertion);
  if (header === undefined || typeof claims?.sub !== 'string') throw refusedClient('assertion_malformed');
  const algorithm = signingAlgorithmOf(header.algorithm);
  if (algorithm === undefined) throw refusedClient('assertion_algorithm_refused');
  if (!TYPES.includes(header.type)) throw refusedClient('assertion_type_unknown');
  return { method: 'private_key_jwt', clientId: claims.sub, assertion, algorithm, keyId: header.keyId };
}

/** To look up the client by; everything is judged by what turns out to have been signed. */
function unverifiedClaims(assertion: string): Claims | undefined {
  const [, payload] = COMPACT_JWS.exec(assertion) ?? [];
  if (payload === undefined) return undefined;
  try {
    return parseClaims(base64url.decode(payload));
  } catch {
    return undefined; // the right characters, but no base64url
  }
}

/**
 * The client whose private key has signed an assertion (RFC 7523 §3, OpenID Connect Core §9).
 * @throws {OAuthError} `invalid_client`
 * @throws {DocumentError} the keys of the client cannot be fetched at the moment
 * @throws {StorageFault} storage could not say whether the assertion was used before
 */
export async function privateKeyJwt(
  context: ClientContext,
  claimed: ClaimedAssertion,
  call: Call,
): Promise<ClientRecord> {
  const { assertion, algorithm, clientId } = claimed;
  const client = await findNamedClient(context, clientId);

  // §3 (9) the signature; one is checked also where nothing can come of it
  const found = client ? await findKey(context, client, claimed) : { reason: 'client_unknown' as const };
  const key = 'reason' in found ? await standInKey(algorithm) : found.key;
  const payload = await verifiedPayload(assertion, key, algorithm);
  if (!client) throw refusedClient('client_unknown', undefined, { value: clientId });
  if ('reason' in found) throw refusedClient(found.reason, client, { cause: found.cause });
  if (payload === undefined) throw refusedClient('assertion_signature_wrong', client);

  // §3 (1 to 6) what was signed
  const judged = judgeClaims(context, client, parseClaims(payload), call);
  if ('reason' in judged) throw refusedClient(judged.reason, client);
  if (client.disabledAtMs !== undefined) throw refusedClient('client_disabled', client);

  // §3 (7) once and no more; nobody but the client itself gets as far as this
  const id = await sha256(JSON.stringify(['client_assertion', context.issuer, client.id, judged.identifier]));
  // Kept for longer than the assertion lives, since a process with a slower clock would accept it for longer.
  const keepUntil = Math.ceil(judged.expiresAt) + CLIENT_CLOCK_AHEAD;
  if (!(await takeOnce(context, id, keepUntil))) throw refusedClient('assertion_replayed', client);
  return client;
}

type FoundKey = { readonly key: CryptoKey } | { readonly reason: RefusalReason; readonly cause?: unknown };

/** The client's own key; what the header says besides `alg` and `kid` is not looked at. */
async function findKey(
  { storage, clientKeys }: ClientContext,
  client: ClientRecord,
  { algorithm, keyId }: ClaimedAssertion,
): Promise<FoundKey> {
  if (storage.oneTimeIdentifiers === undefined) return { reason: 'assertion_not_supported' };
  if (!authenticationMethodsOf(client).includes('private_key_jwt')) return { reason: 'client_method_wrong' };
  const registered = client.metadata?.token_endpoint_auth_signing_alg ?? algorithm;
  if (registered !== algorithm) return { reason: 'assertion_algorithm_refused' };
  try {
    const key = await clientKeys.forVerifying(client, algorithm, keyId);
    return key === undefined ? { reason: 'assertion_key_unknown' } : { key };
  } catch (error) {
    if (error instanceof DocumentError && error.outcome === 'refused') {
      return { reason: 'client_keys_refused', cause: error };
    }
    throw error;
  }
}

/** Seconds that an assertion may have before it. */
const LONGEST_LIFE = 5 * 60;

/** What there is to remember of an assertion that is as it should be; or what is wrong with it. */
type Judged =
  | {
      readonly identifier: string;
      /** Seconds; not whole ones where the client is that exact. */
      readonly expiresAt: number;
    }
  | { readonly reason: RefusalReason };

/** Whether an assertion was made by this client, for this server, for now, and can be told from others (RFC 7523 §3). */
function judgeClaims(
  context: ClientContext,
  client: ClientRecord,
  claims: Claims | undefined,
  call: Call,
): Judged {
  const { iss, sub, aud, exp, iat = 0, nbf = 0, jti } = claims ?? {};
  if (iss !== client.id || sub !== client.id) return { reason: 'assertion_subject_wrong' };
  if (!isForThisServer(context, client, aud, call)) return { reason: 'assertion_audience_wrong' };
  if (!isTime(exp) || !isTime(iat) || !isTime(nbf)) return { reason: 'assertion_malformed' };
  const now = context.clock() / 1000;
  if (exp <= now) return { reason: 'assertion_expired' };
  if (exp > now + LONGEST_LIFE + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_lives_too_long' };
  if (Math.max(iat, nbf) > now + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_not_yet_valid' };
  if (typeof jti !== 'string' || jti === '') return { reason: 'assertion_identifier_missing' };
  return { identifier: jti, expiresAt: exp };
}

/** Where clients authenticate besides the token endpoint. */
const ENDPOINTS: Partial<Readonly<Record<Operation, keyof EndpointPaths>>> = {
  introspection: 'introspection',
  revocation: 'revocation',
  pushed_authorization_request: 'pushedAuthorizationRequest',
};

/**
 * The issuer, which no other server has; by the client's registration also the URL of the endpoint, which was long the
 * custom, or that of the token endpoint. A list names nobody else.
 */
function isForThisServer(
  { issuer, paths }: ClientContext,
  client: ClientRecord,
  aud: unknown,
  { operation }: Call,
): boolean {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (client.metadata?.assertion_audience !== 'endpoint') {
    return audiences.length === 1 && audiences[0] === issuer;
  }
  const endpoints = [paths.token, paths[ENDPOINTS[operation] ?? 'token']];
  const accepted = new Set<unknown>([issuer, ...endpoints.map((path) => endpointUrl(issuer, path))]);
  return audiences.length > 0 && audiences.every((one) => accepted.has(one));
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** 2048 bits, all of them set. */
const RSA: JWK = { kty: 'RSA', n: `${'_'.repeat(341)}w`, e: 'AQAB' };

/** Public keys that stand in for those of clients that do not exist: the generators of the curves, and a large number. */
const KEYS: Readonly<Record<SigningAlgorithm, JWK>> = {
  RS256: RSA,
  PS256: RSA,
  ES256: {
    kty: 'EC',
    crv: 'P-256',
    x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
    y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
  },
  EdDSA: { kty: 'OKP', crv: 'Ed25519', x: 'WGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY' },
};

/**
 * A key to check the signature of an assertion with where there is no other, so that a client that does not exist costs
 * what a wrong signature costs. Anybody can sign with it: what comes of the check may not be looked at.
 */
async function standInKey(algorithm: SigningAlgorithm): Promise<CryptoKey> {
  const key = await importJWK(KEYS[algorithm], algorithm);
  if (key instanceof Uint8Array) throw new TypeError('a stand-in key is symmetric');
  return key;
}
