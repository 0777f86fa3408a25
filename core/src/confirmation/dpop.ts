// DPoP at the server's endpoints: which requests need a proof, its single use, and nonces. § refers to RFC 9449.
import { sha256 } from '#crypto';
import { type ClientContext, takeOnce } from '../clients/client.ts';
import type { EndpointPaths } from '../http/endpoint_names.ts';
import { OAuthError } from '../http/errors.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import { CLIENT_CLOCK_AHEAD } from '../platform/environment.ts';
import type { ClientAlgorithm } from '../protocol/client_metadata.ts';
import { algorithmsOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { OneTimeUse } from '../storage/contract.ts';
import {
  currentNonce,
  type DpopProof,
  isForToken,
  type NonceSource,
  refusedProof,
  requireNonce,
  verifyDpopProof,
} from './dpop_proof.ts';

type DpopContext = Pick<
  ClientContext,
  'issuer' | 'endpointUrls' | 'clock' | 'secret' | 'dpopAlgorithms' | 'dpopNonces' | 'dpopProofLifetime'
>;

/** What checks of proofs need, with the storage of used proofs. */
export type ProofContext = DpopContext & Pick<ClientContext, 'storage'>;

/** A proof that is accepted but for its single use (§11.1; ADR 98). */
export class UnusedProof {
  /** The thumbprint of its key. */
  readonly jkt: string;
  readonly #context: ProofContext;
  readonly #use: OneTimeUse;
  #isUsedUp = false;

  constructor(context: ProofContext, { jkt }: DpopProof, use: OneTimeUse) {
    this.#context = context;
    this.jkt = jkt;
    this.#use = use;
  }

  /** What storage takes together with an issuance; `undefined` once the proof is used up. */
  get once(): OneTimeUse | undefined {
    return this.#isUsedUp ? undefined : this.#use;
  }

  /**
   * Uses up the proof by itself, once.
   * @throws {OAuthError} `invalid_dpop_proof`: it was used before
   * @throws {StorageFault} storage is unavailable
   */
  async useUp(): Promise<void> {
    if (this.#isUsedUp) return;
    this.#isUsedUp = true;
    await take(this.#context, this.#use, 400);
  }

  /**
   * Waits for an issuance that takes `once`. If it is refused, this uses up the proof, and a proof that was used before
   * is the error. After a storage fault, the proof may still be unused.
   */
  async during<T>(issuance: Promise<T>): Promise<T> {
    try {
      return await issuance;
    } catch (error) {
      if (error instanceof OAuthError) await this.useUp();
      throw error;
    }
  }
}

/** Endpoints at which a client begins a request, which its proof binds. */
export type RequestingEndpoint = 'pushedAuthorizationRequest' | 'deviceAuthorization';

/**
 * Accepts the proof of a request to an endpoint that issues something (§5, §10.1). The caller uses it up.
 * @returns `undefined` if the request has no proof, or DPoP is off
 * @throws {OAuthError} `invalid_dpop_proof`: also if a client that is registered for bound tokens alone sends no
 *   proof to the token endpoint (§5.2); `use_dpop_nonce`
 */
export async function proofOfRequest(
  context: ProofContext,
  request: HttpRequest,
  client: ClientRecord,
  endpoint: 'token' | RequestingEndpoint,
): Promise<UnusedProof | undefined> {
  const algorithms = algorithmsOf(client, context.dpopAlgorithms);
  const isOff = algorithms.length === 0;
  const proof = isOff ? undefined : await checkedProof(context, request, endpoint, algorithms, 400);
  if (proof !== undefined) return new UnusedProof(context, proof, await useOf(context, proof));
  if (endpoint === 'token' && client.metadata?.dpop_bound_access_tokens === true)
    throw refusedProof({ reason: isOff ? 'dpop_not_supported' : 'dpop_proof_missing' }, 400);
  return undefined;
}

/** Checks the proof of a token request, and uses up nothing. @throws {OAuthError} as `proofOfRequest` */
export function checkProof(context: ProofContext, request: HttpRequest, client: ClientRecord) {
  return proofOfRequest(context, request, client, 'token');
}

/** Checks the proof of a request that a client begins, and uses up nothing. @throws {OAuthError} as `proofOfRequest` */
export function checkProofAt(endpoint: RequestingEndpoint) {
  return (context: ProofContext, request: HttpRequest, client: ClientRecord) =>
    proofOfRequest(context, request, client, endpoint);
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
  await take(context, await useOf(context, proof), 401);
}

/** @returns `undefined` if the request has no DPoP header */
async function checkedProof(
  context: DpopContext,
  request: HttpRequest,
  endpoint: keyof EndpointPaths,
  algorithms: readonly ClientAlgorithm[],
  status: 400 | 401,
): Promise<DpopProof | undefined> {
  const { endpointUrls, dpopProofLifetime: lifetime, clock } = context;
  const header = headerValue(request, 'dpop');
  if (header === undefined) return undefined;
  const expected = { method: request.method, urls: endpointUrls[endpoint], algorithms, lifetime };
  const proof = await verifyDpopProof(header, { ...expected, nowMs: clock() });
  if ('reason' in proof) throw refusedProof(proof, status);
  if (proof.nonce !== undefined || context.dpopNonces === 'required')
    await requireNonce(await noncesOf(context), proof, status);
  return proof;
}

/** It is remembered longer than the proof lives, because a process with a slower clock would still accept it. */
async function useOf(
  { issuer, dpopProofLifetime }: DpopContext,
  { jkt, jti, iat }: DpopProof,
): Promise<OneTimeUse> {
  const id = await sha256(JSON.stringify(['dpop_proof', issuer, jkt, jti]));
  return { id, expiresAt: Math.ceil(iat) + dpopProofLifetime + CLIENT_CLOCK_AHEAD };
}

async function take(context: ProofContext, { id, expiresAt }: OneTimeUse, status: 400 | 401): Promise<void> {
  if (await takeOnce(context, id, expiresAt)) return;
  throw refusedProof({ reason: 'dpop_proof_replayed' }, status);
}

/** The header with the nonce for the client's next proofs (§8.2). */
export async function nonceHeaders(context: DpopContext): Promise<Readonly<Record<string, string>>> {
  if (context.dpopAlgorithms.length === 0) return {};
  return { 'dpop-nonce': await currentNonce(await noncesOf(context)) };
}

async function noncesOf({ secret, issuer, clock }: DpopContext): Promise<NonceSource> {
  return { keys: await secret.keys('dpop_nonce'), owner: issuer, nowMs: clock() };
}
