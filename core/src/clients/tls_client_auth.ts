// Authenticates clients by the name in a certificate that a CA has issued to them. § refers to RFC 8705.
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { ClientAuthenticationMethod } from './credentials.ts';
import { isSameName, parseDistinguishedName, type ReadCertificate } from './distinguished_name.ts';

/** Whether the certificate has the name of this form that the client is registered for (§2.1.2). */
type NameCheck = (registered: string, certificate: ReadCertificate) => boolean;

const CHECKS = {
  tls_client_auth_subject_dn(registered, { subject }) {
    const name = parseDistinguishedName(registered);
    return name !== undefined && isSameName(name, subject);
  },
  // Without regard to case (RFC 5280 §7.2). A wildcard names many hosts, so it is only equal to itself.
  tls_client_auth_san_dns: (registered, { names }) =>
    names.some(({ dNSName }) => dNSName?.toLowerCase() === registered.toLowerCase()),
  tls_client_auth_san_uri: (registered, { names }) =>
    names.some(({ uniformResourceIdentifier }) => uniformResourceIdentifier === registered),
  // As bytes, because an IPv6 address has several written forms (RFC 5952 §8).
  tls_client_auth_san_ip(registered, { names }) {
    const address = comparableAddress(registered);
    return names.some(
      ({ iPAddress }) =>
        iPAddress !== undefined && comparableAddress(iPAddress) === address && address !== undefined,
    );
  },
  tls_client_auth_san_email: (registered, { names }) =>
    names.some(
      ({ rfc822Name }) =>
        rfc822Name !== undefined && comparableEmail(rfc822Name) === comparableEmail(registered),
    ),
} as const satisfies Partial<Record<keyof ClientMetadata, NameCheck>>;

type NameMember = keyof typeof CHECKS;

const NAME_MEMBERS = Object.keys(CHECKS) as readonly NameMember[];

/**
 * The certificate of the TLS connection, whose chain the TLS layer has verified (§2.1). `client_id` names the client
 * (ADR 67, ADR 68).
 */
export const tlsClientAuth: ClientAuthenticationMethod = {
  proof: 'certificate',
  unsupported: ({ clientCertificates }) =>
    typeof clientCertificates === 'function' ? undefined : 'client_certificates_off',
  missingFrom(metadata) {
    const [name, ...others] = namesOf(metadata);
    if (name === undefined || others.length > 0) return `needs exactly one of ${NAME_MEMBERS.join(', ')}`;
    const value = metadata[name] ?? '';
    if (name === 'tls_client_auth_subject_dn' && parseDistinguishedName(value) === undefined)
      return `needs a name of RFC 4514, such as CN=client,O=Example,C=DE, as ${name}`;
    if (name === 'tls_client_auth_san_ip' && comparableAddress(value) === undefined)
      return `needs an IP address as ${name}`;
    return undefined;
  },
  parameters: ['client_id'],
  find({ clientCertificate }, form) {
    const clientId = form.get('client_id');
    return () =>
      clientId === undefined
        ? undefined
        : {
            method: 'tls_client_auth',
            clientId,
            async verify({ clientCertificates: read }, client) {
              if (typeof read !== 'function') return { reason: 'client_certificates_off' };
              if (clientCertificate === undefined) return { reason: 'client_certificate_missing' };
              const certificate = read(clientCertificate.der);
              if (certificate === undefined) return { reason: 'client_certificate_unreadable' };
              if (!clientCertificate.hasTrustedChain) return { reason: 'client_certificate_untrusted' };
              return isOwn(certificate, client?.metadata) ? {} : { reason: 'client_certificate_foreign' };
            },
          };
  },
};

function namesOf(metadata: ClientMetadata): readonly NameMember[] {
  return NAME_MEMBERS.filter((name) => metadata[name] !== undefined);
}

/** A client with several names is registered wrongly, so that none of them counts (§2.1.2). */
function isOwn(certificate: ReadCertificate, metadata: ClientMetadata = {}): boolean {
  const [name, ...others] = namesOf(metadata);
  if (name === undefined || others.length > 0) return false;
  return CHECKS[name](metadata[name] ?? '', certificate);
}

/** RFC 4291 §2.2, or dotted decimal without leading zeros. */
const ADDRESS = /^(?:(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}|[\da-f:]*:[\da-f:.]*)$/i;

/** @returns `undefined` if the text is not an IP address */
function comparableAddress(address: string): string | undefined {
  if (!ADDRESS.test(address)) return undefined;
  return address.includes(':')
    ? URL.parse(`http://[${address}]`)?.hostname
    : URL.parse(`http://${address}`)?.hostname;
}

/** The host is compared without regard to case, the local part exactly (RFC 5280 §7.5). */
function comparableEmail(email: string): string {
  const at = email.lastIndexOf('@');
  return email.slice(0, at) + email.slice(at).toLowerCase();
}
