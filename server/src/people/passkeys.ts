import { createHash, randomBytes } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { type Factors, MAX_PASSKEYS, type Passkey } from '../data/factors.ts';
import type { Notice } from '../data/mails.ts';
import type { Person } from '../data/people.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';

/** How long a browser may take to answer a challenge. */
const CHALLENGE_MS = 5 * 60 * 1000;

/** Maximum characters of a browser’s answer. */
const MAX_ANSWER = 16_384;

const MAX_NAME = 64;

/** A challenge for the browser, with the options of its API (WebAuthn §5.4 and WebAuthn §5.5, as JSON). */
export interface Challenge {
  /** Sent back with the answer. */
  readonly sealed: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A browser’s answer to a challenge. */
export interface PasskeyAnswer {
  readonly sealed: string;
  /** JSON. */
  readonly response: string;
  /** What the challenge was made for. */
  readonly boundTo: string;
}

export type PasskeyRefusal =
  | 'passkey_challenge_wrong'
  | 'passkey_challenge_used'
  | 'passkey_unknown'
  | 'passkey_wrong'
  | 'passkey_unverified'
  | 'security_key_alone'
  | 'passkey_counter_wrong'
  | 'passkeys_too_many';

type Purpose = 'create' | 'create_security_key' | 'get';

interface Parts {
  readonly issuer: string;
  readonly rpId: string;
  readonly rpName: string;
  readonly factors: Factors;
  readonly storage: Pick<AdministrableStorage, 'oneTimeIdentifiers'>;
  readonly secret: ProgramSecret;
  readonly clock: () => number;
}

/**
 * The two ceremonies of passkeys (WebAuthn §7). A challenge is sealed in the page, bound to one form of one
 * browser, and counts once across all processes (ADR 90).
 */
export class Passkeys {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Starts a sign-in with any passkey of this server, or with one of these. */
  async signInChallenge(boundTo: string, allowed: readonly Passkey[] = []): Promise<Challenge> {
    const { challenge, sealed } = await this.#challenge('get', boundTo);
    const options = {
      challenge,
      timeout: CHALLENGE_MS,
      rpId: this.#parts.rpId,
      userVerification: verificationFor(allowed),
      allowCredentials: allowed.map(descriptorOf),
    };
    return { sealed, options };
  }

  /** Starts the creation of a passkey, or of a security key, which need not verify its user. */
  async creationChallenge(
    boundTo: string,
    { subject, name, claims }: Person,
    kind: 'passkey' | 'security_key' = 'passkey',
  ): Promise<Challenge> {
    const { rpId, rpName, factors } = this.#parts;
    const isSecurityKey = kind === 'security_key';
    const { challenge, sealed } = await this.#challenge(
      isSecurityKey ? 'create_security_key' : 'create',
      boundTo,
    );
    const options = {
      rp: { id: rpId, name: rpName },
      user: {
        id: Buffer.from(subject).toString('base64url'),
        name,
        displayName: typeof claims.name === 'string' ? claims.name : name,
      },
      challenge,
      // EdDSA, ES256 and RS256.
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_MS,
      attestation: 'none',
      excludeCredentials: (await factors.passkeysOf(subject)).map(descriptorOf),
      authenticatorSelection: isSecurityKey
        ? {
            authenticatorAttachment: 'cross-platform',
            residentKey: 'discouraged',
            requireResidentKey: false,
            userVerification: 'discouraged',
          }
        : { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    };
    return { sealed, options };
  }

  /**
   * Verifies the answer to a sign-in (WebAuthn §7.2), and records the use of the passkey.
   * @param isSecond whether the user has shown something else before, so that a security key counts
   */
  async verify(
    answer: PasskeyAnswer,
    { isSecond = false }: { readonly isSecond?: boolean } = {},
  ): Promise<
    { readonly passkey: Passkey } | { readonly refused: PasskeyRefusal; readonly subject?: string }
  > {
    const challenge = await this.#opened('get', answer);
    if (challenge === undefined) return { refused: 'passkey_challenge_wrong' };
    const response = responseOf(answer.response);
    const passkey = response && (await this.#parts.factors.passkey(response.id));
    if (passkey === undefined) return { refused: 'passkey_unknown' };
    const { issuer, rpId, factors, clock } = this.#parts;
    const { subject } = passkey;
    const { userHandle } = response?.response ?? {};
    if (passkey.isSecurityKey && !isSecond) return { refused: 'security_key_alone', subject };
    if (
      userHandle !== undefined &&
      userHandle !== null &&
      userHandle !== Buffer.from(subject).toString('base64url')
    )
      return { refused: 'passkey_wrong', subject };
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const verified = await orUndefined(() =>
      verifyAuthenticationResponse({
        response: response as never,
        expectedChallenge: challenge.challenge,
        expectedOrigin: new URL(issuer).origin,
        expectedRPID: rpId,
        // Checked below, to say so.
        requireUserVerification: false,
        // The counter is checked below, in the statement that stores it.
        credential: { id: passkey.id, publicKey: bytesOf(passkey.publicKey), counter: 0 },
      }),
    );
    if (verified?.verified !== true) return { refused: 'passkey_wrong', subject };
    if (!verified.authenticationInfo.userVerified && !passkey.isSecurityKey)
      return { refused: 'passkey_unverified', subject };
    if (!(await this.#use(challenge))) return { refused: 'passkey_challenge_used', subject };
    const { newCounter: counter, credentialBackedUp: isBackedUp } = verified.authenticationInfo;
    const isUsed = await factors.usePasskey(passkey.id, { counter, isBackedUp, nowMs: clock() });
    return isUsed ? { passkey } : { refused: 'passkey_counter_wrong', subject };
  }

  /**
   * Verifies the answer to a creation (WebAuthn §7.1), and stores the passkey or security key, as its challenge says.
   * @param countsFromMs when it begins to count; 0 unless it is added with a recovery code
   * @param noticeOf the email about it
   */
  async create(
    answer: PasskeyAnswer,
    { subject }: Person,
    name: string,
    countsFromMs = 0,
    noticeOf: (isSecurityKey: boolean) => Promise<Notice | undefined> = async () => undefined,
  ): Promise<{ readonly passkey: Passkey } | { readonly refused: PasskeyRefusal }> {
    const ofPasskey = await this.#opened('create', answer);
    const challenge = ofPasskey ?? (await this.#opened('create_security_key', answer));
    if (challenge === undefined) return { refused: 'passkey_challenge_wrong' };
    const isSecurityKey = ofPasskey === undefined;
    const response = responseOf(answer.response);
    if (response === undefined || !(await isVerifiable(response))) return { refused: 'passkey_wrong' };
    const { issuer, rpId, factors, clock } = this.#parts;
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const verified = await orUndefined(() =>
      verifyRegistrationResponse({
        response: response as never,
        expectedChallenge: challenge.challenge,
        expectedOrigin: new URL(issuer).origin,
        expectedRPID: rpId,
        requireUserVerification: false,
        supportedAlgorithmIDs: [-8, -7, -257],
      }),
    );
    if (verified?.verified !== true) return { refused: 'passkey_wrong' };
    if (!verified.registrationInfo.userVerified && !isSecurityKey) return { refused: 'passkey_unverified' };
    if (!(await this.#use(challenge))) return { refused: 'passkey_challenge_used' };
    const { credential, credentialBackedUp: isBackedUp } = verified.registrationInfo;
    const passkey: Passkey = {
      id: credential.id,
      subject,
      publicKey: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: transportsOf(response.response.transports),
      isBackedUp,
      isSecurityKey,
      name: nameOfPasskey(name),
      createdAtMs: clock(),
      countsFromMs,
    };
    if (await factors.addPasskey(passkey, await noticeOf(isSecurityKey))) return { passkey };
    const { passkeys } = await factors.of(subject);
    return { refused: passkeys >= MAX_PASSKEYS ? 'passkeys_too_many' : 'passkey_wrong' };
  }

  async #challenge(purpose: Purpose, boundTo: string) {
    const challenge = randomBytes(32).toString('base64url');
    const expiresAtMs = this.#parts.clock() + CHALLENGE_MS;
    const key = await this.#parts.secret.key('passkey_challenge');
    const sealed = seal(key, JSON.stringify({ challenge, expiresAtMs }), JSON.stringify([purpose, boundTo]));
    return { challenge, sealed };
  }

  async #opened(purpose: Purpose, { sealed, boundTo }: PasskeyAnswer): Promise<OpenChallenge | undefined> {
    for (const key of await this.#parts.secret.keys('passkey_challenge')) {
      const text = unseal(key, sealed, JSON.stringify([purpose, boundTo]));
      if (text === undefined) continue;
      const opened: OpenChallenge = JSON.parse(text);
      return opened.expiresAtMs > this.#parts.clock() ? opened : undefined;
    }
    return undefined;
  }

  #use({ challenge, expiresAtMs }: OpenChallenge): Promise<boolean> {
    const digest = createHash('sha256').update(challenge).digest('base64url');
    const { oneTimeIdentifiers } = this.#parts.storage;
    return askStorage(() =>
      oneTimeIdentifiers.take(`passkey_challenge ${digest}`, Math.ceil(expiresAtMs / 1000)),
    );
  }
}

interface OpenChallenge {
  readonly challenge: string;
  readonly expiresAtMs: number;
}

/** The name that a user gives a passkey, in at most 64 visible characters. May be empty. */
export function nameOfPasskey(text: string): string {
  const name = text
    .slice(0, 4 * MAX_NAME)
    .normalize('NFC')
    .replaceAll(/\p{C}/gu, '');
  return name.trim().slice(0, MAX_NAME).trim();
}

/** Security keys without PIN cannot verify their user. Without any of these, the user may have any passkey. */
function verificationFor(allowed: readonly Passkey[]): 'required' | 'preferred' | 'discouraged' {
  const keys = allowed.filter(({ isSecurityKey }) => isSecurityKey).length;
  if (keys === 0) return 'required';
  return keys === allowed.length ? 'discouraged' : 'preferred';
}

function descriptorOf({ id, transports }: Passkey) {
  return { type: 'public-key', id, ...(transports.length > 0 && { transports }) };
}

interface CredentialResponse {
  readonly id: string;
  readonly response: Readonly<Record<string, unknown>>;
}

function responseOf(json: string): CredentialResponse | undefined {
  if (json.length > MAX_ANSWER) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || !isJsonObject(value.response)) return undefined;
  const { id, response } = value;
  return typeof id === 'string' && /^[\w-]{1,1400}$/.test(id) ? { ...value, id, response } : undefined;
}

function transportsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item) => typeof item === 'string' && /^[\w-]{1,32}$/.test(item)).slice(0, 8);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}

/**
 * Whether an attestation has no certificates, as browsers send it if none is asked for (WebAuthn §5.1.3). For
 * certificates, the library would fetch revocation lists from addresses that they name themselves.
 */
async function isVerifiable({ response }: CredentialResponse): Promise<boolean> {
  const { attestationObject: sent } = response;
  if (typeof sent !== 'string') return false;
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers');
  try {
    const attestation = decodeAttestationObject(isoBase64URL.toBuffer(sent));
    const format = attestation.get('fmt');
    return format === 'none' || (format === 'packed' && attestation.get('attStmt').get('x5c') === undefined);
  } catch {
    return false;
  }
}

/** The library throws for every answer that does not verify. */
async function orUndefined<T>(verify: () => Promise<T>): Promise<T | undefined> {
  try {
    return await verify();
  } catch {
    return undefined;
  }
}
