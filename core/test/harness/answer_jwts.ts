import {
  type CompactJWEHeaderParameters,
  type CompactJWSHeaderParameters,
  type CryptoKey,
  compactDecrypt,
  compactVerify,
  createLocalJWKSet,
} from 'jose';
import type { World } from './world.ts';

interface SignedAnswer {
  readonly header: CompactJWSHeaderParameters;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The payload of a response that verifies with the server's published keys. */
export async function signedAnswer(world: World, answer: string): Promise<SignedAnswer> {
  const { body } = await world.send({ method: 'GET', path: '/jwks', headers: {} });
  const { payload, protectedHeader } = await compactVerify(answer, createLocalJWKSet(JSON.parse(body)));
  return { header: protectedHeader, claims: JSON.parse(new TextDecoder().decode(payload)) };
}

/** The content of a response that was encrypted to a key. */
export async function decryptedAnswer(
  answer: string,
  key: CryptoKey,
): Promise<{ readonly header: CompactJWEHeaderParameters; readonly content: string }> {
  const { plaintext, protectedHeader } = await compactDecrypt(answer, key);
  return { header: protectedHeader, content: new TextDecoder().decode(plaintext) };
}
