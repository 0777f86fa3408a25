// § refers to RP-Initiated Logout.
import {
  type AuthorizationClient,
  requireNamedClient,
  untrusted,
  withoutSecrets,
} from '../clients/client.ts';
import type { Context } from '../context.ts';
import { deliveryResponse } from '../http/browser_delivery.ts';
import { OAuthError } from '../http/errors.ts';
import { type Form, readQueryOrForm, requireBearableLength } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import { parseUiLocales } from '../protocol/authorization_parameters.ts';
import { isUnchecked } from '../protocol/records.ts';
import { withQuery } from '../protocol/redirect_uri.ts';
import { type IdTokenHint, readIdTokenHint } from '../tokens/id_token.ts';
import { sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';

/** A request to end a session that has been checked: plain data, for the host to ask the person about. */
export interface LogoutRequest {
  /** Who asks, where the request says so; without `idTokenHint` anyone may have written it. */
  readonly client?: AuthorizationClient;
  /** Whom the client means; `isHintedSession` compares it. */
  readonly idTokenHint?: IdTokenHint;
  /** Registered by the client. */
  readonly postLogoutRedirectUri?: string;
  /** Whether the client named a place that it has not registered: the person is asked, and stays at the server. */
  readonly hasUnregisteredUri?: true;
  readonly state?: string;
  readonly logoutHint?: string;
  /** Language tags, the most wanted first (RFC 5646). */
  readonly uiLocales: readonly string[];
  /** From them `resumeLogoutRequest` makes the same request again. At most `LONGEST_PARAMETERS` characters. */
  readonly parameters: Readonly<Record<string, string>>;
}

const PARAMETERS = [
  'id_token_hint',
  'logout_hint',
  'client_id',
  'post_logout_redirect_uri',
  'state',
  'ui_locales',
] as const;

/**
 * First step of the logout endpoint: what the person may be asked about (RP-Initiated Logout §2).
 * @param refused receives what is left out of the request, for the operator
 * @throws {OAuthError} `invalid_request`, never with `redirectTo` (§4)
 */
export async function validateLogoutRequest(
  context: Context,
  request: HttpRequest,
  refused: (error: OAuthError) => void,
): Promise<LogoutRequest> {
  const logout = await requestFrom(context, readQueryOrForm(request));
  if (logout.hasUnregisteredUri === true)
    refused(
      new OAuthError('invalid_request', 'the post_logout_redirect_uri is not registered for this client', {
        reason: 'redirect_uri_mismatch',
        clientId: logout.client?.id,
        value: logout.parameters.post_logout_redirect_uri,
      }),
    );
  return logout;
}

/**
 * The same request from its `parameters`, checked anew: the client may be another meanwhile.
 * @throws {OAuthError} as `validateLogoutRequest`
 */
export async function resumeLogoutRequest(
  context: Context,
  parameters: LogoutRequest['parameters'],
): Promise<LogoutRequest> {
  return requestFrom(context, new Map(Object.entries(parameters)));
}

async function requestFrom(context: Context, form: Form): Promise<LogoutRequest> {
  const parameters = parametersOf(form);

  // §2 who asks, and about whom
  const idTokenHint = await hintOf(context, form);
  const clientId = form.get('client_id') ?? idTokenHint?.clientId;
  if (idTokenHint !== undefined && clientId !== idTokenHint.clientId)
    throw untrusted('the id_token_hint is for another client', 'id_token_hint_wrong');
  const client =
    clientId === undefined ? undefined : withoutSecrets(await requireNamedClient(context, clientId));

  // §3 where the person goes afterwards
  const uri = client && form.get('post_logout_redirect_uri');
  const isRegistered = uri !== undefined && isRegisteredFor(client, uri);
  const state = form.get('state');
  const logoutHint = form.get('logout_hint');
  return {
    parameters,
    uiLocales: parseUiLocales(form.get('ui_locales')),
    ...(client !== undefined && { client }),
    ...(idTokenHint !== undefined && { idTokenHint }),
    ...(uri !== undefined && (isRegistered ? { postLogoutRedirectUri: uri } : { hasUnregisteredUri: true })),
    ...(state !== undefined && { state }),
    ...(logoutHint !== undefined && { logoutHint }),
  };
}

function parametersOf(form: Form): Readonly<Record<string, string>> {
  const known = PARAMETERS.flatMap((name) => {
    const value = form.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  requireBearableLength(new Map(known));
  return Object.fromEntries(known);
}

async function hintOf(context: Context, form: Form): Promise<IdTokenHint | undefined> {
  const token = form.get('id_token_hint');
  if (token === undefined) return undefined;
  const hint = await readIdTokenHint(context, token);
  if (hint === undefined) throw untrusted('the id_token_hint is not valid', 'id_token_hint_wrong');
  return hint;
}

/**
 * To the letter, the port of a loopback URI included. Without a client, or with another URI, the person stays at the
 * server: better signed out there than refused (RP-Initiated Logout §3).
 */
function isRegisteredFor(client: AuthorizationClient | undefined, uri: string): boolean {
  return client?.metadata?.post_logout_redirect_uris?.includes(uri) === true;
}

/**
 * Whether the client has shown by an ID token that it means this session of this person, so that nobody needs to be
 * asked (RP-Initiated Logout §2).
 */
export async function isHintedSession(
  context: Context,
  {
    client,
    idTokenHint,
    hasUnregisteredUri,
  }: Pick<LogoutRequest, 'client' | 'idTokenHint' | 'hasUnregisteredUri'>,
  subject: string,
  sessionId: string,
): Promise<boolean> {
  if (client === undefined || idTokenHint === undefined || hasUnregisteredUri === true) return false;
  const { sub, sid } = idTokenHint;
  if (sid !== undefined && sid !== (await sessionIdentifier(context, client, sessionId))) return false;
  return sub === (await subjectIdentifier(context, client, subject));
}

/**
 * Second step: the session has ended, and the browser goes back to the client (RP-Initiated Logout §3).
 * If nobody checked the client, the response is a page that asks first.
 * @returns `undefined` if the client named no place that is registered, and the person stays at the server
 */
export function completeLogout({
  client,
  postLogoutRedirectUri: uri,
  state,
}: Pick<LogoutRequest, 'client' | 'postLogoutRedirectUri' | 'state'>): HttpResponse | undefined {
  if (uri === undefined) return undefined;
  const redirectTo = state === undefined ? uri : withQuery(uri, { state });
  return deliveryResponse({ redirectTo }, client !== undefined && isUnchecked(client));
}
