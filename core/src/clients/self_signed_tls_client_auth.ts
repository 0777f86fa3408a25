// Authenticates clients by a certificate that they have registered. § refers to RFC 8705.
import * as base64url from 'jose/base64url';
import { DocumentError } from '../http/fetch_document.ts';
import type { ClientAuthenticationMethod } from './credentials.ts';

/**
 * The certificate of the TLS connection, from any issuer (§2.2). The client proves in the handshake that it has the
 * private key, and has registered the certificate with `jwks` or `jwks_uri`, as `x5c`. Neither the chain nor the dates
 * count: the client ends its use by registering others. `client_id` names the client.
 */
export const selfSignedTlsClientAuth: ClientAuthenticationMethod = {
  proof: 'certificate',
  unsupported: ({ clientCertificates }) => (clientCertificates ? undefined : 'client_certificates_off'),
  missingFrom({ jwks, jwks_uri: uri }) {
    if (uri !== undefined || jwks?.keys.some(({ x5c }) => x5c !== undefined)) return undefined;
    return 'needs jwks_uri, or jwks with the certificate as x5c';
  },
  parameters: ['client_id'],
  find({ clientCertificate }, form) {
    const clientId = form.get('client_id');
    return () =>
      clientId === undefined
        ? undefined
        : {
            method: 'self_signed_tls_client_auth',
            clientId,
            async verify({ clientKeys }, client) {
              if (clientCertificate === undefined) return { reason: 'client_certificate_missing' };
              if (client === undefined) return { reason: 'client_certificate_foreign' };
              const certificate = x5cOf(clientCertificate.der);
              try {
                const isRegistered = await clientKeys.hasKey(client, ({ x5c }) => x5c?.[0] === certificate);
                return isRegistered ? {} : { reason: 'client_certificate_foreign' };
              } catch (error) {
                if (error instanceof DocumentError && error.outcome === 'refused')
                  return { reason: 'client_keys_refused', cause: error };
                throw error;
              }
            },
          };
  },
};

/** The certificate as an entry of `x5c` (RFC 7517 §4.7): base64, not base64url. */
function x5cOf(der: Uint8Array): string {
  const text = base64url.encode(der).replaceAll('-', '+').replaceAll('_', '/');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}
