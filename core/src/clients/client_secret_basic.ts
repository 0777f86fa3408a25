import { OAuthError } from '../http/errors.ts';
import { headerValue } from '../http/http.ts';
import type { AuthenticationMethod } from '../protocol/client_metadata.ts';
import { type Claim, type ClientAuthenticationMethod, repeatedCredentials } from './credentials.ts';

/** The methods with a secret or with nothing: client_secret_basic, client_secret_post and none. */

/** RFC 9110 §11.1: the scheme without regard to case. */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

const ASCII = /^\p{ASCII}*$/u;

/** Characters that form encoding uses for other characters. */
const ENCODED = /[+%]/;

/** Several header lines arrive joined (RFC 9110 §5.3): after a comma another scheme begins. */
const SEVERAL = /, *[\w-]+ +[^\s=]/;

/**
 * Credentials in an Authorization header (RFC 6749 §2.3.1, RFC 7617). Both parts are form-encoded. Many clients do not
 * encode them, so a secret that decoding changes is also tried as it is.
 */
export const clientSecretBasic: ClientAuthenticationMethod = {
  proof: 'secret',
  find(request) {
    const authorization = headerValue(request, 'authorization');
    if (authorization === undefined) return undefined;
    if (SEVERAL.test(authorization)) throw repeatedCredentials();
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
    return () => {
      if (rawSecret === '') return unproven(clientId); // the header only names the client
      const secrets = [secret, ...(rawSecret === secret ? [] : [rawSecret])];
      return bySecret('client_secret_basic', clientId, secrets);
    };
  },
};

function decodeBase64(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const binary = atob(text);
    if (ASCII.test(binary)) return binary;
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined; // neither base64 nor UTF-8
  }
}

/** A text that is not form-encoded stays as it is. */
function formDecode(text: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Credentials in the form body (RFC 6749 §2.3.1). */
export const clientSecretPost: ClientAuthenticationMethod = {
  proof: 'secret',
  find(_request, form) {
    const secret = form.get('client_secret');
    if (secret === undefined) return undefined;
    const clientId = form.get('client_id');
    return () => (clientId === undefined ? undefined : bySecret('client_secret_post', clientId, [secret]));
  },
};

/** A public client, which only names itself (RFC 6749 §3.2.1). */
export const none: ClientAuthenticationMethod = {
  proof: 'nothing',
  find(_request, form) {
    const clientId = form.get('client_id');
    return clientId === undefined ? undefined : () => unproven(clientId);
  },
};

function unproven(clientId: string): Claim {
  return { method: 'none', clientId, verify: async () => ({}) };
}

/** @param secrets texts that may be the secret, the likelier first */
function bySecret(method: AuthenticationMethod, clientId: string, secrets: readonly string[]): Claim {
  return {
    method,
    clientId,
    async verify(context, client, call) {
      const match = await context.clientSecrets.match(secrets, client?.secrets);
      if (match === undefined) return { reason: 'client_secret_wrong' };
      return {
        accept({ id }) {
          if (match.index > 0) context.onEvent({ ...call, clientId: id, type: 'client_secret_not_decoded' });
          context.clientSecretUses.note(id, match);
        },
      };
    },
  };
}
