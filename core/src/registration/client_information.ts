// § refers to RFC 7591.
import { hasSecret } from '../clients/authentication.ts';
import type { Context } from '../context.ts';
import { type HttpResponse, jsonResponse } from '../http/http.ts';
import type { ClientDocument } from '../protocol/client_members.ts';
import type { ClientSecretRecord } from '../protocol/records.ts';
import { endpointUrl } from '../protocol/redirect_uri.ts';
import type { NewClient } from '../storage/contract.ts';
import { newOpaque } from '../tokens/opaque_token.ts';
import { documentOf } from './client_document.ts';

/** What a client holds that storage keeps no copy of. */
interface HeldCredentials {
  readonly registrationToken: string;
  /** Where the client has one, and it is known at the moment. */
  readonly clientSecret?: ShownSecret | undefined;
}

/** The client information response (RFC 7591 §3.2.1, RFC 7592 §3): all that is registered, and what the client holds. */
export function clientInformation(
  { issuer, paths }: Context,
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

/** A secret as its client is shown it. */
export interface ShownSecret {
  readonly text: string;
  /** Seconds; absent if it does not expire. */
  readonly expiresAt?: number | undefined;
}

/** The secrets of a client: what is stored, and the secret itself if it is new. */
interface IssuedSecret {
  readonly stored: readonly ClientSecretRecord[];
  readonly shown?: ShownSecret;
}

/**
 * The secrets that a client with this metadata has (RFC 7591 §3.2.1): none if it authenticates in another way or not at
 * all, those that it has, or a new one.
 */
export async function secretFor(
  { clientSecrets, random }: Context,
  document: ClientDocument,
  stored?: readonly ClientSecretRecord[],
): Promise<IssuedSecret | undefined> {
  if (!hasSecret(document)) return undefined;
  if (stored !== undefined) return { stored };
  const text = newOpaque('client_secret', random);
  return { stored: [await clientSecrets.hash(text)], shown: { text } };
}
