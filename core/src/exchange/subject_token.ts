// Tokens that an exchange presents: which ones, whose, and for what. § refers to RFC 8693.
import { sha256 } from '#crypto';
import { refusedUse } from '../clients/access.ts';
import type { ClientContext } from '../clients/client.ts';
import type { Proofs } from '../confirmation/confirmation.ts';
import { invalidRequest, OAuthError, type OAuthErrorDetails, type ReasonCode } from '../http/errors.ts';
import { equalInConstantTime, secondsOf } from '../platform/environment.ts';
import { isProven } from '../protocol/claims.ts';
import { hasResource } from '../protocol/client_metadata.ts';
import { applicationOf, PERSONAL, recordOnlyClaims } from '../protocol/record_rules.ts';
import type { Ancestor, ClientRecord, TokenKind } from '../protocol/records.ts';
import type { FoundToken, Person } from '../tokens/context.ts';
import { ACCESS_TOKEN_ID, ID_TOKEN_DIGEST } from '../tokens/mint.ts';
import { confirmationOf, findToken, lifeOf, personOf } from '../tokens/state.ts';
import { subjectIdentifier } from '../tokens/subject_identifier.ts';

/**
 * Types of tokens (§3). The values are kinds of this server's tokens; a JWT is an access token here. An ID token stands
 * for the access token that was issued with it.
 */
export const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
export const ID_TOKEN = `${TOKEN_TYPE}id_token`;
export const JWT = `${TOKEN_TYPE}jwt`;
export const REFRESH_TOKEN = `${TOKEN_TYPE}refresh_token`;
const KINDS: ReadonlyMap<string, TokenKind> = new Map([
  [ID_TOKEN, 'access_token'],
  [`${TOKEN_TYPE}access_token`, 'access_token'],
  [JWT, 'access_token'],
  [REFRESH_TOKEN, 'refresh_token'],
]);

/**
 * Finds a live token of this server that the form presents.
 * @throws {OAuthError} `invalid_request` (§2.2.2): it is none, or of another type than the form says
 */
export async function presented(
  context: ClientContext,
  client: ClientRecord,
  token: string,
  type: string,
  refusal: Refusal,
): Promise<FoundToken> {
  const kind = KINDS.get(type);
  if (kind === undefined) throw unsupported();
  const found = await (type === ID_TOKEN ? findIdToken(context, client, token) : findToken(context, token));
  if ('reason' in found) throw refusal(found.reason);
  if (found.record.kind !== kind) throw refusal('wrong_type');
  const life = await lifeOf(context, found.record, found.claims);
  if (!life.alive) throw refusal(life.reason);
  return found;
}

/** Finds the access token with which an ID token was issued to the client. An ID token has no scopes (ADR 186). */
async function findIdToken(
  context: ClientContext,
  client: ClientRecord,
  token: string,
): Promise<FoundToken | { readonly reason: ReasonCode }> {
  const jwt = await context.jwt.verify(token);
  const id = jwt.verified ? jwt.claims[ACCESS_TOKEN_ID] : undefined;
  if (!jwt.verified || typeof id !== 'string') return { reason: 'wrong_type' };
  const record = await context.storage.tokens.getByAccessToken(id);
  const issued = record && recordOnlyClaims(record)[ID_TOKEN_DIGEST];
  if (typeof issued !== 'string') return { reason: 'no_record' };
  if (!equalInConstantTime(issued, await sha256(token))) return { reason: 'differs_from_issued' };
  const isForClient = record?.clientId === client.id && jwt.claims.aud === client.id;
  if (!isForClient || record.sessionId === undefined) return { reason: 'exchange_not_allowed' };
  return { record: { ...record, scopes: [] }, claims: jwt.claims };
}

/**
 * A client exchanges its own tokens, access tokens for the API that it is, except personal ones, and those of clients that
 * an operator named. A refresh token is for its client alone. Others get the same response as for a dead one, which tells
 * nothing about it.
 */
export function requireExchangeable(client: ClientRecord, { record, claims }: FoundToken): void {
  const isOwn = record.clientId === client.id;
  const isFor = client.resource && !claims[PERSONAL] && hasResource([claims.aud].flat(), client.resource);
  const isNamed = client.metadata?.exchange_tokens_of?.includes(record.clientId) === true;
  if (isOwn || (record.kind === 'access_token' && (isFor || isNamed))) return;
  throw refusedSubject('exchange_not_allowed');
}

/** A bound token needs the proof of its key or certificate, unless an operator allows its exchange without. */
export function requireProof(
  client: ClientRecord,
  token: FoundToken,
  refusal: Refusal,
  { proven }: Proofs,
): void {
  const bound = confirmationOf(token);
  if (bound === undefined || client.metadata?.exchange_without_proof === true) return;
  if (!isProven(bound, proven)) throw refusal('subject_token_bound');
}

/** When the first of the tokens ends, in seconds. A host's JWT can end before its record. */
export function endOf(tokens: readonly FoundToken[]): number {
  return Math.min(
    ...tokens.map(({ record, claims }) =>
      Math.floor(Math.min(record.expiresAt, Number(claims.exp ?? Infinity))),
    ),
  );
}

export function ancestorsOf({
  record: { ancestors = [], kind, id, clientId },
}: FoundToken): readonly Ancestor[] {
  return [...ancestors, { kind, id, ...(applicationOf(ancestors) === undefined && { clientId }) }];
}

/** The user whom the token is about, as the client knows them. */
export async function personFor(
  context: ClientContext,
  client: ClientRecord,
  token: FoundToken,
): Promise<Person | undefined> {
  const subject = personOf(token)?.subject;
  if (subject === undefined) return undefined;
  const refusal = await refusedUse(context, client, subject, token.claims);
  if (refusal === 'acr_unmet') throw insufficient('the user must sign in again', { reason: refusal });
  if (refusal !== undefined) throw notAllowed('the user may not use the client');
  return { subject, sub: await subjectIdentifier(context, client, subject) };
}

/**
 * Leaves out scopes for which the sign-in of the user is not enough.
 * @throws {OAuthError} `insufficient_user_authentication`: the request names one. What is needed is as in a challenge (RFC
 *   9470 §3), so that a service can challenge its caller
 */
export function withinSignIn(
  { clock }: ClientContext,
  { metadata = {} }: ClientRecord,
  { claims: { acr, auth_time: signedInAt } }: FoundToken,
  scopes: readonly string[],
  asked = '',
): readonly string[] {
  const {
    exchange_step_up_scopes: guarded = [],
    default_acr_values: acrValues,
    default_max_age: maxAge,
  } = metadata;
  const isOfClass = acrValues?.some((accepted) => accepted === acr) ?? true;
  const isRecent =
    maxAge === undefined || (typeof signedInAt === 'number' && secondsOf(clock()) - signedInAt <= maxAge);
  if (isOfClass && isRecent) return scopes;
  if (asked.split(' ').some((scope) => guarded.includes(scope) && scopes.includes(scope)))
    throw insufficient('a scope needs another sign-in of the user', {
      ...{ reason: isOfClass ? 'sign_in_too_old' : 'acr_unmet', acrValues, maxAge },
    });
  return scopes.filter((scope) => !guarded.includes(scope));
}

/** RFC 9470 §3, as an answer of the token endpoint. */
function insufficient(description: string, details: OAuthErrorDetails): OAuthError {
  return new OAuthError('insufficient_user_authentication', description, { status: 400, ...details });
}

export type Refusal = (reason: ReasonCode) => OAuthError;

export function refusedSubject(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_request', 'the subject_token is not valid', { reason });
}

export function refusedActor(reason: ReasonCode): OAuthError {
  return new OAuthError('invalid_request', 'the actor_token is not valid', { reason });
}

export function unsupported(): OAuthError {
  return new OAuthError('invalid_request', 'the token type is not supported', {
    reason: 'token_type_unsupported',
  });
}

/** §2.2.2: also of a token that policy does not accept. */
export function notAllowed(description: string): OAuthError {
  return invalidRequest(description, 'exchange_not_allowed');
}
