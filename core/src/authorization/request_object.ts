// Signed request objects, by value and by reference. § refers to RFC 9101.
import type { ClientContext } from '../clients/client.ts';
import {
  type ErrorCode,
  invalidRequest,
  OAuthError,
  type OAuthErrorDetails,
  type RefusalReason,
} from '../http/errors.ts';
import { DocumentError, fetchBody } from '../http/fetch_document.ts';
import type { Form } from '../http/form.ts';
import { isListOfTexts, isObject } from '../http/http.ts';
import { CLIENT_CLOCK_AHEAD, secondsOf } from '../platform/environment.ts';
import type { Claims } from '../protocol/claims.ts';
import { type ClientAlgorithm, clientAlgorithmOf } from '../protocol/client_metadata.ts';
import { algorithmsOf, profileOf } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { parseClaims, readJwtHeader, verifiedPayload } from '../tokens/jwt.ts';
import { findPushedRequest, isPushedRequestUri } from './request_end.ts';
import type { AuthorizationContext } from './target.ts';

/**
 * Returns the effective parameters at the authorization endpoint. They come from a pushed request (RFC 9126 §4), from a
 * request object by reference or by value (RFC 9101 §5), or from the request itself.
 * @throws {OAuthError} the parameters cannot be read, or the client must send them in another way
 */
export async function resolvedParameters(
  context: AuthorizationContext,
  client: ClientRecord,
  form: Form,
): Promise<{ readonly parameters: Form; readonly requestId?: string }> {
  const uri = form.get('request_uri');
  if (uri !== undefined && form.has('request'))
    throw refused('expected request or request_uri, not both', 'parameter_invalid');
  if (uri !== undefined && isPushedRequestUri(uri)) return findPushedRequest(context, client, uri);

  const mustBePushed = client.metadata?.require_pushed_authorization_requests === true;
  if (mustBePushed || context.requirePushedAuthorizationRequests)
    throw refused('the request must be pushed', 'pushed_request_missing');
  if (uri === undefined) return { parameters: await parametersByValue(context, client, form) };
  const document = await fetchRequestObject(context, client, uri);
  return { parameters: await readRequestObject(context, client, form, document, 'fetched') };
}

/** The effective parameters without `request_uri`, for pushed requests (RFC 9126 §2.1, §3). */
export async function parametersByValue(
  context: AuthorizationContext,
  client: ClientRecord,
  form: Form,
): Promise<Form> {
  const request = form.get('request');
  if (request !== undefined) return readRequestObject(context, client, form, request, 'sent');
  if (client.metadata?.require_signed_request_object === true)
    throw refused('the request must be a signed request object', 'request_object_missing');
  return form;
}

function refused(description: string, reason: RefusalReason): OAuthError {
  return invalidRequest(description, reason);
}

/** RFC 9101 §10.8; OpenID Connect Core §6.1 also allows no type. Other types are other JWTs of the client. */
const TYPES: readonly (string | undefined)[] = ['oauth-authz-req+jwt', 'jwt', undefined];

/**
 * Reads a request object, whose parameters replace all others (RFC 9101 §6.3).
 * @param outer the parameters outside the request object
 * @param origin `sent` by value, or `fetched` from a `request_uri`
 * @throws {OAuthError} `request_not_supported`: encrypted; `invalid_request_object`: any other defect
 */
async function readRequestObject(
  context: AuthorizationContext,
  client: ClientRecord,
  outer: Form,
  jwt: string,
  origin: 'sent' | 'fetched',
): Promise<Form> {
  // §6.1 encrypted objects have 5 parts
  if (jwt.split('.').length === 5)
    throw refusedRequestObject(
      'request_not_supported',
      'encrypted request objects are not supported',
      'request_object_malformed',
    );

  // §6.2
  const { algorithm, keyId } = readHeader(context, client, jwt);
  const claims = await verifiedClaims(context, client, jwt, algorithm, keyId);

  // §4, §6.3
  const isStrict = context.strictRequestObjects || profileOf(client)?.strictRequestObjects === true;
  requireClaims(context, client, claims, isStrict);
  requireTimes(context, claims, isStrict, origin);
  const parameters = parametersOfClaims(claims);
  if (parameters === undefined || parameters.has('request') || parameters.has('request_uri'))
    throw invalid('the request object has a parameter that is not allowed');
  const responseType = outer.get('response_type');
  if (responseType !== undefined && responseType !== parameters.get('response_type'))
    throw invalid('the response_type differs from the one in the request object');
  return parameters;
}

/** The server must support the algorithm, and it must match the client’s registration, if any. */
function readHeader({ requestObjectAlgorithms }: AuthorizationContext, client: ClientRecord, jwt: string) {
  const header = readJwtHeader(jwt);
  if (header === undefined) throw malformed();
  if (header.algorithm === 'none')
    throw invalid('the request object is not signed', 'request_object_malformed');
  const algorithm = clientAlgorithmOf(header.algorithm);
  const registered = client.metadata?.request_object_signing_alg;
  const isAllowed =
    algorithm !== undefined && algorithmsOf(client, requestObjectAlgorithms).includes(algorithm);
  if (!isAllowed || (registered !== undefined && registered !== algorithm))
    throw invalid('the algorithm of the request object is not allowed', 'request_object_wrong_key');
  if (!TYPES.includes(header.type)) throw invalid('the type of the request object is not allowed');
  return { algorithm, keyId: header.keyId };
}

async function verifiedClaims(
  { clientKeys }: ClientContext,
  client: ClientRecord,
  jwt: string,
  algorithm: ClientAlgorithm,
  keyId: string | undefined,
): Promise<Claims> {
  const key = await keyOf(clientKeys, client, algorithm, keyId);
  if (key === undefined)
    throw invalid('the client has no key that matches the request object', 'request_object_wrong_key');
  const payload = await verifiedPayload(jwt, key, algorithm);
  if (payload === undefined)
    throw invalid('the signature of the request object is wrong', 'request_object_wrong_key');
  const claims = parseClaims(payload);
  if (claims === undefined) throw malformed();
  return claims;
}

async function keyOf(
  clientKeys: ClientContext['clientKeys'],
  client: ClientRecord,
  algorithm: ClientAlgorithm,
  keyId: string | undefined,
) {
  try {
    return await clientKeys.forVerifying(client, algorithm, keyId);
  } catch (error) {
    if (error instanceof DocumentError && error.outcome === 'refused')
      throw invalid('the keys of the client cannot be fetched', 'request_object_wrong_key', error);
    throw error;
  }
}

/**
 * RFC 9101 §4, §5, §10.8: the object is from this client, for this server, and is a request.
 * @param isStrict whether it must name its server (FAPI 2.0 Message Signing §5.3.1)
 */
function requireClaims(
  { issuer }: ClientContext,
  client: ClientRecord,
  claims: Claims,
  isStrict: boolean,
): void {
  const { iss, aud, sub, client_id: clientId } = claims;
  const isForServer = aud === undefined || aud === issuer || (Array.isArray(aud) && aud.includes(issuer));
  const isOfClient = clientId === client.id && (iss === undefined || iss === client.id);
  if (!isOfClient) throw invalid('the request object is from another client');
  if (!isForServer) throw invalid('the request object is not for this server');
  if (aud === undefined && isStrict) throw invalid('the request object has no aud');
  if (sub === client.id) throw invalid('a client assertion cannot be used as a request object');
}

/** Maximum lifetime of a request object in seconds, and maximum age of its `nbf` (FAPI 2.0 Message Signing §5.3.1). */
const MAX_LIFETIME = 60 * 60;

/**
 * Requires a currently valid object with a limited lifetime. A sent object needs `exp`. A document behind a
 * `request_uri` does not, because the client can remove it (OpenID Connect Core §6.2).
 * @param isStrict whether all need `exp` and `nbf` (FAPI 2.0 Message Signing §5.3.1)
 */
function requireTimes(
  { clock }: AuthorizationContext,
  { exp, nbf }: Claims,
  isStrict: boolean,
  origin: 'sent' | 'fetched',
): void {
  const now = secondsOf(clock());
  const mayLackExp = origin === 'fetched' && !isStrict;
  if (exp === undefined && !mayLackExp) throw invalid('the request object has no exp');
  if (nbf === undefined && isStrict) throw invalid('the request object has no nbf');
  const begins = typeof nbf === 'number' ? nbf : now + CLIENT_CLOCK_AHEAD;
  const isCurrent =
    (exp === undefined || (typeof exp === 'number' && exp > now)) &&
    (nbf === undefined || (typeof nbf === 'number' && nbf <= now + CLIENT_CLOCK_AHEAD));
  if (!isCurrent) throw invalid('the request object is not valid at this time');
  if (begins < now - MAX_LIFETIME || (typeof exp === 'number' && exp > begins + MAX_LIFETIME))
    throw invalid('the request object is valid for more than 60 minutes');
}

function malformed(): OAuthError {
  return invalid('the request object is malformed', 'request_object_malformed');
}

function invalid(
  description: string,
  reason: RefusalReason = 'request_object_wrong_claims',
  cause?: unknown,
): OAuthError {
  return refusedRequestObject('invalid_request_object', description, reason, cause);
}

function refusedRequestObject(
  code: ErrorCode,
  description: string,
  reason: RefusalReason,
  cause?: unknown,
): OAuthError {
  return new OAuthError(code, description, { reason, cause });
}

/** Claims about the JWT itself (RFC 7519 §4.1), which are not parameters. */
const ABOUT_THE_JWT: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Maximum nesting of lists and objects, because some runtimes serialize JSON recursively. */
const MAX_DEPTH = 20;

/**
 * Converts claims to form parameters (RFC 9101 §4). Numbers become digits, several resources a space-separated list,
 * and other lists and objects JSON, like the parameter `claims` (OpenID Connect Core §6.1).
 * @returns `undefined` if a claim has no form value: ill-formed text, resources that are not texts, or too much nesting
 */
function parametersOfClaims(claims: Claims): Form | undefined {
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(claims)) {
    if (ABOUT_THE_JWT.has(name) || value === null) continue;
    const text = textOf(name, value);
    if (text === undefined || !text.isWellFormed() || !name.isWellFormed()) return undefined;
    if (text !== '') parameters.set(name, text);
  }
  return parameters;
}

function textOf(name: string, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (name === 'resource' && Array.isArray(value)) return isListOfTexts(value) ? value.join(' ') : undefined;
  return isAtMostDeep(value, MAX_DEPTH) ? JSON.stringify(value) : undefined;
}

function isAtMostDeep(value: unknown, depth: number): boolean {
  if (!isObject(value)) return true;
  return depth > 0 && Object.values(value).every((member) => isAtMostDeep(member, depth - 1));
}

/** Characters (RFC 9101 §5.2). */
const MAX_URI_LENGTH = 512;

/** Bytes. Twice the size of the largest signed request. */
const MAX_OBJECT_BYTES = 16 * 1024;

/**
 * Fetches a request object (RFC 9101 §5.2.3, OpenID Connect Core §6.2). Only from registered URLs and allowed hosts,
 * because the request is unauthenticated (RFC 9101 §10.4.1).
 * @throws {OAuthError} `request_uri_not_supported`: fetching is off; `invalid_request_uri`: not allowed or not
 * available
 */
async function fetchRequestObject(
  context: AuthorizationContext,
  client: ClientRecord,
  uri: string,
): Promise<string> {
  if (!context.canFetch) {
    throw new OAuthError('request_uri_not_supported', 'request_uri is not supported', {
      reason: 'request_uri_not_allowed',
    });
  }
  const address = withoutFragment(uri);
  if (uri.length > MAX_URI_LENGTH || !(isRegistered(client, address) || isOfAllowedHost(context, address)))
    throw refusedRequestUri('the request_uri is not allowed', 'request_uri_not_allowed', { value: uri });
  return fetched(context, address);
}

function isRegistered({ metadata }: ClientRecord, address: string): boolean {
  return metadata?.request_uris?.some((uri) => withoutFragment(uri) === address) ?? false;
}

function isOfAllowedHost({ requestUriHosts }: AuthorizationContext, address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'https:' && requestUriHosts.includes(url.host);
}

/** Fragments distinguish versions of the object, which the server does not cache. */
function withoutFragment(uri: string): string {
  return uri.split('#', 1)[0] ?? '';
}

async function fetched({ fetchDocument }: AuthorizationContext, address: string): Promise<string> {
  try {
    const body = await fetchBody(fetchDocument, address, {
      headers: { accept: 'application/oauth-authz-req+jwt, application/jwt' },
      maxBytes: MAX_OBJECT_BYTES,
    });
    return body.trim();
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw refusedRequestUri('the request_uri cannot be fetched', 'request_uri_unreachable', {
      value: address,
      cause: error,
    });
  }
}

function refusedRequestUri(
  description: string,
  reason: RefusalReason,
  details: Pick<OAuthErrorDetails, 'value' | 'cause'>,
): OAuthError {
  return new OAuthError('invalid_request_uri', description, { reason, ...details });
}
