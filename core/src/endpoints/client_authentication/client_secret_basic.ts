import { type HttpRequest, headerValue } from '../../protocol/http.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import type { ClaimedCredentials } from './credentials.ts';

/** RFC 9110 §11.1: the scheme without regard to case. */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

const ASCII = /^\p{ASCII}*$/u;

/** What form encoding stands for something else with. */
const ENCODED = /[+%]/;

/** Several header lines arrive joined (RFC 9110 §5.3): behind a comma another scheme begins. */
const SEVERAL = /, *[\w-]+ +[^\s=]/;

/**
 * Credentials in an Authorization header (RFC 6749 §2.3.1, RFC 7617). Both parts are form-encoded there; since
 * many clients leave that out, a secret that decoding changes is also taken as it is.
 * @returns `undefined` where there is no such header
 * @throws {OAuthError} `invalid_client`: the header is something else, or cannot be read; `invalid_request`: there
 *   are several
 */
export function clientSecretBasic(request: HttpRequest): ClaimedCredentials | undefined {
  const authorization = headerValue(request, 'authorization');
  if (authorization === undefined) return undefined;
  if (SEVERAL.test(authorization)) {
    throw new OAuthError('invalid_request', 'the request carries more than one client credential', {
      reason: 'credentials_repeated',
    });
  }
  const pair = decodeBase64(BASIC.exec(authorization)?.[1]);
  const colon = pair?.indexOf(':') ?? -1;
  if (pair === undefined || colon === -1) {
    throw new OAuthError('invalid_client', 'the Authorization header carries no Basic credentials', {
      reason: 'credentials_malformed',
    });
  }
  const rawSecret = pair.slice(colon + 1);
  const secret = formDecode(rawSecret);
  const clientId = formDecode(pair.slice(0, colon));
  if (rawSecret === '') return { method: 'none', clientId, secrets: [] }; // it names itself, and that is all
  const secrets = [secret, ...(rawSecret === secret ? [] : [rawSecret])];
  return { method: 'client_secret_basic', clientId, secrets };
}

function decodeBase64(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const binary = atob(text);
    if (ASCII.test(binary)) return binary;
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined; // no base64, or no UTF-8
  }
}

/** A text that is no form encoding stays as it is. */
function formDecode(text: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
