import { calculateJwkThumbprint, SignJWT } from 'jose';
import { sha256 } from '#crypto';
import { clientKey } from './client_keys.ts';
import { ISSUER, type World } from './world.ts';

export const TOKEN_URL = `${ISSUER}/token`;
export const USERINFO_URL = `${ISSUER}/userinfo`;
export const PAR_URL = `${ISSUER}/par`;

/** What a proof is for, and changes to a valid one; `undefined` omits a member. */
export interface ProofChanges {
  readonly htm?: string;
  readonly htu?: string;
  /** The access token that the proof is for. */
  readonly token?: string;
  readonly nonce?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** The algorithm of the key. */
  readonly algorithm?: string;
  /** Name of the key. */
  readonly key?: string;
}

let made = 0;

/** A proof for a POST to the token endpoint (RFC 9449 §4.2), with changes. */
export async function proofOf(
  { clock }: Pick<World, 'clock'>,
  {
    htm = 'POST',
    htu = TOKEN_URL,
    token,
    nonce,
    claims,
    header,
    algorithm = 'ES256',
    key,
  }: ProofChanges = {},
): Promise<string> {
  made += 1;
  const jti = `proof ${made}`;
  const { privateKey, publicJwk } = await clientKey(algorithm, key);
  const { kid: _, ...jwk } = publicJwk;
  const payload = {
    ...{ jti, htm, htu, iat: clock.seconds, nonce },
    ...(token !== undefined && { ath: await sha256(token) }),
    ...claims,
  };
  return new SignJWT(withoutAbsent(payload))
    .setProtectedHeader({ ...withoutAbsent({ typ: 'dpop+jwt', jwk, ...header }), alg: algorithm })
    .sign(privateKey);
}

/** The thumbprint of a key (RFC 7638), by which tokens are bound to it. */
export async function thumbprintOf(key?: string, algorithm = 'ES256'): Promise<string> {
  return calculateJwkThumbprint((await clientKey(algorithm, key)).publicJwk);
}

function withoutAbsent(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
