// Token introspection. § refers to RFC 7662.

import { authenticateClient, isConfidential, requireConfidential } from '../clients/authentication.ts';
import { type ClientContext, isUnchecked } from '../clients/client.ts';
import { type InactiveReason, invalidRequest } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, formatScope, parseScope, readForm, requireParameter } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, headerValue, jsonResponse, qualityOf } from '../http/http.ts';
import { inParallel, secondsOf } from '../platform/environment.ts';
import { type AuthorizationDetails, detailsFor, detailsIn } from '../protocol/authorization_details.ts';
import type { Confirmation } from '../protocol/claims.ts';
import { hasResource } from '../protocol/client_metadata.ts';
import { PERSONAL } from '../protocol/record_rules.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Context, IntrospectionPolicy } from '../request/context.ts';
import type { Awaitable } from '../storage/contract.ts';
import { answerJwt, registeredEncryption } from '../tokens/answer_jwt.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import {
  actingWith,
  confirmationOf,
  findToken,
  lifeOf,
  readTokenTypeHint,
  type TokenTypeHint,
} from '../tokens/state.ts';

/**
 * The response of introspection (RFC 7662 §2.2). An inactive token has only `active: false`. An active one also has the
 * members of the option `applicationClaims`.
 */
export interface IntrospectionResult {
  readonly active: boolean;
  readonly scope?: string;
  readonly client_id?: string;
  readonly username?: string;
  readonly token_type?: string;
  /** Seconds. */
  readonly exp?: number;
  /** Seconds. */
  readonly iat?: number;
  /** Seconds. */
  readonly nbf?: number;
  readonly sub?: string;
  readonly aud?: string | readonly string[];
  readonly iss?: string;
  readonly jti?: string;
  /** Session of the token (OpenID Connect Back-Channel Logout §2.4). */
  readonly sid?: string;
  /** Seconds since 1970 of the sign-in (RFC 9068 §2.2.1, like `acr` and `amr`). */
  readonly auth_time?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  /** What the token is bound to (RFC 8705 §3.2, RFC 9449 §6.2). The resource server must require its proof. */
  readonly cnf?: Confirmation;
  /** Details that are for the caller (RFC 9396 §9.2). */
  readonly authorization_details?: AuthorizationDetails;
  readonly [applicationClaim: string]: unknown;
}

const INACTIVE: IntrospectionResult = { active: false };

/** Claims that become members of the response if the token, or its record, has them. */
const CLAIM_MEMBERS = [
  'username',
  'exp',
  'iat',
  'nbf',
  'sub',
  'aud',
  'iss',
  'jti',
  'sid',
  'auth_time',
  'acr',
  'amr',
  'act',
  'may_act',
  'ending_keys',
] as const;

/** What introspection needs from the server. */
export type IntrospectionContext = ClientContext &
  Pick<
    Context,
    | 'authenticateIntrospect'
    | 'introspectionRequiresConfidentialClient'
    | 'introspectionPolicy'
    | 'ignoreUnknownTokenTypeHints'
    | 'answers'
  >;

/**
 * `POST /token/introspect` (RFC 7662, RFC 9701). It stores nothing about the token. Only client authentication writes:
 * the use of an assertion, or the last use and a new hash of a secret.
 */
export async function introspection(
  context: IntrospectionContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  const { answers, clock } = context;
  const place = await answers?.find(request, clock);
  if (place?.response) {
    if (place.callerId !== undefined) call.clientId = place.callerId;
    return place.response;
  }

  // §2.1 read the request and authenticate the caller
  const form = readForm(request);
  let untilMs: number | undefined = Number.POSITIVE_INFINITY;
  const authentication = authenticateCaller(context, request, form, call, (ms) => {
    untilMs = ms;
  });
  const [caller, found] = await inParallel(authentication, async () => {
    const token = requireParameter(form, 'token');
    return find(context, token, await readTokenTypeHint(context, form, authentication));
  });

  // §2.2 answer, as JSON or as a JWT (RFC 9701 §4)
  const recipient = jwtRecipient(context, request, caller);
  const result = await describe(context, found, caller, call, needsIn(form));
  if (recipient !== undefined) return introspectionJwtResponse(context, result, recipient);
  const response = jsonResponse(result);
  if (place && result.active && !('reason' in found))
    answers?.remember(place.key, { response, caller, found, untilMs }, clock());
  return response;
}

/** @returns `undefined` if the option `authenticateIntrospect` is off */
async function authenticateCaller(
  context: IntrospectionContext,
  request: HttpRequest,
  form: Form,
  call: Call,
  onAccepted: (untilMs: number | undefined) => void,
): Promise<ClientRecord | undefined> {
  if (!context.authenticateIntrospect) return undefined;
  const caller = await authenticateClient(context, request, form, call, undefined, onAccepted);
  if (context.introspectionRequiresConfidentialClient) requireConfidential(caller);
  return caller;
}

/** What the caller needs of the token. */
interface Needs {
  /** All of them. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** Audiences, all of them. Default: none. */
  readonly resources?: readonly string[] | undefined;
}

/**
 * A caller that says what it needs cannot forget to check it (ADR 178).
 * @throws {OAuthError} `invalid_scope`: malformed
 */
function needsIn(form: Form): Needs | undefined {
  const [scope, resource] = [form.get('scope'), form.get('resource')];
  if (scope === undefined && resource === undefined) return undefined;
  // Repeated ones arrive joined by spaces, which URIs do not contain.
  return { scopes: scope === undefined ? [] : parseScope(scope), resources: resource?.split(' ') };
}

/** APIs accept access tokens only. */
function meets({ record, claims }: FoundToken, { scopes = [], resources = [] }: Needs): boolean {
  const audiences = [claims.aud].flat();
  return (
    record.kind === 'access_token' &&
    scopes.every((scope) => record.scopes.includes(scope)) &&
    resources.every((resource) => hasResource(audiences, resource))
  );
}

/** Options of introspection without HTTP. */
export interface IntrospectionOptions extends Needs {
  /** The client that asks. Default: the host, which may see every token. */
  readonly caller?: ClientRecord;
  readonly hint?: TokenTypeHint | undefined;
}

/**
 * Introspects a token without HTTP (RFC 7662 §2.2).
 * @throws {StorageFault} storage is unavailable
 */
export async function introspectToken(
  context: ClientContext & Pick<Context, 'introspectionPolicy'>,
  token: string,
  { caller, hint, scopes, resources }: IntrospectionOptions,
): Promise<IntrospectionResult> {
  const found = await find(context, token, hint);
  return describe(
    context,
    found,
    caller ?? 'host',
    { operation: 'introspection' },
    (scopes ?? resources) && { scopes, resources },
  );
}

/** The hint `auth_code` needs no lookup, because codes are never active (grantd §5.5). */
function find(
  context: ClientContext,
  token: string,
  hint: TokenTypeHint | undefined,
): Awaitable<FoundToken | NoToken> {
  return hint === 'auth_code' ? { reason: 'authorization_code' } : findToken(context, token);
}

/** Who gets the answer. `undefined` is a request without authentication. */
type Reader = ClientRecord | 'host' | undefined;

async function describe(
  context: ClientContext & Pick<Context, 'introspectionPolicy'>,
  found: FoundToken | NoToken,
  reader: Reader,
  call: Call,
  needs: Needs | undefined,
): Promise<IntrospectionResult> {
  if ('reason' in found) return inactive(context, call, found.reason, undefined, found.cause);
  const life = await lifeOf(context, found.record, found.claims);
  if (!life.alive) return inactive(context, call, life.reason, found.record.id);
  if (reader !== 'host' && (await context.introspectionPolicy(reader, found)) !== true)
    return inactive(context, call, 'policy', found.record.id);
  if (needs !== undefined && !meets(found, needs))
    return inactive(context, call, 'need_unmet', found.record.id);
  if (found.record.ancestors ?? found.claims[PERSONAL]) call.acting = actingWith(found.record);
  const { applicationClaims } = context;
  if (applicationClaims === undefined || found.record.kind !== 'access_token') return active(found, reader);
  return { ...active(found, reader), ...(await applicationClaims.ofResponse('introspection', found)) };
}

/**
 * Scope, client and token type come from the record. Other members are claims (ADR 147): of the verified JWT, or an opaque
 * token's record. Hosts may store `null` for an absent claim. To spread the members would take 0.3 µs more.
 */
function active(found: FoundToken, reader: Reader): IntrospectionResult {
  const { record, claims } = found;
  const { scopes, clientId, tokenType } = record;
  const result: { active: true; [member: string]: unknown } = { active: true };
  if (scopes.length > 0) result.scope = formatScope(scopes);
  result.client_id = clientId;
  if (tokenType !== undefined) result.token_type = tokenType;
  for (const name of CLAIM_MEMBERS) {
    const value = claims[name];
    if (value !== undefined && value !== null) result[name] = value;
  }
  const confirmation = confirmationOf(found);
  if (confirmation !== undefined) {
    result.cnf = confirmation;
    // A host may store another type than what its token is bound to.
    const isByKey = record.kind === 'access_token' && typeof confirmation.jkt === 'string';
    if (isByKey) result.token_type = 'DPoP';
  }
  const details = claims.authorization_details ?? record.authorizationDetails;
  const visible = details === undefined ? undefined : detailsVisibleTo(reader, clientId, details);
  if (visible !== undefined) result.authorization_details = visible;
  return result;
}

/**
 * The host and the token's client see all details. An API sees those that are for it (RFC 9396 §9.2). A reader that is
 * no API, or did not authenticate, sees those that are for every API.
 * @param details a host's own JWT may have anything here
 */
function detailsVisibleTo(
  reader: Reader,
  clientId: string,
  details: unknown,
): AuthorizationDetails | undefined {
  const all = detailsIn(details);
  if (all === undefined || reader === 'host' || reader?.id === clientId) return all;
  return detailsFor(all, reader?.resource === undefined ? [] : [reader.resource]);
}

/** Only an event has the reason. */
function inactive(
  context: ClientContext,
  call: Call,
  reason: InactiveReason,
  tokenId?: string,
  cause?: unknown,
): IntrospectionResult {
  const about = { ...(tokenId !== undefined && { tokenId }), ...(cause !== undefined && { cause }) };
  context.onEvent({ ...call, type: 'inactive', reason, ...about });
  return INACTIVE;
}

const JWT_MEDIA_TYPE = 'application/token-introspection+jwt';

/**
 * Returns the client that gets the response as a JWT: it is registered for that, or its `Accept` prefers it (RFC 9701
 * §4, §8.2).
 * @returns `undefined` if the response is JSON
 * @throws {OAuthError} `invalid_request`: the caller is not authenticated (RFC 9701 §5)
 */
function jwtRecipient(
  { jwt }: ClientContext,
  request: HttpRequest,
  caller: ClientRecord | undefined,
): ClientRecord | undefined {
  const { introspection_signed_response_alg: signing, introspection_encrypted_response_alg: encryption } =
    caller?.metadata ?? {};
  const isRegistered = signing !== undefined || encryption !== undefined;
  const accept = headerValue(request, 'accept');
  const isAccepted = accept !== undefined && jwt.algorithms.length > 0 && prefersJwt(accept);
  if (!isRegistered && !isAccepted) return undefined;
  if (caller === undefined || !isConfidential(caller))
    throw invalidRequest('only an authenticated client gets a JWT', 'answer_not_authenticated', {
      clientId: caller?.id,
    });
  return caller;
}

function prefersJwt(accept: string): boolean {
  const quality = qualityOf(JWT_MEDIA_TYPE, accept);
  return quality > 0 && quality >= qualityOf('application/json', accept);
}

/**
 * Builds the JWT response (RFC 9701 §5). The result is nested in one member, without `sub` and `exp`, so that it cannot
 * be used as a token.
 */
async function introspectionJwtResponse(
  context: ClientContext,
  result: object,
  recipient: ClientRecord,
): Promise<HttpResponse> {
  const { metadata = {} } = recipient;
  const claims = {
    iss: context.issuer,
    aud: recipient.id,
    iat: secondsOf(context.clock()),
    token_introspection: result,
  };
  const body = await answerJwt(context, recipient, claims, {
    signing: {
      type: 'token-introspection+jwt',
      algorithm: metadata.introspection_signed_response_alg,
    },
    encryption: registeredEncryption(
      metadata.introspection_encrypted_response_alg,
      metadata.introspection_encrypted_response_enc,
    ),
  });
  return { status: 200, headers: { 'content-type': JWT_MEDIA_TYPE, 'cache-control': 'no-store' }, body };
}

/**
 * Default policy, the option `any_client`: every caller may introspect every token (RFC 7662 §4 leaves this open). A
 * self-registered client may introspect only its own tokens until an operator gives it a `resource`. Otherwise anyone
 * could register and learn about a leaked token.
 */
export const defaultPolicy: IntrospectionPolicy = (caller, { record }) =>
  caller === undefined ||
  !isUnchecked(caller) ||
  caller.resource !== undefined ||
  caller.id === record.clientId;

/** Stricter policy: only the token's client, the resource servers in its `aud`, and those that follow all may introspect it. */
export const audiencePolicy: IntrospectionPolicy = (caller, { record, claims }) => {
  if (caller === undefined) return false;
  if (caller.id === record.clientId || (caller.metadata?.follow_all === true && !isUnchecked(caller)))
    return true;
  return caller.resource !== undefined && hasResource([claims.aud].flat(), caller.resource);
};
