import { sha256 } from '#hashing';
import { takeOnce } from '../clients/client.ts';
import type { Context } from '../context.ts';
import { secondsOf } from '../environment.ts';
import { OAuthError, type RefusalReason } from '../http/errors.ts';
import type { Form } from '../http/form.ts';
import type { ClientRecord, PushedRequest } from '../protocol/records.ts';
import { newOpaqueBody } from '../tokens/opaque_token.ts';

/** Seconds in which a request can be answered, and for which its end is remembered. */
const LONGEST_REQUEST = 24 * 60 * 60;

/**
 * The server's own parameter among those that a host keeps: which request it is, and until when it can be answered. What
 * a request says under this name is dropped.
 */
export const REQUEST_ID = 'authorization_request_id';

const FORM = /^(?<expiresAt>\d+)\.(?:pushed\.(?<pushedId>.+)|.+)$/;

/** The identifier of a request that came by itself; `undefined` if storage cannot remember that it was answered. */
export function newRequestId({ storage, clock, random }: Context): string | undefined {
  if (storage.oneTimeIdentifiers === undefined) return undefined;
  return `${secondsOf(clock()) + LONGEST_REQUEST}.${newOpaqueBody(random)}`;
}

/** The identifier of a pushed request: the same for each page that the client opens with its `request_uri`. */
function pushedRequestId({ id, expiresAt }: PushedRequest): string {
  return `${expiresAt + LONGEST_REQUEST}.pushed.${id}`;
}

/** What is being answered. */
interface Answered {
  readonly client: { readonly id: string };
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * Ends a request with its first answer. Atomic: of several answers at once, one is the first. A pushed request is gone
 * afterwards (RFC 9126 §7.3).
 * @returns why it cannot be answered: it was answered before, or its time is over
 */
export async function endRequest(
  context: Context,
  { client, parameters }: Answered,
): Promise<OAuthError | undefined> {
  const requestId = parameters[REQUEST_ID];
  if (requestId === undefined) return undefined;
  const over = overdue(context, requestId);
  if (over !== undefined) return over;
  const { expiresAt, pushedId } = FORM.exec(requestId)?.groups ?? {};
  // Before the request ends: if the second write fails, the same answer can be given again.
  if (pushedId !== undefined) await context.storage.pushedRequests?.remove(pushedId);
  if (await takeOnce(context, `authorization_request ${requestId}`, Number(expiresAt))) return undefined;
  return new OAuthError('invalid_request', 'the authorization request was answered before', {
    reason: 'authorization_request_answered',
    clientId: client.id,
  });
}

/** Why a request can be answered no more, if its time is over: until then it is remembered whether it was. */
export function overdue({ clock }: Context, requestId: string | undefined): OAuthError | undefined {
  if (requestId === undefined) return undefined;
  const { expiresAt } = FORM.exec(requestId)?.groups ?? {};
  if (expiresAt !== undefined && Number(expiresAt) > secondsOf(clock())) return undefined;
  return new OAuthError('invalid_request', 'the authorization request has expired', {
    reason: 'authorization_request_expired',
  });
}

const URN = 'urn:ietf:params:oauth:request_uri:';

/** Whether a `request_uri` names a request that was pushed, rather than a document (RFC 9126 §2.2). */
export function isPushedRequestUri(uri: string): boolean {
  return uri.startsWith(URN);
}

/** Keeps a request that has been checked (RFC 9126 §2.2). Storage does not know its name, only the name's digest. */
export async function keepPushedRequest(
  { storage, random, clock, lifetimes }: Context,
  client: ClientRecord,
  parameters: Form,
): Promise<string> {
  if (storage.pushedRequests === undefined)
    throw new TypeError('pushed requests without a store are not routed');
  const requestUri = URN + newOpaqueBody(random);
  await storage.pushedRequests.add({
    id: await sha256(requestUri),
    clientId: client.id,
    parameters: Object.fromEntries(parameters),
    expiresAt: secondsOf(clock()) + lifetimes.pushedRequest,
  });
  return requestUri;
}

/**
 * The parameters of a pushed request. It stays until the request is answered, so that a person can reload the page
 * (RFC 9126 §4, FAPI 2.0 Security Profile §5.3.2.2).
 * @throws {OAuthError} `invalid_request_uri`: never pushed, answered before, expired, or another client's
 */
export async function findPushedRequest(
  { storage, clock }: Context,
  client: ClientRecord,
  requestUri: string,
): Promise<{ readonly parameters: Form; readonly requestId: string }> {
  const pushed = await storage.pushedRequests?.get(await sha256(requestUri));
  if (pushed === undefined || pushed.expiresAt <= secondsOf(clock()))
    throw refusedPushedRequest('pushed_request_unknown');
  if (pushed.clientId !== client.id) throw refusedPushedRequest('pushed_request_foreign');
  return { parameters: new Map(Object.entries(pushed.parameters)), requestId: pushedRequestId(pushed) };
}

function refusedPushedRequest(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request_uri', 'the pushed request is not known any more', { reason });
}
