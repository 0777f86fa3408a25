import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { ClientKey } from '../harness/client_key.ts';
import type { JsonObject } from './jws.ts';
import type { Variant } from './plans.ts';
import { jsonOf } from './provider.ts';
import type { RelyingParty } from './relying_party.ts';
import { present } from './verdict.ts';

export interface Client {
  readonly id: string;
  readonly secret?: string;
  readonly redirectUri: string;
  readonly authentication: Variant['authentication'];
  /** An RSA key that signs its assertions and request objects. */
  readonly key?: ClientKey;
  /** The audience of its assertions. Default: the URL of the token endpoint. */
  readonly assertionAudience?: 'issuer';
  /** The registration response, if it registered itself. */
  readonly registration?: JsonObject;
}

/** The client of a module: the operator's, or a self-registered one with additional metadata. */
export async function clientOf(party: RelyingParty, metadata: JsonObject = {}): Promise<Client> {
  const { operator, variant } = party;
  if (variant.registration === 'static_client') return operator.client;
  const answer = await register(party, { ...usualMetadata(party), ...metadata });
  const registration = await checkRegistration(answer);
  const [redirectUri] = Array.isArray(registration.redirect_uris) ? registration.redirect_uris : [];
  const { client_id: id, client_secret: secret } = registration;
  const client: Client = {
    id: String(id),
    ...(typeof secret === 'string' && { secret }),
    redirectUri: String(redirectUri),
    authentication: variant.authentication,
    key: operator.clientKey,
    registration,
  };
  party.clients.push(client);
  return client;
}

/** The client's metadata (OpenID Connect Dynamic Client Registration §2). */
export function usualMetadata({ operator, variant }: RelyingParty): JsonObject {
  return {
    client_name: `certification ${randomBytes(6).toString('base64url')}`,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [operator.redirectUri],
    token_endpoint_auth_method: variant.authentication,
    jwks: { keys: [operator.clientKey.publicKey] },
    contacts: ['certification@rp.example'],
  };
}

/** A registration request, successful or not. */
export function register({ provider }: RelyingParty, metadata: JsonObject): Promise<Response> {
  // `undefined` omits a member.
  return fetch(provider.at('registration_endpoint'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  });
}

/** A successful registration (OpenID Connect Dynamic Client Registration §3.2). */
async function checkRegistration(response: Response): Promise<JsonObject> {
  const registration = await jsonOf(response);
  assert.equal(response.status, 201, JSON.stringify(registration));
  const { client_secret: secret, client_secret_expires_at: expiresAt } = registration;
  assert.ok(typeof registration.client_id === 'string');
  assert.equal(typeof registration.registration_access_token, typeof registration.registration_client_uri);
  if (secret !== undefined) assert.ok(expiresAt === 0 || Number(expiresAt) > Date.now() / 1000);
  return registration;
}

/** Removes a self-registered client (RFC 7592 §2.3), as the suite does after each module. */
export async function unregister({ registration }: Client): Promise<void> {
  if (registration === undefined) return;
  const response = await fetch(
    String(present(registration.registration_client_uri, 'registration_client_uri')),
    {
      method: 'DELETE',
      headers: { authorization: `Bearer ${registration.registration_access_token}` },
    },
  );
  assert.equal(response.status, 204);
}
