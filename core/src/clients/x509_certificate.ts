// Reads X.509 certificates (RFC 5280). Imports packages that only hosts with `tls_client_auth` install.
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  type AttributeTypeAndValue,
  Certificate,
  id_ce_subjectAltName as SUBJECT_ALTERNATIVE_NAME,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509';
import { attributeOf, type CertificateReader } from './distinguished_name.ts';

export const readCertificate: CertificateReader = (der) => {
  try {
    const { subject, extensions = [] } = AsnConvert.parse(der, Certificate).tbsCertificate;
    const names = extensions.find(({ extnID }) => extnID === SUBJECT_ALTERNATIVE_NAME);
    return {
      subject: subject.map((relative) => relative.map(attributeIn)),
      names: names ? [...AsnConvert.parse(names.extnValue, SubjectAlternativeName)] : [],
    };
  } catch {
    return undefined; // nothing is fetched here, so only the certificate itself can be wrong
  }
};

function attributeIn({ type, value }: AttributeTypeAndValue) {
  const { anyValue } = value;
  return attributeOf(type, anyValue === undefined ? value.toString() : new Uint8Array(anyValue));
}
