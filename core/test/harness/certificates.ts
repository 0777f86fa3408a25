import 'reflect-metadata';
import type { ClientCertificate } from '@grantd/core';
import * as x509 from '@peculiar/x509';
import { sha256 } from '#crypto';

/** A certificate with its private key. */
export interface MadeCertificate {
  readonly certificate: x509.X509Certificate;
  readonly keys: CryptoKeyPair;
  /** Of certificate and private key, for a TLS client or server. */
  readonly pem: { readonly cert: string; readonly key: string };
}

/** What a certificate says. Default: an empty subject, issued by itself. */
export interface CertificateContent {
  /** In the order of X.500, the largest entity first. */
  readonly subject?: x509.JsonName;
  readonly names?: x509.JsonGeneralNames;
  readonly issuer?: MadeCertificate;
  readonly isCa?: boolean;
  readonly keys?: CryptoKeyPair;
  readonly notAfter?: Date;
}

export const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function newKeys(algorithm: object = ES256): Promise<CryptoKeyPair> {
  const keys = await crypto.subtle.generateKey(algorithm as EcKeyGenParams, true, ['sign', 'verify']);
  if (!('privateKey' in keys)) throw new TypeError('the algorithm is symmetric');
  return keys;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export async function newCertificate({
  subject = [],
  names,
  issuer,
  isCa = false,
  keys: given,
  notAfter = new Date(Date.now() + DAY_MS),
}: CertificateContent = {}): Promise<MadeCertificate> {
  const keys = given ?? (await newKeys());
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer === undefined ? subject : issuer.certificate.subjectName.toJSON(),
    notBefore: new Date(notAfter.getTime() - 2 * DAY_MS),
    notAfter,
    signingAlgorithm: (issuer?.keys ?? keys).privateKey.algorithm,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(isCa, undefined, true),
      ...(names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  const key = x509.PemConverter.encode(
    await crypto.subtle.exportKey('pkcs8', keys.privateKey),
    'PRIVATE KEY',
  );
  return { certificate, keys, pem: { cert: certificate.toString('pem'), key } };
}

/** As a TLS layer would provide it. */
export function presented({ certificate }: MadeCertificate, hasTrustedChain = false): ClientCertificate {
  return { der: new Uint8Array(certificate.rawData), hasTrustedChain };
}

export async function thumbprintOf({ certificate }: MadeCertificate): Promise<string> {
  return sha256(new Uint8Array(certificate.rawData));
}
