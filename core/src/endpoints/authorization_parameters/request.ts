import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import { secondsOf } from '../../protocol/environment.ts';
import { DocumentError } from '../../protocol/fetch_document.ts';
import type { Form } from '../../protocol/form.ts';
import { type ErrorCode, OAuthError } from '../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../protocol/reasons.ts';
import { type ClientRecord, SIGNING_ALGORITHMS, type SigningAlgorithm } from '../../protocol/records.ts';
import type { Context } from '../context.ts';
import { parametersOfClaims, type RequestClaims } from './request_claims.ts';

/** RFC 9101 §10.8, and what OpenID Connect Core §6.1 leaves open; other types are other JWTs of the client. */
const TYPES: readonly (string | undefined)[] = ['oauth-authz-req+jwt', 'jwt', undefined];

/** Seconds that a client's clock may be ahead. */
const CLOCK_LEEWAY = 30;

/**
 * The parameters in a request object: no others count (RFC 9101 §6.3).
 * @param outer what came beside it
 * @throws {OAuthError} `request_not_supported`: unsigned or encrypted; `invalid_request_object`: anything else is wrong
 */
export async function readRequestObject(
  context: Context,
  client: ClientRecord,
  outer: Form,
  jwt: string,
): Promise<Form> {
  // §6.1: encrypted objects have five parts
  if (jwt.split('.').length === 5)
    throw refused('request_not_supported', 'encrypted request objects are not supported', 'malformed');

  // §6.2
  const { algorithm, keyId } = readHeader(client, jwt);
  const claims = await verifiedClaims(context, client, jwt, algorithm, keyId);

  // §4, §6.3
  requireClaims(context, client, claims);
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
  const { alg, kid, typ } = decodedHeader(jwt);
  if (alg === 'none')
    throw refused('request_not_supported', 'unsigned request objects are not supported', 'malformed');
  const algorithm = SIGNING_ALGORITHMS.find((one) => one === alg);
  const registered = client.metadata?.request_object_signing_alg;
  if (algorithm === undefined || (registered !== undefined && registered !== algorithm))
    throw invalid('the algorithm of the request object is not allowed', 'wrong_key');
  const type = typ?.toLowerCase().replace(/^application\//, '');
  if (!TYPES.includes(type)) throw invalid('the type of the request object is not allowed', 'wrong_claims');
  return { algorithm, keyId: kid };
}

function decodedHeader(jwt: string) {
  try {
    const { alg, kid, typ } = decodeProtectedHeader(jwt);
    if (isTextOrAbsent(kid) && isTextOrAbsent(typ)) return { alg, kid, typ };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw invalid('the request object is malformed', 'malformed');
}

/** What jose throws because of the object alone. */
const REFUSALS = [
  errors.JWSSignatureVerificationFailed,
  errors.JWSInvalid,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
];

async function verifiedClaims(
  { clientKeys }: Context,
  client: ClientRecord,
  jwt: string,
  algorithm: SigningAlgorithm,
  keyId: string | undefined,
): Promise<RequestClaims> {
  try {
    const key = await clientKeys.forVerifying(client, algorithm, keyId);
    if (key === undefined) throw invalid('the client has no such key', 'wrong_key');
    const { payload } = await compactVerify(jwt, key, { algorithms: [algorithm] });
    return parsedClaims(payload);
  } catch (error) {
    if (error instanceof DocumentError)
      throw invalid('the keys of the client cannot be fetched', 'wrong_key', error);
    if (REFUSALS.some((refusal) => error instanceof refusal))
      throw invalid('the signature of the request object is wrong', 'wrong_key');
    throw error;
  }
}

function parsedClaims(payload: Uint8Array): RequestClaims {
  try {
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) return { ...claims };
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
  }
  throw invalid('the request object is malformed', 'malformed');
}

/** RFC 9101 §4, §5, §10.8: made by this client, for this server, now, and as a request. */
function requireClaims({ issuer, clock }: Context, client: ClientRecord, claims: RequestClaims): void {
  const { iss, aud, exp, nbf, sub, client_id: clientId } = claims;
  const now = secondsOf(clock());
  const isForServer = aud === undefined || aud === issuer || (Array.isArray(aud) && aud.includes(issuer));
  const isOfClient = clientId === client.id && (iss === undefined || iss === client.id);
  const isCurrent =
    (exp === undefined || (typeof exp === 'number' && exp > now)) &&
    (nbf === undefined || (typeof nbf === 'number' && nbf <= now + CLOCK_LEEWAY));
  if (!isOfClient) throw invalid('the request object is not of this client', 'wrong_claims');
  if (!isForServer) throw invalid('the request object is not for this server', 'wrong_claims');
  if (!isCurrent) throw invalid('the request object is not valid at this time', 'wrong_claims');
  if (sub === client.id) throw invalid('a client assertion is no request object', 'wrong_claims');
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

type Fault = 'malformed' | 'wrong_key' | 'wrong_claims';

function invalid(description: string, fault: Fault, cause?: unknown): OAuthError {
  return refused('invalid_request_object', description, fault, cause);
}

function refused(code: ErrorCode, description: string, fault: Fault, cause?: unknown): OAuthError {
  const reason: RefusalReason = `request_object_${fault}`;
  return new OAuthError(code, description, { reason, cause });
}
