import {
  constants,
  createPrivateKey,
  createPublicKey,
  type SignKeyObjectInput,
  sign,
  verify,
} from 'node:crypto';
import { promisify } from 'node:util';
import type { SigningAlgorithm } from '../../protocol/client_metadata.ts';
import type { Signatures } from './signatures.ts';

interface Scheme {
  /** Absent where the key brings its own. */
  readonly digest: string | undefined;
  readonly form: Omit<SignKeyObjectInput, 'key'>;
  /** Whether to sign takes so long that a thread of the pool wakes in less time. */
  readonly signsInPool: boolean;
}

/** RFC 7518 §3.3 to §3.5, RFC 8037 §3.1. */
const SCHEMES: Readonly<Record<SigningAlgorithm, Scheme>> = {
  RS256: { digest: 'sha256', form: { padding: constants.RSA_PKCS1_PADDING }, signsInPool: true },
  PS256: {
    digest: 'sha256',
    form: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 },
    signsInPool: true,
  },
  ES256: { digest: 'sha256', form: { dsaEncoding: 'ieee-p1363' }, signsInPool: false },
  EdDSA: { digest: undefined, form: {}, signsInPool: false },
};

const signInPool = promisify(sign);

/** Checked where it is asked: a thread of the pool would take longer to wake than the check itself. */
export const verifierOf: Signatures['verifierOf'] = (publicJwk, algorithm) => {
  const { digest, form } = SCHEMES[algorithm];
  const keyInForm = { key: createPublicKey({ key: publicJwk, format: 'jwk' }), ...form };
  return (signingInput, signature) => verify(digest, Buffer.from(signingInput), keyInForm, signature);
};

export const signerOf: Signatures['signerOf'] = (privateJwk, algorithm) => {
  const { digest, form, signsInPool } = SCHEMES[algorithm];
  const keyInForm = { key: createPrivateKey({ key: privateJwk, format: 'jwk' }), ...form };
  return (signingInput) => {
    const bytes = Buffer.from(signingInput);
    return signsInPool ? signInPool(digest, bytes, keyInForm) : sign(digest, bytes, keyInForm);
  };
};
