// Client authentication by secret, key, certificate or identifier. § refers to RFC 6749.
import * as base64url from 'jose/base64url';
import { OAuthError, type RefusalReason } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import type { RandomSource } from '../platform/environment.ts';
import type { ClientMetadata } from '../protocol/client_members.ts';
import {
  type AssertionAlgorithm,
  AUTHENTICATION_METHODS,
  type AuthenticationMethod,
  macAlgorithmOf,
  macKeyBytes,
  USUAL_SECRET_METHODS,
} from '../protocol/client_metadata.ts';
import { PROFILES, type Profile, profileOf, underProfile } from '../protocol/profile.ts';
import type { ClientRecord, ClientSecretRecord } from '../protocol/records.ts';
import { noBoolean } from '../storage/host_records.ts';
import { newOpaque, opaqueFrom } from '../tokens/opaque_token.ts';
import { type ClientContext, findNamedClient } from './client.ts';
import { clientSecretJwt } from './client_secret_jwt.ts';
import {
  type Claim,
  type ClientAuthenticationMethod,
  type FoundCredentials,
  refusedClient,
  repeatedCredentials,
  type SupportingContext,
  type Verdict,
} from './credentials.ts';
import { privateKeyJwt } from './private_key_jwt.ts';
import { selfSignedTlsClientAuth } from './self_signed_tls_client_auth.ts';
import { tlsClientAuth } from './tls_client_auth.ts';

/** The scheme is case-insensitive (RFC 9110 §11.1). */
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i;

const ASCII = /^\p{ASCII}*$/u;

/** Characters with a meaning in form encoding. */
const ENCODED = /[+%]/;

/** Several header lines arrive joined (RFC 9110 §5.3). After the comma another scheme follows. */
const SEVERAL = /, *[\w-]+ +[^\s=]/;

/**
 * Credentials in the Authorization header (RFC 6749 §2.3.1, RFC 7617). Both parts should be form-encoded. Many clients
 * do not encode them, so if decoding changes the secret, the raw one is tried too.
 */
const clientSecretBasic: ClientAuthenticationMethod = {
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

/** Returns the text unchanged if it is not form-encoded. */
function formDecode(text: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Credentials in the form body (RFC 6749 §2.3.1). */
const clientSecretPost: ClientAuthenticationMethod = {
  proof: 'secret',
  parameters: ['client_secret'],
  find(_request, form) {
    const [clientId, secret] = [form.get('client_id'), form.get('client_secret')];
    return () =>
      clientId === undefined || secret === undefined
        ? undefined
        : bySecret('client_secret_post', clientId, [secret]);
  },
};

/** A public client, which only sends its identifier (RFC 6749 §3.2.1). */
export const none: ClientAuthenticationMethod = {
  proof: 'nothing',
  parameters: ['client_id'],
  find(_request, form) {
    const clientId = form.get('client_id');
    return () => (clientId === undefined ? undefined : unproven(clientId));
  },
};

function unproven(clientId: string): Claim {
  return { method: 'none', clientId, verify: async () => ({}) };
}

/** @param secrets candidates, most likely first */
function bySecret(method: AuthenticationMethod, clientId: string, secrets: readonly string[]): Claim {
  return {
    method,
    clientId,
    async verify(context, client, call) {
      if (context.storage.clients.verifySecret !== undefined)
        return verdictOfHost(context, secrets, client, call);
      const match = await context.clientSecrets.match(secrets, client?.secrets);
      if (match === undefined) return { reason: 'client_secret_wrong' };
      return {
        accept({ id }) {
          const untilMs = context.clientSecretUses.note(id, match);
          return match.index > 0 ? void noteRawSecret(context, id, call) : untilMs;
        },
      };
    },
  };
}

/** Tells the host of a client that does not form-encode its secret (RFC 6749 §2.3.1). */
function noteRawSecret({ onEvent }: ClientContext, clientId: string, call: Call): void {
  onEvent({ ...call, clientId, type: 'client_secret_not_decoded' });
}

/** Bytes of a secret that a host's `verifySecret` gets at most, because some hashes take long for long texts. */
const LONGEST_HOST_SECRET = 1024;

/**
 * Asks the host which secret is right. For an unknown client neither the result nor a rejection counts, so that it
 * answers like a wrong secret. Only `true` accepts: a function that returns another value for a right secret may return
 * it for a wrong one too.
 */
async function verdictOfHost(
  context: ClientContext,
  secrets: readonly string[],
  client: ClientRecord | undefined,
  call: Call,
): Promise<Verdict> {
  const { storage, verifySecretForUnknownClients } = context;
  const isAsked = client !== undefined || verifySecretForUnknownClients;
  let cause: unknown;
  for (const [index, secret] of secrets.entries()) {
    if (!isAsked || new TextEncoder().encode(secret).length > LONGEST_HOST_SECRET) continue;
    try {
      const isRight: unknown = await storage.clients.verifySecret?.(client, secret);
      if (client !== undefined && isRight === true)
        return { accept: ({ id }) => void (index > 0 && noteRawSecret(context, id, call)) };
      if (client !== undefined && isRight !== false) cause = noBoolean('verifySecret', isRight);
    } catch (error) {
      if (client !== undefined) throw error;
      cause = error;
    }
  }
  return { reason: 'client_secret_wrong', ...(cause !== undefined && { cause }) };
}

/** All authentication methods. */
export const METHODS: Readonly<Record<AuthenticationMethod, ClientAuthenticationMethod>> = {
  client_secret_basic: clientSecretBasic,
  client_secret_post: clientSecretPost,
  client_secret_jwt: clientSecretJwt,
  private_key_jwt: privateKeyJwt,
  none,
  /** A JWT of an issuer that the operator trusts, by which the platform of a workload names it. */
  trusted_issuer_jwt: {
    proof: 'key',
    isForOperators: true,
    unsupported: ({ trustedIssuers }) => (trustedIssuers ? undefined : 'assertion_issuer_unknown'),
    parameters: ['client_assertion', 'client_assertion_type'],
    find: (_request, form, { trustedIssuers }) => trustedIssuers?.find(form) as FoundCredentials | undefined,
  },
  tls_client_auth: tlsClientAuth,
  self_signed_tls_client_auth: selfSignedTlsClientAuth,
};

/** Returns the methods that this server's storage and options support, in the order of the metadata document. */
export function supportedMethods(
  context: SupportingContext & Pick<ClientContext, 'profile' | 'clientAssertionAlgorithms'>,
): readonly AuthenticationMethod[] {
  const { profile, clientAssertionAlgorithms: accepted } = context;
  return AUTHENTICATION_METHODS.filter(
    (name) =>
      METHODS[name].unsupported?.(context) === undefined &&
      acceptedAlgorithms(name, accepted)?.length !== 0 &&
      isAllowedMethod(name, profile && PROFILES[profile]),
  );
}

/** Whether clients with this profile may authenticate by a method (FAPI 2.0 Security Profile §5.3.2.1). */
function isAllowedMethod(method: AuthenticationMethod, profile: Profile | undefined): boolean {
  return profile?.members.token_endpoint_auth_method?.allows(method) ?? true;
}

/**
 * Returns the algorithms of a method's assertions that the server accepts.
 * @returns `undefined` if the method has no assertions
 */
export function acceptedAlgorithms(
  method: AuthenticationMethod,
  accepted: readonly AssertionAlgorithm[],
): readonly AssertionAlgorithm[] | undefined {
  return METHODS[method].assertionAlgorithms?.filter((algorithm) => accepted.includes(algorithm));
}

/** Whether clients with this metadata have a secret. Without a registered method they do, unless they are public. */
export function hasSecret({ token_endpoint_auth_method: method }: ClientMetadata = {}): boolean {
  return method === undefined || METHODS[method].proof === 'secret';
}

/** Whether the server must be able to read the secret of clients with this metadata, to check what they sign with it. */
export function readsSecret({ token_endpoint_auth_method: method }: ClientMetadata = {}): boolean {
  return method !== undefined && METHODS[method].readsSecret === true;
}

/**
 * Returns those of a client's stored secrets with which it can still authenticate if it gets this metadata. Secrets stay
 * sealed only as long as the server must be able to read them.
 * @returns `undefined` if the client needs a new secret
 */
export function usableSecrets(
  metadata: ClientMetadata | undefined,
  stored: readonly ClientSecretRecord[] | undefined,
): readonly ClientSecretRecord[] | undefined {
  if (!readsSecret(metadata)) return stored?.map(({ sealed: _, ...hashed }) => hashed);
  const sealed = stored?.filter((secret) => secret.sealed !== undefined) ?? [];
  return sealed.length === 0 ? undefined : sealed;
}

/** Returns a new secret: 256 random bits, or 512 for clients that sign with it (RFC 7518 §3.2). */
export function newClientSecret(random: RandomSource, metadata?: ClientMetadata): string {
  if (!readsSecret(metadata)) return newOpaque('client_secret', random);
  return opaqueFrom('client_secret', base64url.encode(random(64)));
}

/**
 * Returns the least bytes of a client's secret. From an assertion, anyone who has it can try secrets (OpenID Connect
 * Core §16.19).
 */
export function shortestSecret(metadata: ClientMetadata = {}): number {
  if (!readsSecret(metadata)) return 1;
  return macKeyBytes(macAlgorithmOf(metadata.token_endpoint_auth_signing_alg) ?? 'HS256');
}

/** Whether clients of this method are public (§2.1). */
export function provesNothing(method: AuthenticationMethod): boolean {
  // A host's record may name a method that this server does not know.
  const known: Partial<typeof METHODS> = METHODS;
  return known[method]?.proof === 'nothing';
}

type Described = Pick<ClientRecord, 'metadata'>;

/**
 * Returns the registered method. Without one, the client may send its secret either way. It is never public because it
 * has no secret: a record that lost its secret would open the client to everyone.
 */
export function authenticationMethodsOf(client: Described): readonly AuthenticationMethod[] {
  const registered = client.metadata?.token_endpoint_auth_method;
  return registered === undefined ? USUAL_SECRET_METHODS : [registered];
}

/** Whether the client has a secret, a private key or a certificate (§2.1). All others are public. */
export function isConfidential(client: ClientRecord): boolean {
  return !authenticationMethodsOf(client).some(provesNothing);
}

/**
 * Whether the client may omit PKCE: it is confidential and an operator has exempted it. PKCE is all that protects the
 * codes of public clients (RFC 9700 §2.1.1).
 */
export function mayOmitPkce(client: ClientRecord): boolean {
  return isConfidential(client) && client.metadata?.insecure_allow_missing_pkce === true;
}

/**
 * Authenticates the client that sent a request, by the method that it is registered for (RFC 6749 §2.3; ADR 138).
 * @param beforeUse checks that the client answers by repeating the request, such as for a nonce, so it can repeat it with
 *   the same assertion.
 * @param onAccepted gets until when these credentials are accepted without further effects, in milliseconds since 1970, if
 *   the client does not change. `undefined`: they have effects each time.
 * @throws {OAuthError} `invalid_client`; `invalid_request`: more than one credential (§2.3)
 * @throws {DocumentError} the client's keys cannot be fetched at the moment
 */
export async function authenticateClient(
  context: ClientContext,
  request: HttpRequest,
  form: Form,
  call: Call,
  beforeUse?: (context: ClientContext, request: HttpRequest, client: ClientRecord) => Promise<unknown>,
  onAccepted?: (untilMs: number | undefined) => void,
): Promise<ClientRecord> {
  const claims = claimedCredentials(form, ({ find }) => find(request, form, context));
  const found = await findNamedClient(context, claims[0].clientId);
  const client = found && (context.profile ?? found.metadata?.profile) ? underProfile(context, found) : found;
  const registered = client === undefined ? CERTIFICATE_METHODS : authenticationMethodsOf(client);
  const claim = claims.find(({ method }) => registered.includes(method)) ?? claims[0];
  const isRegistered = registered.includes(claim.method);
  const { proof, readsSecret, unsupported: whyNot } = METHODS[claim.method];
  // A host compares its own object with the secret, which has no profile.
  const named = isRegistered ? (proof === 'secret' && !readsSecret ? found : client) : undefined;
  const unsupported = whyNot?.(context);
  const verdict: Verdict = unsupported ? { reason: unsupported } : await claim.verify(context, named, call);
  if (!client) {
    const { clientId, named } = claim;
    const reason = (named === undefined ? undefined : verdict.reason) ?? 'client_unknown';
    throw refusedClient(reason, undefined, { value: named ?? clientId, cause: verdict.cause });
  }
  if (!isRegistered && !unsupported) throw refusedClient(wrongMethod(client, claim.method), client);
  if (verdict.reason !== undefined)
    throw refusedClient(verdict.reason, client, { value: claim.named, cause: verdict.cause });
  if (client.disabledAtMs !== undefined) throw refusedClient('client_disabled', client);
  const untilMs = await verdict.accept?.(client, () => beforeUse?.(context, request, client));
  onAccepted?.(untilMs);
  call.clientId = client.id;
  return client;
}

function wrongMethod(client: ClientRecord, method: AuthenticationMethod): RefusalReason {
  if (!isAllowedMethod(method, profileOf(client))) return 'profile_method_refused';
  const { proof } = METHODS[method];
  if (proof === 'secret' && !isConfidential(client)) return 'client_secret_unexpected';
  if (isConfidential(client) && !isInRequest(METHODS[method])) return 'client_secret_missing';
  return 'client_method_wrong';
}

/** @throws {OAuthError} `invalid_client`: the client is public */
export function requireConfidential(client: ClientRecord): void {
  if (!isConfidential(client)) throw refusedClient('client_not_confidential', client);
}

/** Whether the request itself carries credentials of a method. With the others, it only names the client. */
function isInRequest({ proof }: ClientAuthenticationMethod): boolean {
  return proof === 'secret' || proof === 'key';
}

const CREDENTIALS = Object.values(METHODS).filter(isInRequest);
const WITHOUT_CREDENTIALS = Object.values(METHODS).filter((method) => !isInRequest(method));

/** Of unknown clients too, certificates are read, so that timing does not reveal which clients exist. */
const CERTIFICATE_METHODS = AUTHENTICATION_METHODS.filter((name) => METHODS[name].proof === 'certificate');

type Search = (method: ClientAuthenticationMethod) => FoundCredentials | undefined;

/**
 * Finds the one credential of a request. Without one, the request could use any method that needs none in the
 * request, and the client's registration decides which.
 */
function claimedCredentials(form: Form, search: Search): readonly [Claim, ...Claim[]] {
  const find = (method: ClientAuthenticationMethod) =>
    method.parameters?.some((name) => form.has(name)) === false ? [] : (search(method) ?? []);
  const found = CREDENTIALS.flatMap(find);
  if (found.length > 1) throw repeatedCredentials();
  const sent = found[0]?.();
  const [first, ...others] =
    sent === undefined ? WITHOUT_CREDENTIALS.flatMap(find).flatMap((read) => read() ?? []) : [sent];
  if (first === undefined) throw refusedClient('credentials_missing');
  if ((form.get('client_id') ?? first.clientId) !== first.clientId) throw repeatedCredentials();
  return [first, ...others];
}
