// What the requests of a client prove, and what its tokens are bound to: a key (DPoP), a certificate, or both.
import { sha256 } from '#crypto';
import { isConfidential } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import { invalidRequest, OAuthError, type RefusalReason } from '../http/errors.ts';
import type { HttpRequest } from '../http/http.ts';
import { type Confirmation, readConfirmation } from '../protocol/claims.ts';
import { DEVICE_GRANT, type GrantType } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { type ProofContext, proofOfRequest, type UnusedProof } from './dpop.ts';
import { refusedProof } from './dpop_proof.ts';

/** The proofs of possession of a token request. */
export interface Proofs {
  /** What they prove possession of, if anything. */
  readonly proven?: Confirmation;
  /** A grant type of `TAKES_ONCE` passes its `once` to the storage, or uses it up. */
  readonly dpop?: UnusedProof | undefined;
}

/** Grant types that store tokens together with the use of a DPoP proof. */
const TAKES_ONCE: readonly GrantType[] = ['authorization_code', 'refresh_token', DEVICE_GRANT];

/**
 * Returns what a token request proves possession of: the key of its DPoP proof (RFC 9449 §5), and the certificate of
 * its TLS connection (RFC 8705 §3). The DPoP proof is used up, unless both grant type and storage take `once`.
 * @throws {OAuthError} `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_request`: the client must send a certificate
 * @throws {StorageFault} storage is unavailable
 */
export async function proofsOf(
  context: ProofContext & Pick<ClientContext, 'clientCertificates'>,
  request: HttpRequest,
  client: ClientRecord,
  grantType: GrantType,
): Promise<Proofs> {
  // The certificate first, because a proof works only once.
  const certificate = await certificateOfRequest(context, request, client);
  const dpop = await proofOfRequest(context, request, client, 'token');
  if (!TAKES_ONCE.includes(grantType) || !context.storage.takesOnce) await dpop?.useUp();
  if (dpop === undefined && certificate === undefined) return {};
  const key = dpop && { jkt: dpop.jkt };
  return { proven: { ...key, ...(certificate !== undefined && { 'x5t#S256': certificate }) }, dpop };
}

/** @returns the thumbprint; `undefined` without a certificate */
async function certificateOfRequest(
  { clientCertificates }: Pick<ClientContext, 'clientCertificates'>,
  { clientCertificate }: HttpRequest,
  { metadata }: ClientRecord,
): Promise<string | undefined> {
  if (clientCertificates && clientCertificate !== undefined) return sha256(clientCertificate.der);
  if (metadata?.tls_client_certificate_bound_access_tokens !== true) return undefined;
  throw invalidRequest(
    'a client certificate is required',
    clientCertificates ? 'client_certificate_missing' : 'client_certificates_off',
  );
}

/**
 * Returns what an access token is bound to. A client asks for a bound token by its proof (RFC 9449 §5), but connections
 * can have certificates for other reasons, so that those count only for clients that are registered for it (RFC 8705
 * §3.4; ADR 63).
 */
export function confirmationOfAccessToken(
  { metadata }: Pick<ClientRecord, 'metadata'>,
  proven: Confirmation,
): Confirmation | undefined {
  if (metadata?.tls_client_certificate_bound_access_tokens === true) return proven;
  return proven.jkt === undefined ? undefined : { jkt: proven.jkt };
}

/**
 * Returns what to bind a refresh token to, which is issued with a bound access token. Only those of public clients are
 * bound: confidential clients authenticate at every refresh (RFC 8705 §4, RFC 9449 §5).
 */
export function confirmationOfRefreshToken(
  client: ClientRecord,
  proven: Confirmation,
): Confirmation | undefined {
  return isConfidential(client) ? undefined : confirmationOfAccessToken(client, proven);
}

/**
 * Requires that a code or refresh token is presented with what it is bound to (RFC 8705 §4, RFC 9449 §5, RFC 9449 §10).
 * @throws {OAuthError} `invalid_dpop_proof`: no proof; `invalid_grant`: another key, another certificate or none
 */
export function requireSameConfirmation(bound: Confirmation, proven: Confirmation = {}): void {
  const { jkt, 'x5t#S256': certificate } = readConfirmation(bound) ?? refuse('confirmation_unknown');
  if (jkt !== undefined && proven.jkt === undefined)
    throw refusedProof({ reason: 'dpop_proof_missing' }, 400);
  if (jkt !== undefined && jkt !== proven.jkt) refuse('dpop_key_wrong');
  if (certificate === undefined || certificate === proven['x5t#S256']) return;
  const reason = proven['x5t#S256'] === undefined ? 'client_certificate_missing' : 'client_certificate_wrong';
  throw new OAuthError('invalid_grant', 'the grant is bound to another certificate', { reason });
}

function refuse(reason: RefusalReason): never {
  throw new OAuthError('invalid_grant', 'the grant is bound to another key', { reason });
}
