import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { ISSUER } from './clients.ts';

let pair: Promise<{ readonly privateKey: CryptoKey; readonly jwk: JWK }> | undefined;

/** A DPoP proof for one request to the token endpoint (RFC 9449 §4.2). All proofs are signed by one ES256 key. */
export async function tokenProof(): Promise<string> {
  pair ??= newPair();
  const { privateKey, jwk } = await pair;
  return new SignJWT({ jti: randomUUID(), htm: 'POST', htu: `${ISSUER}/token` })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    .setIssuedAt()
    .sign(privateKey);
}

async function newPair() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { privateKey, jwk: await exportJWK(publicKey) };
}
