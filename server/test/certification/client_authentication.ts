import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { basic } from '../harness/protocol.ts';
import type { Client } from './client.ts';
import { signed } from './jws.ts';
import type { Provider } from './provider.ts';

/** Lifetime of an assertion, in seconds. */
const LIFETIME = 60;

/** A client's credentials for the token endpoint (OpenID Connect Core §9). */
export async function authenticated(
  provider: Provider,
  client: Client,
): Promise<{ readonly headers: HeadersInit; readonly parameters: Readonly<Record<string, string>> }> {
  const { id, secret = '', authentication } = client;
  const methods = provider.list('token_endpoint_auth_methods_supported');
  assert.ok(methods.includes(authentication), `${authentication} is announced`);
  switch (authentication) {
    case 'client_secret_basic':
      return {
        headers: { authorization: basic(encodeURIComponent(id), encodeURIComponent(secret)) },
        parameters: {},
      };
    case 'client_secret_post':
      return { headers: {}, parameters: { client_id: id, client_secret: secret } };
    case 'private_key_jwt':
      return {
        headers: {},
        parameters: {
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: await assertion(provider, client),
        },
      };
  }
}

function assertion(provider: Provider, { id, key, assertionAudience }: Client): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  assert.ok(key, 'the client has a key');
  const aud = assertionAudience === 'issuer' ? provider.issuer : provider.at('token_endpoint');
  const jti = randomBytes(16).toString('base64url');
  return signed({ iss: id, sub: id, aud, jti, iat, nbf: iat, exp: iat + LIFETIME }, key);
}
