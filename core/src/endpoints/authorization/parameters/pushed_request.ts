import { sha256 } from '#hashing';
import { secondsOf } from '../../../protocol/environment.ts';
import type { Form } from '../../../protocol/form.ts';
import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import { newOpaqueBody } from '../../../tokens/opaque_token.ts';
import type { Context } from '../../context.ts';
import { pushedRequestId } from '../request_end.ts';

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
  if (pushed === undefined || pushed.expiresAt <= secondsOf(clock())) throw refused('pushed_request_unknown');
  if (pushed.clientId !== client.id) throw refused('pushed_request_foreign');
  return { parameters: new Map(Object.entries(pushed.parameters)), requestId: pushedRequestId(pushed) };
}

function refused(reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request_uri', 'the pushed request is not known any more', { reason });
}
