import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { ES256, type MadeCertificate, newCertificate } from '../../../core/test/harness/certificates.ts';
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

/** What an authenticator says about itself. */
interface Attestation {
  readonly format: string;
  readonly statement: readonly (readonly [string, Buffer])[];
}

/** Attestations that a browser sends only if it was changed, except the one by the passkey itself. */
export type AttestationKind = 'packed by itself' | 'packed with certificates' | 'android-key';

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
    const { authData, clientDataJSON } = this.#created({ challenge, rp, user }, deviation);
    return this.#creationAnswer(clientDataJSON, authData, { format: 'none', statement: [] });
  }

  /**
   * The answer to a creation with a genuine attestation.
   * @param revocations the address of revocation lists in the certificates
   */
  async createAttested(
    options: CreationOptions,
    kind: AttestationKind,
    revocations: string,
  ): Promise<string> {
    const { authData, clientDataJSON } = this.#created(options);
    const signature = sign(
      'sha256',
      Buffer.concat([authData, sha256(clientDataJSON)]),
      this.#keys.privateKey,
    );
    const signed = [
      ['alg', cborInteger(-7)],
      ['sig', cborBytes(signature)],
    ] as const;
    if (kind === 'packed by itself')
      return this.#creationAnswer(clientDataJSON, authData, { format: 'packed', statement: signed });
    const chain = await this.#certificates(sha256(clientDataJSON), revocations);
    const x5c = cborArray(chain.map((certificate) => cborBytes(Buffer.from(certificate.rawData))));
    return this.#creationAnswer(clientDataJSON, authData, {
      format: kind === 'android-key' ? kind : 'packed',
      statement: [...signed, ['x5c', x5c]],
    });
  }

  /** A certificate of the passkey that fits both formats, and its root. */
  async #certificates(clientDataHash: Buffer, revocations: string): Promise<readonly x509.X509Certificate[]> {
    const root: MadeCertificate = await newCertificate({ subject: [{ CN: ['Root'] }], isCa: true });
    const spki = this.#keys.publicKey.export({ type: 'spki', format: 'der' });
    const notAfter = new Date(Date.now() + 60_000);
    const leaf = await x509.X509CertificateGenerator.create({
      subject: [{ C: ['DE'] }, { O: ['Example'] }, { OU: ['Authenticator Attestation'] }, { CN: ['Key'] }],
      issuer: root.certificate.subjectName.toJSON(),
      notBefore: new Date(Date.now() - 60_000),
      notAfter,
      signingAlgorithm: root.keys.privateKey.algorithm,
      publicKey: await crypto.subtle.importKey('spki', new Uint8Array(spki), ES256, true, ['verify']),
      signingKey: root.keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.CRLDistributionPointsExtension([revocations]),
        new x509.Extension('1.3.6.1.4.1.11129.2.1.17', false, new Uint8Array(keyDescription(clientDataHash))),
      ],
    });
    return [leaf, root.certificate];
  }

  #created({ challenge, rp, user }: CreationOptions, deviation: Deviation = {}) {
    this.#userHandle = user.id;
    const credentialId = Buffer.from(this.id, 'base64url');
    const attested = Buffer.concat([
      Buffer.alloc(16), // no AAGUID
      uint16(credentialId.length),
      credentialId,
      this.#coseKey(),
    ]);
    const authData = this.#authenticatorData(rp.id, 0x40, deviation, attested);
    return { authData, clientDataJSON: this.#clientData('webauthn.create', challenge, deviation) };
  }

  #creationAnswer(clientDataJSON: Buffer, authData: Buffer, { format, statement }: Attestation): string {
    const attestationObject = cborMap([
      [cborText('fmt'), cborText(format)],
      [cborText('attStmt'), cborMap(statement.map(([name, value]) => [cborText(name), value] as const))],
      [cborText('authData'), cborBytes(authData)],
    ]);
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

/** @param button of the form. Default: the first form for passkeys */
export function passkeyFormOf({ url, html }: Pick<Page, 'url' | 'html'>, button = ''): PasskeyFormFound {
  const forms = html.matchAll(
    /<form method="post" action="([^"]*)" data-passkey="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g,
  );
  const [, action = '', challenge = '', fields = ''] =
    [...forms].find(([form]) => form.includes(`id="${button}`)) ??
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

/** KeyDescription of Android in DER: versions and levels, the challenge, no unique ID, and empty lists. */
function keyDescription(challenge: Buffer): Buffer {
  const levels = Buffer.from('0201030a01000201040a0100', 'hex');
  const rest = Buffer.from('040030003000', 'hex');
  const content = Buffer.concat([levels, Buffer.from([0x04, challenge.length]), challenge, rest]);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
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

function cborArray(items: readonly Buffer[]): Buffer {
  return Buffer.concat([cborHead(4, items.length), ...items]);
}

function cborMap(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()]);
}
