// Reads the client's certificate from the header in which a trusted proxy passes it (RFC 9440, RFC 8705 §6.5).
import { X509Certificate } from 'node:crypto';
import { type ClientCertificate, type NodeRequest, plainAddress } from '@grantd/core/node';
import { networkCheck } from '../config/networks.ts';
import type { Settings } from '../config/options.ts';

/** Why the header of a request does not count. */
export type HeaderFault = 'untrusted_proxy' | 'malformed';

interface Header extends Pick<Settings, 'trustedProxies'> {
  readonly clientCertificateVerified?: boolean | undefined;
  readonly clientCertificateHeader: string;
  readonly clientCertificateFormat: keyof typeof FORMATS;
}

/**
 * Returns the certificate of a request’s client.
 * @param onFault called for a header of anyone but a trusted proxy, and for one that has no certificate
 */
export function proxiedCertificateReader(
  { clientCertificateHeader, clientCertificateFormat, clientCertificateVerified, trustedProxies }: Header,
  onFault: (request: NodeRequest, fault: HeaderFault) => void,
): (request: NodeRequest) => ClientCertificate | undefined {
  const name = clientCertificateHeader.toLowerCase();
  const bytesIn = FORMATS[clientCertificateFormat];
  const isTrusted = networkCheck(trustedProxies ?? []);
  return (request) => {
    const value = request.headers[name];
    // Proxies send an empty header if the client has no certificate.
    if (typeof value !== 'string' || unquote(value.trim()) === '') return undefined;
    if (!isTrusted(plainAddress(request.socket.remoteAddress ?? '') ?? '')) {
      onFault(request, 'untrusted_proxy');
      return undefined;
    }
    const der = certificateIn(bytesIn(value.trim()));
    if (der === undefined) onFault(request, 'malformed');
    return der && { der, hasTrustedChain: clientCertificateVerified === true };
  };
}

/** Reads the bytes of exactly one certificate. Returns `undefined` for any other text. */
const FORMATS = {
  /** A byte sequence of RFC 8941 §3.3.5 (RFC 9440 §2.2). */
  rfc9440: bytesBetweenColons,
  /** Proxies that know no RFC 9440 get its colons from their configuration. */
  base64: (value) => bytesBetweenColons(value) ?? firstOfChain(value),
  /** URL-encoded, because a header cannot have line breaks. */
  pem: bytesOfEscapedPem,
  /** Several elements mean that another proxy has forwarded a header that it should have removed. */
  xfcc(value) {
    if (!XFCC_ELEMENT.test(value)) return undefined;
    const [certificate, another] = [...value.matchAll(XFCC_PAIR)]
      .filter(([, key]) => key?.toLowerCase() === 'cert')
      .map(([, , quoted, bare]) => quoted ?? bare);
    return another === undefined ? bytesOfEscapedPem(certificate) : undefined;
  },
} as const satisfies Readonly<
  Record<NonNullable<Settings['clientCertificateFormat']>, (value: string) => Buffer | undefined>
>;

const XFCC_PAIR = /([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))/g;
const XFCC_ELEMENT = new RegExp(`^${XFCC_PAIR.source}(?:;${XFCC_PAIR.source})*$`);

/** HAProxy writes quotes for `%{+Q}`. */
function unquote(value: string): string {
  return /^"([^"]*)"$/.exec(value)?.[1] ?? value;
}

function bytesBetweenColons(value: string): Buffer | undefined {
  const [, base64] = /^:([^:]*):$/.exec(unquote(value)) ?? [];
  return base64 === undefined ? undefined : bytesOf(base64);
}

/** Traefik writes the whole chain, and its version 2 escapes it. */
function firstOfChain(value: string): Buffer | undefined {
  return firstOf(value, (text) => unquote(text).split(','));
}

const PEM = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----\s*/g;
const ONLY_PEM = new RegExp(`^(?:${PEM.source})+$`);

/** AWS writes the whole chain, unless it verifies it. */
function bytesOfEscapedPem(text = ''): Buffer | undefined {
  return firstOf(text, (pem) =>
    ONLY_PEM.test(pem) ? Array.from(pem.matchAll(PEM), ([, base64 = '']) => base64.replace(/\s/g, '')) : [],
  );
}

/**
 * The first certificate of an escaped chain, the client’s. The signatures prove that the others are its chain, and not
 * what another sender has written.
 */
function firstOf(escaped: string, split: (text: string) => readonly string[]): Buffer | undefined {
  try {
    const chain = split(decodeURIComponent(escaped)).map(bytesOf);
    if (chain.length <= 1) return chain[0];
    const certificates = chain.map((der = Buffer.of()) => new X509Certificate(der));
    const isChain = certificates.every(
      (certificate, at) => at === 0 || certificates[at - 1]?.verify(certificate.publicKey),
    );
    return isChain ? chain[0] : undefined;
  } catch {
    return undefined; // the URL encoding is broken, or OpenSSL could not parse a certificate
  }
}

function bytesOf(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === base64.replace(/=+$/, '') ? bytes : undefined;
}

/** @returns the bytes if they are one certificate and nothing else */
function certificateIn(der: Buffer | undefined): Buffer | undefined {
  try {
    return der !== undefined && new X509Certificate(der).raw.equals(der) ? der : undefined;
  } catch {
    return undefined; // OpenSSL could not parse it
  }
}
