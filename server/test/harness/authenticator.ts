import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { type Page, unescaped } from './browser.ts';

/** What an authenticator and its browser put into an answer, for answers that a server must refuse. */
interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly isVerified?: boolean;
  readonly counter?: number;
  readonly userHandle?: string;
  readonly type?: string;
}

interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: readonly { readonly id: string }[];
}

/** A passkey with its browser (WebAuthn §6), in software: ES256, user verified, no attestation. */
export class Authenticator {
  readonly #origin: string;
  readonly #keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly id = randomBytes(16).toString('base64url');
  #counter: number;
  #userHandle = '';

  /** @param counter of the signatures; 0 for a passkey without one */
  constructor(site: string, counter = 0) {
    this.#origin = new URL(site).origin;
    this.#keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#counter = counter;
  }

  /** The answer to a creation (WebAuthn §5.1.3). */
  create({ challenge, rp, user }: CreationOptions, deviation: Deviation = {}): string {
    this.#userHandle = user.id;
    const credentialId = Buffer.from(this.id, 'base64url');
    const attested = Buffer.concat([
      Buffer.alloc(16), // no AAGUID
      uint16(credentialId.length),
      credentialId,
      this.#coseKey(),
    ]);
    const authData = this.#authenticatorData(rp.id, 0x40, deviation, attested);
    const attestationObject = cborMap([
      [cborText('fmt'), cborText('none')],
      [cborText('attStmt'), cborMap([])],
      [cborText('authData'), cborBytes(authData)],
    ]);
    const clientDataJSON = this.#clientData('webauthn.create', challenge, deviation);
    return this.#answer({
      clientDataJSON: clientDataJSON.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
      transports: ['internal', 'hybrid'],
    });
  }

  /** The answer to a sign-in (WebAuthn §5.1.4). */
  get({ challenge, rpId }: RequestOptions, deviation: Deviation = {}): string {
    if (this.#counter > 0) this.#counter += 1;
    const authenticatorData = this.#authenticatorData(rpId, 0, deviation);
    const clientDataJSON = this.#clientData('webauthn.get', challenge, deviation);
    const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
    return this.#answer({
      clientDataJSON: clientDataJSON.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
      userHandle: deviation.userHandle ?? this.#userHandle,
    });
  }

  #answer(response: Readonly<Record<string, unknown>>): string {
    return JSON.stringify({
      ...{ id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {} },
      response,
    });
  }

  #clientData(type: string, challenge: string, deviation: Deviation): Buffer {
    const { origin = this.#origin } = deviation;
    return Buffer.from(
      JSON.stringify({ type: deviation.type ?? type, challenge, origin, crossOrigin: false }),
    );
  }

  #authenticatorData(rpId: string, flags: number, deviation: Deviation, attested = Buffer.alloc(0)): Buffer {
    const { isVerified = true, counter = this.#counter } = deviation;
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(counter);
    const state = 0x01 | (isVerified ? 0x04 : 0) | flags; // user present, user verified
    return Buffer.concat([sha256(deviation.rpId ?? rpId), Buffer.from([state]), counted, attested]);
  }

  #coseKey(): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    return cborMap([
      [cborInteger(1), cborInteger(2)],
      [cborInteger(3), cborInteger(-7)],
      [cborInteger(-1), cborInteger(1)],
      [cborInteger(-2), cborBytes(Buffer.from(x, 'base64url'))],
      [cborInteger(-3), cborBytes(Buffer.from(y, 'base64url'))],
    ]);
  }
}

/** A form for passkeys on a page. */
export interface PasskeyFormFound {
  readonly action: string;
  readonly options: CreationOptions & RequestOptions;
  readonly fields: Readonly<Record<string, string>>;
}

export function passkeyFormOf({ url, html }: Page): PasskeyFormFound {
  const [, action = '', challenge = '', fields = ''] =
    /<form method="post" action="([^"]*)" data-passkey="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(html) ??
    assert.fail(`the page has no form for passkeys: ${html}`);
  const hidden = [...fields.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
  const own = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, unescaped(value)]));
  const { sealed, options } = JSON.parse(unescaped(challenge));
  return {
    action: new URL(unescaped(action), url).href,
    options,
    fields: { ...own, passkey_challenge: sealed },
  };
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

// As much of CBOR (RFC 8949 §3) as passkeys need.

function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  return value < 256
    ? Buffer.from([(major << 5) | 24, value])
    : Buffer.concat([Buffer.from([(major << 5) | 25]), uint16(value)]);
}

function cborInteger(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value);
}

function cborBytes(value: Buffer): Buffer {
  return Buffer.concat([cborHead(2, value.length), value]);
}

function cborText(value: string): Buffer {
  return Buffer.concat([cborHead(3, Buffer.byteLength(value)), Buffer.from(value)]);
}

function cborMap(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()]);
}
