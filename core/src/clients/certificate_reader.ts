// Reads X.509 certificates (RFC 5280). A module of its own, because only hosts that need it install the ASN.1 library.
import type { AttributeTypeAndValue } from '@peculiar/asn1-x509';
import { ConfigurationError } from '../http/errors.ts';
import { attributeOf, type CertificateReader } from './distinguished_name.ts';

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
  const { AsnConvert, Certificate, SubjectAlternativeName, id_ce_subjectAltName } = await loadPackages();
  return (der) => {
    try {
      const { subject, extensions = [] } = AsnConvert.parse(der, Certificate).tbsCertificate;
      const names = extensions.find(({ extnID }) => extnID === id_ce_subjectAltName);
      return {
        subject: subject.map((relative) => relative.map(attributeIn)),
        names: names ? [...AsnConvert.parse(names.extnValue, SubjectAlternativeName)] : [],
      };
    } catch {
      return undefined; // nothing is fetched here, so only the certificate itself can be wrong
    }
  };
}

async function loadPackages() {
  try {
    const { AsnConvert } = await import('@peculiar/asn1-schema');
    const { Certificate, SubjectAlternativeName, id_ce_subjectAltName } = await import('@peculiar/asn1-x509');
    return { AsnConvert, Certificate, SubjectAlternativeName, id_ce_subjectAltName };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    throw new ConfigurationError('clientCertificates', `${PACKAGES} (${error.message})`);
  }
}

const PACKAGES =
  'the packages @peculiar/asn1-schema and @peculiar/asn1-x509: ' +
  'run "npm install @peculiar/asn1-schema@2 @peculiar/asn1-x509@2"';

function attributeIn({ type, value }: AttributeTypeAndValue) {
  const { anyValue } = value;
  return attributeOf(type, anyValue === undefined ? value.toString() : new Uint8Array(anyValue));
}
