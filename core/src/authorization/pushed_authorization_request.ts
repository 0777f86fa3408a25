// Pushed authorization requests. § refers to RFC 9126.
import { reportAudience } from '../clients/access.ts';
import { authenticateClient } from '../clients/authentication.ts';
import { noteUse } from '../clients/client.ts';
import { checkProofAt, proofOfRequest } from '../confirmation/dpop.ts';
import { refusedProof } from '../confirmation/dpop_proof.ts';
import { invalidRequest, type OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, readForm, requireShortParameters } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import { DPOP_JKT, readAuthorizationParameters } from './parameters.ts';
import { keepPushedRequest } from './request_end.ts';
import { parametersByValue } from './request_object.ts';
import { type AuthorizationContext, keptParameters, requireTarget } from './target.ts';

/** `POST /par` (RFC 9126). */
export async function pushedAuthorizationRequest(
  context: AuthorizationContext,
  request: HttpRequest,
  call: Call,
): Promise<HttpResponse> {
  // §2.1 authenticate the client, which may name neither another client nor another request
  const form = readForm(request);
  const client = await authenticateClient(context, request, form, call, checkProof);
  reportAudience(context, form, call);
  if ((form.get('client_id') ?? client.id) !== client.id)
    throw refused('the client_id is not the authenticated client');
  if (form.has('request_uri')) throw refused('request_uri cannot be pushed');

  // §2.1, §3 the request gets the same validation as at the authorization endpoint
  const sent = await parametersByValue(context, client, requestPartOf(form, client.id));
  const proof = await proofOfRequest(context, request, client, ENDPOINT);
  await proof?.useUp();
  const parameters = boundTo(proof?.jkt, sent);
  requireShortParameters(parameters);
  const target = requireTarget(client, parameters);
  const decided = { ...target, ...(await readAuthorizationParameters(context, client, parameters)) };

  await noteUse(context, client, secondsOf(context.clock()));

  // §2.2
  return jsonResponse(await keepPushedRequest(context, client, keptParameters(parameters, decided)), 201);
}

/** The parameters without the client’s credentials. */
function requestPartOf(form: Form, clientId: string): Form {
  const {
    client_secret: _,
    client_assertion: __,
    client_assertion_type: ___,
    ...request
  } = Object.fromEntries(form);
  return new Map(Object.entries({ ...request, client_id: clientId }));
}

const ENDPOINT = 'pushedAuthorizationRequest';
const checkProof = checkProofAt(ENDPOINT);

/**
 * The parameters with the key of the proof, if there is one, as `dpop_jkt` (RFC 9449 §10.1).
 * @throws {OAuthError} `invalid_dpop_proof`: `dpop_jkt` names another key
 */
export function boundTo(jkt: string | undefined, parameters: Form): Form {
  if (jkt === undefined) return parameters;
  if ((parameters.get(DPOP_JKT) ?? jkt) !== jkt) throw refusedProof({ reason: 'dpop_key_wrong' }, 400);
  return new Map([...parameters, [DPOP_JKT, jkt]]);
}

function refused(description: string): OAuthError {
  return invalidRequest(description, 'parameter_invalid');
}
