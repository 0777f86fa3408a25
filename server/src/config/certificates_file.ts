import { X509Certificate } from 'node:crypto';
import { ConfigurationRefused } from './refused.ts';
import { readTextFile } from './text_file.ts';

/**
 * The text of a file with certificates. TLS ignores everything else in it, and then trusts nothing.
 * @throws {ConfigurationRefused} the file is unreadable or has no certificate
 */
export function readCertificates(path: string, source: string): string {
  let pem: string;
  try {
    pem = readTextFile(path);
  } catch (error) {
    throw new ConfigurationRefused(`${source}: ${path}: expected a readable file`, { cause: error });
  }
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
    if (certificates.length > 0) return pem;
  } catch {
    // Reported below.
  }
  throw new ConfigurationRefused(`${source}: ${path}: expected certificates in PEM`);
}
