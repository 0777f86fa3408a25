import { DocumentError, fetchBody } from '../../../protocol/fetch_document.ts';
import { OAuthError, type OAuthErrorDetails } from '../../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import type { Context } from '../../context.ts';

/** Characters (RFC 9101 §5.2). */
const LONGEST_URI = 512;

/** Bytes: twice what the largest signed request needs. */
const LARGEST_OBJECT = 16 * 1024;

/**
 * The request object that a URL leads to (RFC 9101 §5.2.3, OpenID Connect Core §6.2). Only what the client registered or
 * an allowed host has is asked for, since the request alone makes this server ask (RFC 9101 §10.4.1).
 * @throws {OAuthError} `request_uri_not_supported`: nothing is fetched here; `invalid_request_uri`: it is not allowed,
 *   or cannot be fetched
 */
export async function fetchRequestObject(
  context: Context,
  client: ClientRecord,
  uri: string,
): Promise<string> {
  if (!context.canFetch) {
    throw new OAuthError('request_uri_not_supported', 'request_uri is not supported', {
      reason: 'request_uri_not_allowed',
    });
  }
  const address = withoutFragment(uri);
  if (uri.length > LONGEST_URI || !(isRegistered(client, address) || isOfAllowedHost(context, address)))
    throw refused('the request_uri is not allowed', 'request_uri_not_allowed', { value: uri });
  return fetched(context, address);
}

function isRegistered({ metadata }: ClientRecord, address: string): boolean {
  return metadata?.request_uris?.some((uri) => withoutFragment(uri) === address) ?? false;
}

function isOfAllowedHost({ requestUriHosts }: Context, address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'https:' && requestUriHosts.includes(url.host);
}

/** A fragment tells versions of the object apart, which nothing here remembers. */
function withoutFragment(uri: string): string {
  return uri.split('#', 1)[0] ?? '';
}

async function fetched({ fetchDocument }: Context, address: string): Promise<string> {
  try {
    const body = await fetchBody(fetchDocument, address, {
      headers: { accept: 'application/oauth-authz-req+jwt, application/jwt' },
      maxBytes: LARGEST_OBJECT,
    });
    return body.trim();
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw refused('the request_uri cannot be fetched', 'request_uri_unreachable', {
      value: address,
      cause: error,
    });
  }
}

function refused(
  description: string,
  reason: RefusalReason,
  details: Pick<OAuthErrorDetails, 'value' | 'cause'>,
): OAuthError {
  return new OAuthError('invalid_request_uri', description, { reason, ...details });
}
