// § refers to RFC 6749.
import type { RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { HttpRequest } from '../http/http.ts';
import {
  AUTHENTICATION_METHODS,
  type AuthenticationMethod,
  type ClientMetadata,
} from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { ClientContext } from './client.ts';
import { authenticationMethodsOf, findNamedClient, isConfidential } from './client.ts';
import { clientSecretBasic, clientSecretPost, none } from './client_secret_basic.ts';
import {
  type Claim,
  type ClientAuthenticationMethod,
  refusedClient,
  repeatedCredentials,
} from './credentials.ts';
import { privateKeyJwt } from './private_key_jwt.ts';

/** The one table of authentication methods. */
export const METHODS: Readonly<Record<AuthenticationMethod, ClientAuthenticationMethod>> = {
  client_secret_basic: clientSecretBasic,
  client_secret_post: clientSecretPost,
  private_key_jwt: privateKeyJwt,
  none,
};

/** The methods that this server supports, in the order of the metadata document. */
export function supportedMethods({
  storage,
}: Pick<TokenContext, 'storage'>): readonly AuthenticationMethod[] {
  return AUTHENTICATION_METHODS.filter((name) => METHODS[name].unsupported?.(storage) === undefined);
}

/** Whether a client that is registered so authenticates with a secret. Without a method it does, unless it is public. */
export function hasSecret({ token_endpoint_auth_method: method }: ClientMetadata = {}): boolean {
  return method === undefined || METHODS[method].proof === 'secret';
}

/**
 * The client that sent a request (RFC 6749 §2.3), authenticated by the method that it is registered for.
 * @throws {OAuthError} `invalid_client`; `invalid_request`: more than one credential (§2.3)
 * @throws {DocumentError} the keys of the client cannot be fetched at the moment
 */
export async function authenticateClient(
  context: ClientContext,
  request: HttpRequest,
  form: Form,
  call: Call,
): Promise<ClientRecord> {
  const claims = claimedCredentials(request, form);
  const client = await findNamedClient(context, claims[0].clientId);
  const registered = client === undefined ? [] : authenticationMethodsOf(client);
  const claim = claims.find(({ method }) => registered.includes(method)) ?? claims[0];
  const isRegistered = registered.includes(claim.method);
  const unsupported = METHODS[claim.method].unsupported?.(context.storage);
  const isPossible = isRegistered && unsupported === undefined;
  const verdict = await claim.verify(context, isPossible ? client : undefined, call);

  if (!client) throw refusedClient('client_unknown', undefined, { value: claim.clientId });
  if (unsupported !== undefined) throw refusedClient(unsupported, client);
  if (!isRegistered) throw refusedClient(wrongMethod(client, claim.method), client);
  if (verdict.reason !== undefined) throw refusedClient(verdict.reason, client, { cause: verdict.cause });
  if (client.disabledAtMs !== undefined) throw refusedClient('client_disabled', client);
  await verdict.accept?.(client);
  call.clientId = client.id;
  return client;
}

function wrongMethod(client: ClientRecord, method: AuthenticationMethod): RefusalReason {
  const { proof } = METHODS[method];
  if (proof === 'secret' && !isConfidential(client)) return 'client_secret_unexpected';
  if (proof === 'nothing' && client.secrets !== undefined) return 'client_secret_missing';
  return 'client_method_wrong';
}

/** @throws {OAuthError} `invalid_client`: the client is public */
export function requireConfidential(client: ClientRecord): void {
  if (!isConfidential(client)) throw refusedClient('client_not_confidential', client);
}

const CREDENTIALS = Object.values(METHODS).filter(({ proof }) => proof !== 'nothing');
const WITHOUT_CREDENTIALS = Object.values(METHODS).filter(({ proof }) => proof === 'nothing');

/**
 * What a request claims: its one credential. A request without a credential claims every method that needs none, and
 * the client's registration decides which of them counts.
 */
function claimedCredentials(request: HttpRequest, form: Form): readonly [Claim, ...Claim[]] {
  const found = CREDENTIALS.flatMap((method) => method.find(request, form) ?? []);
  if (found.length > 1) throw repeatedCredentials();
  const given = found[0]?.();
  const [first, ...others] =
    given === undefined
      ? WITHOUT_CREDENTIALS.flatMap((method) => method.find(request, form)?.() ?? [])
      : [given];
  if (first === undefined) throw refusedClient('credentials_missing');
  if ((form.get('client_id') ?? first.clientId) !== first.clientId) throw repeatedCredentials();
  return [first, ...others];
}
