import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { ISSUER, type World } from './world.ts';

export interface ClientKey {
  readonly privateKey: CryptoKey;
  /** With `kid`. */
  readonly publicJwk: JWK;
}

const made = new Map<string, Promise<ClientKey>>();

/** A key pair of a client. Cached per process, because creating one takes long. */
export function clientKey(
  algorithm: string,
  kid = `${algorithm} key`,
  modulusLength = 2048,
): Promise<ClientKey> {
  const name = `${algorithm} ${kid} ${modulusLength}`;
  const known = made.get(name) ?? newClientKey(algorithm, kid, modulusLength);
  made.set(name, known);
  return known;
}

async function newClientKey(algorithm: string, kid: string, modulusLength: number): Promise<ClientKey> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, {
    modulusLength,
    extractable: true,
    ...(algorithm === 'EdDSA' && { crv: 'Ed25519' }),
  });
  return { privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid } };
}

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Changes to a valid assertion; `undefined` omits a member. */
export interface AssertionChanges {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey;
}

let issued = 0;

/** A valid assertion of a client (RFC 7523 §3), with changes. */
export async function assertionOf(
  world: World,
  clientId: string,
  algorithm: string,
  changes: AssertionChanges = {},
): Promise<string> {
  issued += 1;
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: ISSUER,
    iat: world.clock.seconds,
    exp: world.clock.seconds + 60,
    jti: `assertion ${issued}`,
    ...changes.claims,
  };
  const { privateKey, publicJwk } = await clientKey(algorithm);
  return new SignJWT(withoutAbsent(claims))
    .setProtectedHeader({ ...withoutAbsent({ kid: publicJwk.kid, ...changes.header }), alg: algorithm })
    .sign(changes.key ?? privateKey);
}

function withoutAbsent(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The parameters of a request with an assertion. */
export function asParameters(assertion: string): Readonly<Record<string, string>> {
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: assertion };
}
