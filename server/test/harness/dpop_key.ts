import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A new key of a client, which signs proofs (RFC 9449 §4.2). */
export async function dpopKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = await exportJWK(publicKey);
  return {
    /** @param token the access token that the proof is for */
    proof(htm: string, htu: string, token?: string): Promise<string> {
      const ath = token && createHash('sha256').update(token).digest('base64url');
      return new SignJWT({ htm, htu, jti: randomUUID(), ...(ath !== undefined && { ath }) })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
        .setIssuedAt()
        .sign(privateKey);
    },
  };
}
