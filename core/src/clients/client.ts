import { OAuthError, type OAuthErrorDetails, type RefusalReason, StorageFault } from '../http/errors.ts';
import type { ServerEvent } from '../http/events.ts';
import type { Claims, ClaimsByScope } from '../protocol/claims.ts';
import type { AuthenticationMethod } from '../protocol/client_metadata.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import type { ClientKeys } from '../tokens/client_keys.ts';
import type { TokenContext } from '../tokens/context.ts';
import type { ClientSecrets, ClientSecretUses } from './client_secret.ts';

/** Paths below the issuer, each with a leading slash. */
export interface EndpointPaths {
  readonly token: string;
  readonly introspection: string;
  readonly revocation: string;
  readonly userInfo: string;
  readonly authorization: string;
  readonly endSession: string;
  readonly pushedAuthorizationRequest: string;
  readonly jwks: string;
  /** Of registration; each client's own is below it. */
  readonly registration: string;
}

/** The attributes of a person by the server's own identifier; `undefined` where there is no such person. */
export type GetUserClaims = (subject: string) => Awaitable<Claims | undefined | null>;

/** OpenID Connect, where it is on. */
export interface OidcContext {
  readonly getUserClaims: GetUserClaims;
  readonly claimsByScope: ClaimsByScope;
}

/** What identifying clients and settling what they may ask for needs. */
export interface ClientContext extends TokenContext {
  readonly clientKeys: ClientKeys;
  readonly clientSecrets: ClientSecrets;
  readonly clientSecretUses: ClientSecretUses;
  /** `undefined` if OpenID Connect is off. */
  readonly oidc: OidcContext | undefined;
  readonly paths: EndpointPaths;
  readonly onEvent: (event: ServerEvent) => void;
}

/** A client without what proves that it is one. */
export type AuthorizationClient = Omit<ClientRecord, 'secrets' | 'registrationTokenDigest'>;

/** RFC 6749 Appendix A.1: VSCHAR. What has other characters names nobody, and is not looked up. */
const CLIENT_ID = /^[\x20-\x7E]+$/;

/** The client of an identifier that anyone may have written; `undefined` where there is none. */
export function findNamedClient(
  { storage }: TokenContext,
  clientId: string,
): Awaitable<ClientRecord | undefined> {
  return CLIENT_ID.test(clientId) ? storage.clients.get(clientId) : undefined;
}

/**
 * The client that a request by way of the browser names, without any proof.
 * @throws {OAuthError} there is no such client, or it is disabled: the browser is sent nowhere (RFC 6749 §4.1.2.1)
 */
export async function requireNamedClient(context: TokenContext, clientId: string): Promise<ClientRecord> {
  const client = await findNamedClient(context, clientId);
  if (!client) throw untrusted('the client is unknown', 'client_unknown', { value: clientId });
  if (client.disabledAtMs !== undefined)
    throw untrusted('the client is disabled', 'client_disabled', { clientId });
  return client;
}

export function withoutSecrets(client: ClientRecord): AuthorizationClient {
  const { secrets: _, registrationTokenDigest: __, ...known } = client;
  return known;
}

/**
 * A refusal that stays at this server: the browser must not be sent where the client did not register (RFC 6749
 * §3.1.2.4), nor to any application after a logout that failed (RP-Initiated Logout §4).
 */
export function untrusted(
  description: string,
  reason: RefusalReason,
  about: Pick<OAuthErrorDetails, 'clientId' | 'value'> = {},
): OAuthError {
  return new OAuthError('invalid_request', description, { reason, ...about });
}

/** In which ways a client may authenticate: the registered one alone, or by its secret in either way, or not at all. */
export function authenticationMethodsOf(client: ClientRecord): readonly AuthenticationMethod[] {
  const registered = client.metadata?.token_endpoint_auth_method;
  if (registered !== undefined) return [registered];
  return client.secrets === undefined ? ['none'] : ['client_secret_basic', 'client_secret_post'];
}

/**
 * Whether a client may leave out PKCE: a confidential one that the operator has exempted. Nothing else protects the codes
 * of a public client (RFC 9700 §2.1.1).
 */
export function mayOmitPkce(client: ClientRecord): boolean {
  return isConfidential(client) && client.metadata?.insecure_allow_missing_pkce === true;
}

/** Whether a client can keep a secret or a private key (RFC 6749 §2.1). All others are public. */
export function isConfidential(client: ClientRecord): boolean {
  return !authenticationMethodsOf(client).includes('none');
}

/**
 * Takes an identifier that counts once.
 * @param expiresAt seconds until which it stays taken
 * @returns `false` where it was taken before
 * @throws {StorageFault} storage did not say
 */
export async function takeOnce({ storage }: TokenContext, id: string, expiresAt: number): Promise<boolean> {
  if (storage.oneTimeIdentifiers === undefined)
    throw new TypeError('what counts once needs storage.oneTimeIdentifiers');
  const isTaken: unknown = await storage.oneTimeIdentifiers.take(id, expiresAt);
  if (typeof isTaken === 'boolean') return isTaken;
  throw new StorageFault(
    new TypeError('storage must answer true or false to whether an identifier is taken'),
  );
}
