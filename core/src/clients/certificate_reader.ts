// Loads the reader of client certificates, and the packages that it needs.
import { ConfigurationError } from '../http/errors.ts';
import type { CertificateReader } from './distinguished_name.ts';

export type { CertificateReader, ReadCertificate } from './distinguished_name.ts';

/**
 * Returns a function that reads the names in client certificates. Pass it as the option `clientCertificates` to offer
 * `tls_client_auth` (RFC 8705 §2.1).
 *
 * ```ts
 * new AuthorizationServer({ ...options, clientCertificates: await loadCertificateReader() });
 * ```
 *
 * It needs the packages `@peculiar/asn1-schema` and `@peculiar/asn1-x509`, which you install yourself.
 * @throws {ConfigurationError} one of the packages is not installed
 */
export async function loadCertificateReader(): Promise<CertificateReader> {
  try {
    // Not the packages themselves: bundlers lose the names in CommonJS packages that are imported dynamically.
    const { readCertificate } = await import('./x509_certificate.ts');
    return readCertificate;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new ConfigurationError('clientCertificates', `${PACKAGES} (${error.message})`);
  }
}

const PACKAGES =
  'the packages @peculiar/asn1-schema and @peculiar/asn1-x509: ' +
  'run "npm install @peculiar/asn1-schema@2 @peculiar/asn1-x509@2"';
