// What the methods have in common that authenticate a client by a JWT (RFC 7521 §4.2). § refers to RFC 7523.
import * as base64url from 'jose/base64url';
import { sha256 } from '#crypto';
import type { EndpointPaths, Operation } from '../http/endpoint_names.ts';
import type { RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, requireParameter } from '../http/form.ts';
import { CLIENT_CLOCK_AHEAD } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { AssertionAlgorithm, AuthenticationMethod } from '../protocol/client_metadata.ts';
import { algorithmsOf, profileOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { endpointUrl, urlAt } from '../protocol/redirect_uri.ts';
import { parseClaims, readJwtHeader } from '../tokens/jwt.ts';
import type { ClientContext } from './client.ts';
import { takeOnce } from './client.ts';
import { type Claim, type ClientAuthenticationMethod, refusedClient } from './credentials.ts';

/** RFC 7523 §2.2. */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Maximum characters of an assertion. */
export const MAX_ASSERTION_LENGTH = 8 * 1024;

/** A JWS has three parts. An encrypted JWT has five and is rejected. */
const COMPACT_JWS = /^[\w-]+\.([\w-]+)\.[\w-]+$/;

/** Accepted `typ` values. A JWT with another type was made for another purpose (RFC 8725 §3.11). */
const TYPES: readonly (string | undefined)[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** What distinguishes the methods that authenticate by assertion. */
interface AssertionMethod<Algorithm extends AssertionAlgorithm> {
  readonly method: AuthenticationMethod;
  readonly proof: 'secret' | 'key';
  readonly assertionAlgorithms: readonly Algorithm[];
  readonly readsSecret?: true;
  missingFrom?(metadata: ClientMetadata): string | undefined;
  /** Whether an assertion with this `alg` is for this method, accepted or not. Each is for exactly one. */
  isFor(alg: string | undefined): boolean;
  /** Returns the algorithm of an `alg` value, or `undefined` if it is not accepted. */
  algorithmOf(alg: unknown): Algorithm | undefined;
  /**
   * Checks the signature (RFC 7523 §3 (9)). It takes the same time with and without a client.
   * @throws {DocumentError} the client's keys cannot be fetched at the moment
   */
  verify(
    context: ClientContext,
    client: ClientRecord | undefined,
    assertion: ClaimedAssertion<Algorithm>,
  ): Promise<VerifiedAssertion>;
}

/** The payload, and what to do once the client is accepted; or why the signature was not. */
export type VerifiedAssertion =
  | { readonly payload: Uint8Array; readonly reason?: undefined; accept?(client: ClientRecord): void }
  | { readonly reason: RefusalReason; readonly cause?: unknown };

/** Makes a method that authenticates a client by a JWT in the form. `sub` names the client. */
export function assertionMethod<Algorithm extends AssertionAlgorithm>(
  facts: AssertionMethod<Algorithm>,
): ClientAuthenticationMethod {
  const { method, isFor } = facts;
  return {
    ...facts,
    // An assertion can be used once, so storage must remember it. A host that compares secrets itself has none to read.
    unsupported: ({ storage }) =>
      storage.oneTimeIdentifiers === undefined || (facts.readsSecret && storage.clients.verifySecret)
        ? 'assertion_not_supported'
        : undefined,
    parameters: ['client_assertion', 'client_assertion_type'],
    find(_request, form, { trustedIssuers }) {
      if (!isFor(readJwtHeader(form.get('client_assertion') ?? '')?.algorithm)) return undefined;
      if (trustedIssuers?.find(form) !== undefined) return undefined;
      return () => {
        const claimed = claimedAssertion(form, facts);
        return {
          method,
          clientId: claimed.clientId,
          verify: (context, client, call) => verifyAssertion(context, client, claimed, facts, call),
        };
      };
    },
  };
}

/** An assertion that has not been verified yet. */
export interface ClaimedAssertion<Algorithm extends AssertionAlgorithm> {
  readonly clientId: string;
  readonly assertion: string;
  readonly algorithm: Algorithm;
  readonly keyId: string | undefined;
}

/**
 * Reads the assertion without verifying it.
 * @throws {OAuthError} `invalid_request`: one of the two parameters is missing; `invalid_client`: the assertion cannot
 *   come from any client
 */
function claimedAssertion<Algorithm extends AssertionAlgorithm>(
  form: Form,
  { algorithmOf }: AssertionMethod<Algorithm>,
): ClaimedAssertion<Algorithm> {
  if (requireParameter(form, 'client_assertion_type') !== ASSERTION_TYPE) {
    throw refusedClient('assertion_type_unknown');
  }
  const assertion = requireParameter(form, 'client_assertion');
  if (assertion.length > MAX_ASSERTION_LENGTH) throw refusedClient('assertion_malformed');
  const header = readJwtHeader(assertion);
  const claims = unverifiedClaims(assertion);
  if (header === undefined || typeof claims?.sub !== 'string') throw refusedClient('assertion_malformed');
  const algorithm = algorithmOf(header.algorithm);
  if (algorithm === undefined) throw refusedClient('assertion_algorithm_refused');
  if (!TYPES.includes(header.type)) throw refusedClient('assertion_type_unknown');
  return { clientId: claims.sub, assertion, algorithm, keyId: header.keyId };
}

/** Use only to look up the client or the issuer, until the signature of the same text has verified. */
export function unverifiedClaims(assertion: string): Claims | undefined {
  const [, payload] = COMPACT_JWS.exec(assertion) ?? [];
  if (payload === undefined) return undefined;
  try {
    return parseClaims(base64url.decode(payload));
  } catch {
    return undefined; // not valid base64url, although the characters are
  }
}

/**
 * Verifies signature and claims (RFC 7523 §3).
 * @throws {DocumentError} the client's keys cannot be fetched at the moment
 */
async function verifyAssertion<Algorithm extends AssertionAlgorithm>(
  context: ClientContext,
  client: ClientRecord | undefined,
  claimed: ClaimedAssertion<Algorithm>,
  facts: AssertionMethod<Algorithm>,
  call: Call,
): ReturnType<Claim['verify']> {
  // §3 (9) signature. It is checked even if the assertion is already rejected, so that all rejections take equally
  // long.
  const verified = await facts.verify(context, client, claimed);
  if (!client) return { reason: 'client_unknown' };
  const accepted = algorithmsOf(client, context.clientAssertionAlgorithms);
  if (!accepted.includes(claimed.algorithm)) return { reason: 'assertion_algorithm_refused' };
  if (verified.reason !== undefined) return verified;

  // §3 (1 to 6) claims
  const judged = judgeClaims(context, client, parseClaims(verified.payload), call);
  if ('reason' in judged) return judged;
  return {
    async accept(accepted, beforeUse) {
      await beforeUse();
      await useUp(context, accepted, judged);
      verified.accept?.(accepted);
    },
  };
}

/**
 * Marks the assertion as used (§3 (7)). Only the client itself can get this far.
 * @throws {OAuthError} `invalid_client`: the assertion was used before
 * @throws {StorageFault} storage is unavailable
 */
async function useUp(
  context: ClientContext,
  client: ClientRecord,
  assertion: AcceptedAssertion,
): Promise<void> {
  const { identifier, expiresAt } = assertion;
  const id = await sha256(JSON.stringify(['client_assertion', context.issuer, client.id, identifier]));
  // Kept beyond its expiry, because a process with a slower clock would still accept it.
  const keepUntil = Math.ceil(expiresAt) + CLIENT_CLOCK_AHEAD;
  if (!(await takeOnce(context, id, keepUntil))) throw refusedClient('assertion_replayed', client);
}

/** What has to be stored about an accepted assertion. */
interface AcceptedAssertion {
  readonly identifier: string;
  /** Seconds since 1970, with a fraction if the client sends one. */
  readonly expiresAt: number;
}

/**
 * Checks that the client made the assertion for this server, that it is current, and that it has a `jti` (RFC 7523 §3).
 */
function judgeClaims(
  context: ClientContext,
  client: ClientRecord,
  claims: Claims | undefined,
  call: Call,
): AcceptedAssertion | { readonly reason: RefusalReason } {
  const { iss, sub, aud, exp, iat = 0, nbf = 0, jti } = claims ?? {};
  if (iss !== client.id || sub !== client.id) return { reason: 'assertion_subject_wrong' };
  if (!isForThisServer(context, client, aud, call)) return { reason: 'assertion_audience_wrong' };
  if (!isTime(exp) || !isTime(iat) || !isTime(nbf)) return { reason: 'assertion_malformed' };
  const now = context.clock() / 1000;
  if (exp <= now) return { reason: 'assertion_expired' };
  if (exp > now + lifetimeOf(context, client) + CLIENT_CLOCK_AHEAD)
    return { reason: 'assertion_lives_too_long' };
  if (Math.max(iat, nbf) > now + CLIENT_CLOCK_AHEAD) return { reason: 'assertion_not_yet_valid' };
  if (typeof jti !== 'string' || jti === '') return { reason: 'assertion_identifier_missing' };
  return { identifier: jti, expiresAt: exp };
}

/** The most seconds that an assertion of the client may live. A profile may allow less. */
function lifetimeOf({ clientAssertionLifetime }: ClientContext, client: ClientRecord): number {
  const allowed = client.metadata?.assertion_lifetime ?? clientAssertionLifetime;
  return Math.min(allowed, profileOf(client)?.assertionLifetime ?? Infinity);
}

/** The path of an operation has its name, in camel case. */
function pathOfOperation(paths: EndpointPaths, operation: Operation): string {
  const name = operation.replaceAll(/_./g, (found) => found.slice(1).toUpperCase());
  return paths[name as keyof EndpointPaths] ?? paths.token;
}

/**
 * The audience must be the issuer, which is unique. A client can be registered to name the URL of the endpoint or of
 * the token endpoint instead, as older clients do. A list must not contain another server. A profile can refuse lists (FAPI
 * 2.0 Security Profile §5.3.2.1).
 */
function isForThisServer(
  { issuer, mtlsOrigin, paths }: ClientContext,
  client: ClientRecord,
  aud: unknown,
  { operation }: Call,
): boolean {
  if (Array.isArray(aud) && profileOf(client)?.assertionAudienceIsText) return false;
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (client.metadata?.assertion_audience !== 'endpoint') {
    return audiences.length === 1 && audiences[0] === issuer;
  }
  const endpoints = [paths.token, pathOfOperation(paths, operation)];
  const urls = endpoints.map((path) => endpointUrl(issuer, path));
  const aliases = mtlsOrigin === undefined ? [] : urls.map((url) => urlAt(mtlsOrigin, url));
  const accepted = new Set<unknown>([issuer, ...urls, ...aliases]);
  return audiences.length > 0 && audiences.every((audience) => accepted.has(audience));
}

export function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
