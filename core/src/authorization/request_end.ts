// Stores pushed requests, and makes sure that each authorization request is answered only once.
import { sha256 } from '#crypto';
import { takeOnce } from '../clients/client.ts';
import { invalidRequest, OAuthError, type RefusalReason } from '../http/errors.ts';
import type { Form } from '../http/form.ts';
import { secondsOf } from '../platform/environment.ts';
import type { PendingRow } from '../protocol/pending.ts';
import { lifetimeFor } from '../protocol/profile.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { TokenContext } from '../tokens/context.ts';
import { newOpaqueBody } from '../tokens/opaque_token.ts';

/** Seconds for which a request can get its response, and for which that is remembered. */
const MAX_REQUEST_SECONDS = 24 * 60 * 60;

/**
 * The server’s own parameter among the stored parameters: identifies the request and its deadline. Values from the
 * client are dropped.
 */
export const REQUEST_ID = 'authorization_request_id';

const PUSHED = 'pushed_request';

const FORM = /^(?<expiresAt>\d+)\.(?:pushed\.(?<pushedId>.+)|.+)$/;

/** A new identifier for a request that was not pushed; `undefined` if storage cannot record answered requests. */
export function newRequestId({ storage, clock, random }: TokenContext): string | undefined {
  if (storage.oneTimeIdentifiers === undefined) return undefined;
  return `${secondsOf(clock()) + MAX_REQUEST_SECONDS}.${newOpaqueBody(random)}`;
}

/** The identifier of a pushed request, the same for every use of its `request_uri`. */
function pushedRequestId({ id, expiresAt }: PendingRow<typeof PUSHED>): string {
  return `${expiresAt + MAX_REQUEST_SECONDS}.pushed.${id}`;
}

/** A request that is being answered. */
interface Answered {
  readonly client: { readonly id: string };
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * Ends a request with its first answer. Atomic: of concurrent answers, one wins. Also deletes a pushed request (RFC
 * 9126 §7.3; ADR 37).
 * @returns the error if the request was already answered or has expired
 */
export async function endRequest(
  context: TokenContext,
  { client, parameters }: Answered,
): Promise<OAuthError | undefined> {
  const requestId = parameters[REQUEST_ID];
  if (requestId === undefined) return undefined;
  const expiry = expiryError(context, requestId);
  if (expiry !== undefined) return expiry;
  const { expiresAt, pushedId } = FORM.exec(requestId)?.groups ?? {};
  // Comes first: if the second write fails, the user can repeat the answer.
  if (pushedId !== undefined) await context.storage.pending?.take(PUSHED, pushedId);
  if (await takeOnce(context, `authorization_request ${requestId}`, Number(expiresAt))) return undefined;
  return invalidRequest('the authorization request was answered before', 'authorization_request_answered', {
    clientId: client.id,
  });
}

/** Returns the error for an expired request, or `undefined` if it is still valid. */
export function expiryError({ clock }: TokenContext, requestId: string | undefined): OAuthError | undefined {
  if (requestId === undefined) return undefined;
  const { expiresAt } = FORM.exec(requestId)?.groups ?? {};
  if (expiresAt !== undefined && Number(expiresAt) > secondsOf(clock())) return undefined;
  return invalidRequest('the authorization request has expired', 'authorization_request_expired');
}

const URN = 'urn:ietf:params:oauth:request_uri:';

/** Whether a `request_uri` refers to a pushed request instead of a document (RFC 9126 §2.2). */
export function isPushedRequestUri(uri: string): boolean {
  return uri.startsWith(URN);
}

/**
 * Stores a validated request (RFC 9126 §2.2). Storage only gets the digest of its `request_uri`.
 * @returns the members of the response
 */
export async function keepPushedRequest(
  { storage, random, clock, lifetimes }: TokenContext,
  client: ClientRecord,
  parameters: Form,
): Promise<{ readonly request_uri: string; readonly expires_in: number }> {
  const requestUri = URN + newOpaqueBody(random);
  const lifetime = lifetimeFor(client, lifetimes, 'pushedRequest');
  const isStored = await storage.pending?.add({
    kind: PUSHED,
    id: await sha256(requestUri),
    clientId: client.id,
    data: Object.fromEntries(parameters),
    expiresAt: secondsOf(clock()) + lifetime,
  });
  // An identifier that is in use could only come from a broken random source.
  if (isStored !== true) throw new Error('the pushed request was not stored');
  return { request_uri: requestUri, expires_in: lifetime };
}

/**
 * The parameters of a pushed request. It stays until it is answered, so that users can reload the page (RFC 9126 §4,
 * FAPI 2.0 Security Profile §5.3.2.2).
 * @throws {OAuthError} `invalid_request_uri`: never pushed, already answered, expired, or from another client
 */
export async function findPushedRequest(
  { storage, clock }: TokenContext,
  client: ClientRecord,
  requestUri: string,
): Promise<{ readonly parameters: Form; readonly requestId: string }> {
  const pushed = await storage.pending?.get(PUSHED, await sha256(requestUri));
  if (pushed === undefined || pushed.expiresAt <= secondsOf(clock()))
    throw refusedPushedRequest('pushed_request_unknown');
  if (pushed.clientId !== client.id) throw refusedPushedRequest('pushed_request_foreign');
  return { parameters: new Map(Object.entries(pushed.data)), requestId: pushedRequestId(pushed) };
}

function refusedPushedRequest(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request_uri', 'the request_uri is unknown or has expired', { reason });
}
