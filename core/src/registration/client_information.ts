// Builds the response that tells a client its registration. § refers to RFC 7591.
import { hasSecret, newClientSecret, readsSecret, usableSecrets } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import { type HttpResponse, jsonResponse } from '../http/http.ts';
import type { ClientDocument } from '../protocol/client_members.ts';
import type { ClientSecretRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { NewClient } from '../storage/contract.ts';
import { documentOf } from './client_document.ts';

/** Credentials of which storage has only digests. */
interface HeldCredentials {
  readonly registrationToken: string;
  /** Absent if the client has no secret, or if the server does not know it. */
  readonly clientSecret?: ShownSecret | undefined;
}

/** The client information response: all registered metadata and the credentials (§3.2.1, RFC 7592 §3). */
export function clientInformation(
  { issuer, paths }: ClientContext,
  client: NewClient,
  { registrationToken, clientSecret }: HeldCredentials,
  status = 200,
): HttpResponse {
  const { id, registeredAt } = client;
  return jsonResponse(
    {
      client_id: id,
      ...(registeredAt !== undefined && { client_id_issued_at: registeredAt }),
      // §3.2.1: 0 if the secret does not expire
      ...(clientSecret !== undefined && {
        client_secret: clientSecret.text,
        client_secret_expires_at: clientSecret.expiresAt ?? 0,
      }),
      registration_access_token: registrationToken,
      registration_client_uri: endpointUrl(issuer, `${paths.registration}/${id}`),
      ...documentOf(client),
    },
    status,
  );
}

/** A secret in clear text, for the client's own response. */
export interface ShownSecret {
  readonly text: string;
  /** Seconds; absent if it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** Secrets as stored, and in clear text if the secret is new. */
interface IssuedSecret {
  readonly stored: readonly ClientSecretRecord[];
  readonly shown?: ShownSecret;
}

/**
 * Returns the client's present secrets, or a new one (§3.2.1).
 * @returns `undefined` if clients with this metadata have no secret
 */
export async function secretFor(
  { clientSecrets, random }: ClientContext,
  document: ClientDocument,
  stored?: readonly ClientSecretRecord[],
): Promise<IssuedSecret | undefined> {
  if (!hasSecret(document)) return undefined;
  const usable = usableSecrets(document, stored);
  if (usable !== undefined) return { stored: usable };
  const text = newClientSecret(random, document);
  return { stored: [await clientSecrets.hash(text, readsSecret(document))], shown: { text } };
}
