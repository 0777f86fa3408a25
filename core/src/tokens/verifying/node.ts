import { constants, KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto';
import type { SigningAlgorithm } from '../../protocol/signing_algorithm.ts';
import type { Verifying } from './verifying.ts';

type Padding = Omit<VerifyKeyObjectInput, 'key'>;

/** RFC 7518 §3.3 to §3.5, RFC 8037 §3.1; an Ed25519 key brings its own digest. */
const SCHEMES: Readonly<Record<SigningAlgorithm, readonly [digest: string | undefined, padding: Padding]>> = {
  RS256: ['sha256', { padding: constants.RSA_PKCS1_PADDING }],
  PS256: ['sha256', { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }],
  ES256: ['sha256', { dsaEncoding: 'ieee-p1363' }],
  EdDSA: [undefined, {}],
};

/** Checked where it is asked: a thread of the pool would take longer to wake than the check itself. */
export const verifierOf: Verifying['verifierOf'] = (key, algorithm) => {
  const [digest, padding] = SCHEMES[algorithm];
  const keyWithPadding = { key: KeyObject.from(key), ...padding };
  return (signingInput, signature) =>
    verify(digest, Buffer.from(signingInput, 'latin1'), keyWithPadding, signature);
};
