// DPoP at the server's endpoints: which requests need a proof, its single use, and nonces. § refers to RFC 9449.
import { hmacSha256, sha256 } from '#crypto';
import { type ClientContext, type EndpointPaths, takeOnce } from '../clients/client.ts';
import { CLIENT_CLOCK_AHEAD, equalInConstantTime } from '../environment.ts';
import { OAuthError, type RefusalReason } from '../http/errors.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import type { SigningAlgorithm } from '../protocol/client_metadata.ts';
import { algorithmsOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { endpointUrl, urlAt } from '../protocol/redirect_uri.ts';
import { type DpopProof, isForToken, refusedProof, verifyDpopProof } from './dpop_proof.ts';

type DpopContext = Pick<
  ClientContext,
  | 'issuer'
  | 'mtlsOrigin'
  | 'paths'
  | 'clock'
  | 'secret'
  | 'dpopAlgorithms'
  | 'dpopNonces'
  | 'dpopProofLifetime'
>;

/** What checks of proofs need, with the storage of used proofs. */
export type ProofContext = DpopContext & Pick<ClientContext, 'storage'>;

/**
 * Accepts the proof of a request to an endpoint that issues something, and uses it up (§5, §10.1).
 * @returns the thumbprint of the key; `undefined` if the request has no proof, or DPoP is off
 * @throws {OAuthError} `invalid_dpop_proof`: also if a client that is registered for bound tokens alone sends no
 *   proof to the token endpoint (§5.2); `use_dpop_nonce`
 * @throws {StorageFault} storage is unavailable
 */
export async function keyOfRequest(
  context: ProofContext,
  request: HttpRequest,
  client: ClientRecord,
  endpoint: 'token' | 'pushedAuthorizationRequest',
): Promise<string | undefined> {
  const algorithms = algorithmsOf(client, context.dpopAlgorithms);
  const isOff = algorithms.length === 0;
  const proof = isOff ? undefined : await checkedProof(context, request, endpoint, algorithms, 400);
  if (proof !== undefined) {
    await useUp(context, proof, 400);
    return proof.jkt;
  }
  if (endpoint === 'token' && client.metadata?.dpop_bound_access_tokens === true)
    throw refusedProof({ reason: isOff ? 'dpop_not_supported' : 'dpop_proof_missing' }, 400);
  return undefined;
}

/**
 * Requires a proof for an access token with the scheme DPoP (§7.1), and uses it up.
 * @param client the token's client, whose profile may limit the algorithms
 * @param jkt the key that the token is bound to
 * @throws {OAuthError} `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_token`: the token is bound to another key
 * @throws {StorageFault} storage is unavailable
 */
export async function requireProofOfToken(
  context: ProofContext,
  request: HttpRequest,
  client: Pick<ClientRecord, 'metadata'>,
  { token, jkt, endpoint }: { token: string; jkt: string | undefined; endpoint: keyof EndpointPaths },
): Promise<void> {
  const algorithms = algorithmsOf(client, context.dpopAlgorithms);
  const proof = await checkedProof(context, request, endpoint, algorithms, 401);
  if (proof === undefined) throw refusedProof({ reason: 'dpop_proof_missing' }, 401);
  if (!(await isForToken(proof, token))) throw refusedProof({ reason: 'dpop_token_wrong' }, 401);
  if (proof.jkt !== jkt)
    throw new OAuthError('invalid_token', 'the access token is bound to another key', {
      reason: 'dpop_key_wrong',
    });
  await useUp(context, proof, 401);
}

/** @returns `undefined` if the request has no DPoP header */
async function checkedProof(
  context: DpopContext,
  request: HttpRequest,
  endpoint: keyof EndpointPaths,
  algorithms: readonly SigningAlgorithm[],
  status: 400 | 401,
): Promise<DpopProof | undefined> {
  const { issuer, mtlsOrigin, paths, dpopProofLifetime: lifetime } = context;
  const header = headerValue(request, 'dpop');
  if (header === undefined) return undefined;
  const { method } = request;
  // The issuer is the server's public URL, also behind a proxy.
  const url = endpointUrl(issuer, paths[endpoint]);
  const urls = mtlsOrigin === undefined ? [url] : [url, urlAt(mtlsOrigin, url)];
  const nowMs = context.clock();
  const proof = await verifyDpopProof(header, { method, urls, algorithms, lifetime, nowMs });
  if ('reason' in proof) throw refusedProof(proof, status);
  await requireNonce(context, proof, status);
  return proof;
}

/**
 * Uses up the proof (§11.1). The identifier is stored longer than the proof lives, because a process with a slower
 * clock would still accept it.
 */
async function useUp(context: ProofContext, { jkt, jti, iat }: DpopProof, status: 400 | 401): Promise<void> {
  const id = await sha256(JSON.stringify(['dpop_proof', context.issuer, jkt, jti]));
  const keepUntil = Math.ceil(iat) + context.dpopProofLifetime + CLIENT_CLOCK_AHEAD;
  if (await takeOnce(context, id, keepUntil)) return;
  throw refusedProof({ reason: 'dpop_proof_replayed' }, status);
}

/** Milliseconds after which the server provides another nonce. The previous one is still accepted. */
const NONCE_MS = 60 * 1000;

/**
 * The header with the nonce for the client's next proofs (§8.2). It derives from the server's secret and the time, so
 * that every process accepts it and nothing is stored.
 */
export async function nonceHeaders(context: DpopContext): Promise<Readonly<Record<string, string>>> {
  if (context.dpopAlgorithms.length === 0) return {};
  const [key] = await context.secret.keys('dpop_nonce');
  return key === undefined ? {} : { 'dpop-nonce': await nonceAt(context, key, periodOf(context)) };
}

function periodOf({ clock }: DpopContext): number {
  return Math.floor(clock() / NONCE_MS);
}

function nonceAt({ issuer }: DpopContext, key: Uint8Array<ArrayBuffer>, period: number) {
  return hmacSha256(key, JSON.stringify([issuer, period]));
}

/**
 * Checks the nonce (§4.3 (10), §8). The next one counts too, because the clock of the process that provided it may be
 * ahead.
 * @throws {OAuthError} `use_dpop_nonce`; the response has a nonce
 */
async function requireNonce(context: DpopContext, { nonce }: DpopProof, status: 400 | 401): Promise<void> {
  if (nonce === undefined && context.dpopNonces === 'offered') return;
  if (nonce === undefined) throw refusedNonce('dpop_nonce_missing', status);
  const now = periodOf(context);
  for (const key of await context.secret.keys('dpop_nonce'))
    for (const period of [now, now - 1, now + 1])
      if (equalInConstantTime(nonce, await nonceAt(context, key, period))) return;
  throw refusedNonce('dpop_nonce_wrong', status);
}

function refusedNonce(reason: RefusalReason, status: 400 | 401): OAuthError {
  return new OAuthError('use_dpop_nonce', 'the DPoP proof needs the nonce of the DPoP-Nonce header', {
    reason,
    status,
  });
}
