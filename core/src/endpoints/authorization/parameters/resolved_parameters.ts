import type { Form } from '../../../protocol/form.ts';
import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import type { Context } from '../../context.ts';
import { findPushedRequest, isPushedRequestUri } from './pushed_request.ts';
import { readRequestObject } from './request.ts';
import { fetchRequestObject } from './request_uri.ts';

/**
 * The parameters that count at the authorization endpoint: of a pushed request (RFC 9126 §4), of a request object by
 * reference or by value (RFC 9101 §5), or those of the request itself.
 * @throws {OAuthError} they cannot be had, or came in another way than they had to
 */
export async function resolvedParameters(
  context: Context,
  client: ClientRecord,
  form: Form,
): Promise<{ readonly parameters: Form; readonly requestId?: string }> {
  const uri = form.get('request_uri');
  if (uri !== undefined && form.has('request'))
    throw refused('request and request_uri exclude each other', 'parameter_invalid');
  if (uri !== undefined && isPushedRequestUri(uri)) return findPushedRequest(context, client, uri);

  const mustBePushed = client.metadata?.require_pushed_authorization_requests === true;
  if (mustBePushed || context.requirePushedAuthorizationRequests)
    throw refused('the request must be pushed', 'pushed_request_missing');
  if (uri === undefined) return { parameters: await parametersByValue(context, client, form) };
  const document = await fetchRequestObject(context, client, uri);
  return { parameters: await readRequestObject(context, client, form, document, 'fetched') };
}

/** The same without `request_uri`, as requests are pushed (RFC 9126 §2.1, §3). */
export async function parametersByValue(context: Context, client: ClientRecord, form: Form): Promise<Form> {
  const request = form.get('request');
  if (request !== undefined) return readRequestObject(context, client, form, request, 'sent');
  if (client.metadata?.require_signed_request_object === true)
    throw refused('the request must be a signed request object', 'request_object_missing');
  return form;
}

function refused(description: string, reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_request', description, { reason });
}
