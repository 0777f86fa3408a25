import type { Claims } from '../../../protocol/claims.ts';
import { CLIENT_CLOCK_AHEAD, secondsOf } from '../../../protocol/environment.ts';
import { DocumentError } from '../../../protocol/fetch_document.ts';
import type { Form } from '../../../protocol/form.ts';
import { type ErrorCode, OAuthError } from '../../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import { type SigningAlgorithm, signingAlgorithmOf } from '../../../protocol/signing_algorithm.ts';
import { parseClaims, readJwtHeader, verifiedPayload } from '../../../tokens/signature.ts';
import type { Context } from '../../context.ts';
import { parametersOfClaims } from './request_claims.ts';

/** RFC 9101 §10.8, and what OpenID Connect Core §6.1 leaves open; other types are other JWTs of the client. */
const TYPES: readonly (string | undefined)[] = ['oauth-authz-req+jwt', 'jwt', undefined];

/**
 * The parameters in a request object: no others count (RFC 9101 §6.3).
 * @param outer parameters beside it
 * @param origin whether the client sent the object, or keeps it behind a `request_uri`
 * @throws {OAuthError} `request_not_supported`: encrypted; `invalid_request_object`: anything else is wrong
 */
export async function readRequestObject(
  context: Context,
  client: ClientRecord,
  outer: Form,
  jwt: string,
  origin: 'sent' | 'fetched',
): Promise<Form> {
  // §6.1: encrypted objects have five parts
  if (jwt.split('.').length === 5)
    throw refused('request_not_supported', 'encrypted request objects are not supported', 'malformed');

  // §6.2
  const { algorithm, keyId } = readHeader(client, jwt);
  const claims = await verifiedClaims(context, client, jwt, algorithm, keyId);

  // §4, §6.3
  requireClaims(context, client, claims);
  requireTimes(context, claims, origin);
  const parameters = parametersOfClaims(claims);
  if (parameters === undefined || parameters.has('request') || parameters.has('request_uri'))
    throw invalid('the request object has a parameter that is not allowed', 'wrong_claims');
  const responseType = outer.get('response_type');
  if (responseType !== undefined && responseType !== parameters.get('response_type'))
    throw invalid('the response_type differs from the one in the request object', 'wrong_claims');
  return parameters;
}

/** The algorithm is never the object's choice alone: it is one of this server's, and the client's where it chose one. */
function readHeader(client: ClientRecord, jwt: string) {
  const header = readJwtHeader(jwt);
  if (header === undefined) throw malformed();
  if (header.algorithm === 'none') throw invalid('the request object is not signed', 'malformed');
  const algorithm = signingAlgorithmOf(header.algorithm);
  const registered = client.metadata?.request_object_signing_alg;
  if (algorithm === undefined || (registered !== undefined && registered !== algorithm))
    throw invalid('the algorithm of the request object is not allowed', 'wrong_key');
  if (!TYPES.includes(header.type))
    throw invalid('the type of the request object is not allowed', 'wrong_claims');
  return { algorithm, keyId: header.keyId };
}

async function verifiedClaims(
  { clientKeys }: Context,
  client: ClientRecord,
  jwt: string,
  algorithm: SigningAlgorithm,
  keyId: string | undefined,
): Promise<Claims> {
  const key = await keyOf(clientKeys, client, algorithm, keyId);
  if (key === undefined) throw invalid('the client has no such key', 'wrong_key');
  const payload = await verifiedPayload(jwt, key, algorithm);
  if (payload === undefined) throw invalid('the signature of the request object is wrong', 'wrong_key');
  const claims = parseClaims(payload);
  if (claims === undefined) throw malformed();
  return claims;
}

async function keyOf(
  clientKeys: Context['clientKeys'],
  client: ClientRecord,
  algorithm: SigningAlgorithm,
  keyId: string | undefined,
) {
  try {
    return await clientKeys.forVerifying(client, algorithm, keyId);
  } catch (error) {
    if (error instanceof DocumentError && error.outcome === 'refused')
      throw invalid('the keys of the client cannot be fetched', 'wrong_key', error);
    throw error;
  }
}

/** RFC 9101 §4, §5, §10.8: made by this client, for this server, and as a request. */
function requireClaims({ issuer }: Context, client: ClientRecord, claims: Claims): void {
  const { iss, aud, sub, client_id: clientId } = claims;
  const isForServer = aud === undefined || aud === issuer || (Array.isArray(aud) && aud.includes(issuer));
  const isOfClient = clientId === client.id && (iss === undefined || iss === client.id);
  if (!isOfClient) throw invalid('the request object is not of this client', 'wrong_claims');
  if (!isForServer) throw invalid('the request object is not for this server', 'wrong_claims');
  if (sub === client.id) throw invalid('a client assertion is no request object', 'wrong_claims');
}

/** Seconds that a request object may live, and that its beginning may lie in the past (FAPI 2.0 Message Signing §5.3.1). */
const LONGEST_LIFE = 60 * 60;

/**
 * Whether an object is good now, and soon no longer. One that the client sends needs `exp`; a document behind a
 * `request_uri` does not, since the client ends it by removing it (OpenID Connect Core §6.2). With
 * `strictRequestObjects` all need `exp` and `nbf` (FAPI 2.0 Message Signing §5.3.1).
 */
function requireTimes(
  { clock, strictRequestObjects }: Context,
  { exp, nbf }: Claims,
  origin: 'sent' | 'fetched',
): void {
  const now = secondsOf(clock());
  const mayLackExp = origin === 'fetched' && !strictRequestObjects;
  if (exp === undefined && !mayLackExp) throw invalid('the request object has no exp', 'wrong_claims');
  if (nbf === undefined && strictRequestObjects)
    throw invalid('the request object has no nbf', 'wrong_claims');
  const begins = typeof nbf === 'number' ? nbf : now + CLIENT_CLOCK_AHEAD;
  const isCurrent =
    (exp === undefined || (typeof exp === 'number' && exp > now)) &&
    (nbf === undefined || (typeof nbf === 'number' && nbf <= now + CLIENT_CLOCK_AHEAD));
  if (!isCurrent) throw invalid('the request object is not valid at this time', 'wrong_claims');
  if (begins < now - LONGEST_LIFE || (typeof exp === 'number' && exp > begins + LONGEST_LIFE))
    throw invalid('the request object is valid for more than 60 minutes', 'wrong_claims');
}

type Fault = 'malformed' | 'wrong_key' | 'wrong_claims';

function malformed(): OAuthError {
  return invalid('the request object is malformed', 'malformed');
}

function invalid(description: string, fault: Fault, cause?: unknown): OAuthError {
  return refused('invalid_request_object', description, fault, cause);
}

function refused(code: ErrorCode, description: string, fault: Fault, cause?: unknown): OAuthError {
  const reason: RefusalReason = `request_object_${fault}`;
  return new OAuthError(code, description, { reason, cause });
}
