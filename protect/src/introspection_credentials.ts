// Authenticates the API to the authorization server.
import type { Signs } from '@grantd/core/internal/crypto/port';
import { ConfigurationError } from '@grantd/core/internal/http/errors';
import { type Clock, secondsOf } from '@grantd/core/internal/platform/environment';
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core/internal/protocol/client_metadata';
import {
  anyText,
  anyValue,
  type KindsOf,
  oneOf,
  requireKinds,
} from '@grantd/core/internal/protocol/option_kinds';
import { signedJwt } from '@grantd/core/internal/tokens/jwt';
import { withoutUse } from '@grantd/core/internal/tokens/public_keys';
import type { JWK } from 'jose';
import { signerOf } from '#crypto';

/** Credentials of the API, which is a client of the authorization server (RFC 6749 §2.3.1, RFC 7523 §2.2). */
export type IntrospectionCredentials =
  | {
      /** Default: `client_secret_basic`. */
      readonly method?: 'client_secret_basic' | 'client_secret_post';
      readonly clientId: string;
      readonly clientSecret: string;
    }
  | {
      readonly method: 'private_key_jwt';
      readonly clientId: string;
      /** Needs `alg`, and `kid` if the client has several keys. */
      readonly privateKey: JWK;
    };

type KeyCredentials = Extract<IntrospectionCredentials, { method: 'private_key_jwt' }>;

const SECRET_CREDENTIALS: KindsOf<Exclude<IntrospectionCredentials, KeyCredentials>> = {
  method: oneOf('client_secret_basic', 'client_secret_post', 'private_key_jwt'),
  clientId: anyText,
  clientSecret: anyText,
};

const KEY_CREDENTIALS: KindsOf<KeyCredentials> = { method: anyText, clientId: anyText, privateKey: anyValue };

/** The parts of a request that authenticate the client. */
export interface Authentication {
  readonly headers: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Lifetime of an assertion in seconds. */
const ASSERTION_LIFETIME = 60;

/**
 * Checks the credentials.
 * @returns a function that authenticates one request, because an assertion can be used only once
 * @throws {ConfigurationError} a secret is empty, or a key has no supported `alg`
 */
export function authenticationBy(
  credentials: IntrospectionCredentials,
  issuer: string,
  clock: Clock,
): () => Promise<Authentication> {
  if (credentials?.method === 'private_key_jwt') {
    requireKinds(credentials, KEY_CREDENTIALS, 'credentials');
    return byPrivateKey(credentials, issuer, clock);
  }
  requireKinds(credentials, SECRET_CREDENTIALS, 'credentials');
  const { method, clientId, clientSecret } = credentials;
  if (!clientId || !clientSecret)
    throw new ConfigurationError('credentials', 'a clientId and a clientSecret');
  const authentication: Authentication =
    method === 'client_secret_post'
      ? { headers: {}, parameters: { client_id: clientId, client_secret: clientSecret } }
      : { headers: { authorization: basic(clientId, clientSecret) }, parameters: {} };
  return async () => authentication;
}

function byPrivateKey(
  { clientId, privateKey }: KeyCredentials,
  issuer: string,
  clock: Clock,
): () => Promise<Authentication> {
  const algorithm = SIGNING_ALGORITHMS.find((algorithm) => algorithm === privateKey.alg);
  if (algorithm === undefined || privateKey.d === undefined)
    throw new ConfigurationError(
      'credentials',
      'a private key as JWK with alg RS256, PS256, ES256, EdDSA or Ed25519',
    );
  const header = { alg: algorithm, ...(privateKey.kid !== undefined && { kid: privateKey.kid }) };
  let signer: Promise<Signs> | undefined;
  const forget = () => {
    signer = undefined; // the next request tries again
  };
  return async () => {
    if (signer === undefined) {
      signer = signerFrom(privateKey, algorithm);
      signer.catch(forget);
    }
    const iat = secondsOf(clock());
    const client_assertion = await signedJwt(await signer, header, {
      iss: clientId,
      sub: clientId,
      aud: issuer,
      iat,
      exp: iat + ASSERTION_LIFETIME,
      jti: crypto.randomUUID(),
    });
    const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    return { headers: {}, parameters: { client_id: clientId, client_assertion_type, client_assertion } };
  };
}

async function signerFrom(privateKey: JWK, algorithm: SigningAlgorithm): Promise<Signs> {
  return signerOf(withoutUse(privateKey), algorithm);
}

/** Encodes both parts as in a form first (RFC 6749 §2.3.1). */
function basic(clientId: string, clientSecret: string): string {
  return `Basic ${btoa(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`)}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
