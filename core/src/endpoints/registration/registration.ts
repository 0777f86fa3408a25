import { sha256 } from '#hashing';
import { secondsOf } from '../../protocol/environment.ts';
import type { HttpRequest, HttpResponse } from '../../protocol/http.ts';
import { readJsonObject } from '../../protocol/json_body.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import { newIdentifier, newOpaque } from '../../tokens/opaque_token.ts';
import type { Call, Context } from '../context.ts';
import { requireAdmission, requireRegistration, useAdmission } from './admission.ts';
import { documentByClient } from './checked_document.ts';
import { recordOf } from './client_document.ts';
import { clientInformation } from './client_information.ts';
import { secretFor } from './issued_secret.ts';

/** `POST /register` (RFC 7591 §3, OpenID Connect Dynamic Client Registration §3). */
export async function registration(
  context: Context,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §3 who may register
  const settings = requireRegistration(context);
  const admission = await requireAdmission(context, settings, request);

  // §3.1 what the client wants to be
  const document = await documentByClient(context, settings, readJsonObject(request));

  // §3.2.1 what it is now
  await useAdmission(context, admission);
  const secret = await secretFor(context, document);
  const registrationToken = newOpaque('registration_token', context.random);
  const client = recordOf(
    {
      id: newIdentifier(context.random),
      registeredAt: secondsOf(context.clock()),
      registrationTokenDigest: await sha256(registrationToken),
      ...(secret !== undefined && { secrets: secret.stored }),
    },
    document,
  );
  if (!(await settings.clients.add(client, settings.mostClients))) throw tooMany();
  call.clientId = client.id;
  return clientInformation(context, client, { registrationToken, clientSecret: secret?.shown }, 201);
}

/** An identifier of 128 random bits is never taken. */
function tooMany(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'no more clients can register at the moment', {
    status: 429,
    reason: 'too_many_registered',
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });
}

/** An operator has to do something first. */
const RETRY_AFTER_SECONDS = 60 * 60;
