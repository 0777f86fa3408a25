import { ServerSecret } from '@grantd/core';
import { type CryptoKey, compactDecrypt, importJWK, SignJWT } from 'jose';
import { SECRET, type World } from './world.ts';

/** The key for access tokens, in the hands of a thief with the server's secret and database. */
export async function stolenKey({ storage }: World): Promise<{ kid: string; privateKey: CryptoKey }> {
  const record = (await storage.keys.list()).find(
    (key) => key.status === 'current' && key.algorithm === 'RS256',
  );
  if (record === undefined) throw new Error('there is no signing key to steal');
  const sealedUnder = await new ServerSecret(SECRET).key('signing_key');
  const { plaintext } = await compactDecrypt(record.sealedPrivateKey, sealedUnder);
  const privateKey = await importJWK(JSON.parse(new TextDecoder().decode(plaintext)), 'RS256');
  if (privateKey instanceof Uint8Array) throw new Error('a signing key is no symmetric key');
  return { kid: record.kid, privateKey };
}

/** A JWT with a valid signature of the server's own key, which the server never issued. */
export async function forgedWithStolenKey(
  world: World,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { kid, privateKey } = await stolenKey(world);
  const iat = world.clock.seconds;
  const usual = {
    iss: world.server.issuer,
    sub: 'alice',
    client_id: 'web',
    scope: 'openid',
    jti: 'never-issued',
    iat,
    exp: iat + 3600,
  };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid, ...header })
    .sign(privateKey);
}

/** The token with another signature of the same form. */
export function withBrokenSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const first = signature.startsWith('A') ? 'B' : 'A';
  return [header, payload, first + signature.slice(1)].join('.');
}
