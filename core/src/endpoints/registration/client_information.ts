import { endpointUrl } from '../../protocol/endpoint_url.ts';
import { type HttpResponse, jsonResponse } from '../../protocol/http.ts';
import type { NewClient } from '../../storage/contract.ts';
import type { Context } from '../context.ts';
import { documentOf } from './client_document.ts';
import type { ShownSecret } from './issued_secret.ts';

/** What a client holds that storage keeps no copy of. */
export interface HeldCredentials {
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
