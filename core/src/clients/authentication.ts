import { OAuthError, type RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { ClientContext } from './client.ts';
import { authenticationMethodsOf, findNamedClient, isConfidential } from './client.ts';
import { type ClaimedAssertion, type ClaimedCredentials, refusedClient } from './credentials.ts';
import { claimedAssertion, privateKeyJwt } from './private_key_jwt.ts';

/**
 * Who sent a request (RFC 6749 §2.3), in the way that the client is registered for.
 * @throws {OAuthError} `invalid_client`; `invalid_request`: more than one credential (§2.3)
 * @throws {DocumentError} the keys of the client cannot be fetched at the moment
 */
export async function authenticateClient(
  context: ClientContext,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord> {
  const claimed = claimedCredentials(request, form);
  const client =
    claimed.method === 'private_key_jwt'
      ? await privateKeyJwt(context, claimed, call)
      : await authenticateBySecret(context, claimed, call);
  call.clientId = client.id;
  return client;
}

/** By its secret, or by nothing where the client is a public one. */
async function authenticateBySecret(
  context: ClientContext,
  { method, clientId, secrets }: ClaimedCredentials,
  call: Call,
): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  const match = await context.clientSecrets.match(secrets, client?.secrets);

  if (!client) throw refusedClient('client_unknown', undefined, { value: clientId });
  if (!authenticationMethodsOf(client).includes(method))
    throw refusedClient(wrongMethod(client, method), client);
  if (method !== 'none' && match === undefined) throw refusedClient('client_secret_wrong', client);
  if (client.disabledAtMs !== undefined) throw refusedClient('client_disabled', client);
  call.clientId = client.id;
  if (match === undefined) return client;
  if (match.index > 0) context.onEvent({ ...call, type: 'client_secret_not_decoded' });
  context.clientSecretUses.note(client.id, match);
  return client;
}

function wrongMethod(client: ClientRecord, method: ClaimedCredentials['method']): RefusalReason {
  if (!isConfidential(client)) return 'client_secret_unexpected';
  return method === 'none' && client.secrets !== undefined ? 'client_secret_missing' : 'client_method_wrong';
}

/** @throws {OAuthError} `invalid_client`: the client is a public one */
export function requireConfidential(client: ClientRecord): void {
  if (!isConfidential(client)) throw refusedClient('client_not_confidential', client);
}

function claimedCredentials(request: HttpRequest, form: Form): ClaimedCredentials | ClaimedAssertion {
  const basic = clientSecretBasic(request);
  const assertion = form.get('client_assertion') ?? form.get('client_assertion_type');
  const given = [basic, form.get('client_secret'), assertion].filter((one) => one !== undefined);
  if (given.length > 1) throw repeated();
  const claimed = claimedAssertion(form) ?? basic ?? clientSecretPost(form) ?? none(form);
  if (claimed === undefined) throw refusedClient('credentials_missing');
  const named = form.get('client_id') ?? claimed.clientId;
  if (named !== claimed.clientId) throw repeated();
  return claimed;
}

function repeated(): OAuthError {
  return new OAuthError('invalid_request', 'the request carries more than one client credential', {
    reason: 'credentials_repeated',
  });
}

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
function clientSecretBasic(request: HttpRequest): ClaimedCredentials | undefined {
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

/**
 * Credentials in the form body (RFC 6749 §2.3.1).
 * @returns `undefined` where the body lacks one of the two
 */
function clientSecretPost(form: Form): ClaimedCredentials | undefined {
  const clientId = form.get('client_id');
  const secret = form.get('client_secret');
  if (clientId === undefined || secret === undefined) return undefined;
  return { method: 'client_secret_post', clientId, secrets: [secret] };
}

/**
 * A public client, which only names itself (RFC 6749 §3.2.1).
 * @returns `undefined` where it does not
 */
export function none(form: Form): ClaimedCredentials | undefined {
  const clientId = form.get('client_id');
  return clientId === undefined ? undefined : { method: 'none', clientId, secrets: [] };
}
