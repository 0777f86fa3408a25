import { base64url, type CryptoKey } from 'jose';
import { sha256 } from '#hashing';
import { authenticationMethodsOf } from '../../protocol/authentication_method.ts';
import type { Claims } from '../../protocol/claims.ts';
import { CLIENT_CLOCK_AHEAD } from '../../protocol/environment.ts';
import { DocumentError } from '../../protocol/fetch_document.ts';
import { type Form, requireParameter } from '../../protocol/form.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { signingAlgorithmOf } from '../../protocol/signing_algorithm.ts';
import { parseClaims, readJwtHeader, verifiedPayload } from '../../tokens/signature.ts';
import type { Call, Context } from '../context.ts';
import { findNamedClient } from '../named_client.ts';
import { takeOnce } from '../one_time_identifier.ts';
import { judgeClaims } from './assertion_claims.ts';
import type { ClaimedAssertion } from './credentials.ts';
import { refusedClient } from './refused_client.ts';
import { standInKey } from './stand_in_keys.ts';

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
  context: Context,
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
  { storage, clientKeys }: Context,
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
