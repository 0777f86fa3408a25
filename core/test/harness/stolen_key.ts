import { type CryptoKey, compactDecrypt, importJWK } from 'jose';
import { ServerSecret } from '@grantd/core';
import { SECRET, type World } from './world.ts';

/** The key that signs access tokens, in the hands of a thief who knows the server's secret and its database. */
export async function stolenKey({ storage }: World): Promise<{ kid: string; privateKey: CryptoKey }> {
  const record = (await storage.keys.list()).find((key) => key.status === 'current' && key.algorithm === 'RS256');
  if (record === undefined) throw new Error('there is no signing key to steal');
  const sealedUnder = await new ServerSecret(SECRET).key('signing_key');
  const { plaintext } = await compactDecrypt(record.sealedPrivateKey, sealedUnder);
  const privateKey = await importJWK(JSON.parse(new TextDecoder().decode(plaintext)), 'RS256');
  if (privateKey instanceof Uint8Array) throw new Error('a signing key is no symmetric key');
  return { kid: record.kid, privateKey };
}
