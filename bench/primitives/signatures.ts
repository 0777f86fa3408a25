import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify, webcrypto } from 'node:crypto';
import { type Primitives, type Quickest, quickestOf } from './primitives.ts';
import { atOnce, type Effort, inTurn, timed } from './stopwatch.ts';

type Algorithm = 'RS256' | 'ES256';

/** The length of the signed part of an access token. */
const SIGNED_BYTES = 380;
/** Distinct texts, so that none repeats the one before. */
const TEXTS = 64;

const WEB_CRYPTO = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
} as const;

/** Signs and verifies with keys like the program's: RSA with 2048 bits, and P-256. */
export async function measureSignatures(
  effort: Effort,
): Promise<Pick<Primitives, 'verifyRs256' | 'verifyEs256' | 'signRs256' | 'signEs256'>> {
  const rs256 = await measure('RS256', effort);
  const es256 = await measure('ES256', effort);
  return {
    verifyRs256: rs256.verify,
    signRs256: rs256.sign,
    verifyEs256: es256.verify,
    signEs256: es256.sign,
  };
}

async function measure(algorithm: Algorithm, effort: Effort): Promise<{ verify: Quickest; sign: Quickest }> {
  const { privateKey, publicKey } = newKeys(algorithm);
  const texts = Array.from({ length: TEXTS }, () => randomBytes(SIGNED_BYTES));
  const signatures = texts.map((text) => sign('sha256', text, ieee(privateKey)));
  const textOf = (index: number) => texts[index % TEXTS] ?? Buffer.alloc(0);
  const signatureOf = (index: number) => signatures[index % TEXTS] ?? Buffer.alloc(0);
  const { subtle } = webcrypto;
  const parameters = WEB_CRYPTO[algorithm];
  const cryptoKeys = {
    private: privateKey.toCryptoKey(parameters, true, ['sign']),
    public: publicKey.toCryptoKey(parameters, true, ['verify']),
  };

  return {
    verify: quickestOf({
      'crypto.verify': await timed(effort, () =>
        inTurn(TEXTS, (index) =>
          requireRight(verify('sha256', textOf(index), ieee(publicKey), signatureOf(index))),
        ),
      ),
      'subtle.verify': await timed(effort, () =>
        atOnce(TEXTS, async (index) =>
          requireRight(await subtle.verify(parameters, cryptoKeys.public, signatureOf(index), textOf(index))),
        ),
      ),
    }),
    sign: quickestOf({
      'crypto.sign': await timed(effort, () =>
        inTurn(TEXTS, (index) => requireRight(sign('sha256', textOf(index), ieee(privateKey)).length > 0)),
      ),
      'subtle.sign': await timed(effort, () =>
        atOnce(TEXTS, (index) => subtle.sign(parameters, cryptoKeys.private, textOf(index))),
      ),
    }),
  };
}

function newKeys(algorithm: Algorithm): { privateKey: KeyObject; publicKey: KeyObject } {
  return algorithm === 'RS256'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** The signature format of JWTs (RFC 7518 §3.4). It affects only ECDSA. */
function ieee(key: KeyObject) {
  return { key, dsaEncoding: 'ieee-p1363' } as const;
}

function requireRight(isRight: boolean): void {
  if (!isRight) throw new Error('what was measured did not work');
}
