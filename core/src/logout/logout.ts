// Logout by a client. § refers to RP-Initiated Logout.

import {
  type AuthorizationClient,
  isUnchecked,
  requireNamedClient,
  untrusted,
  withoutSecrets,
} from '../clients/client.ts';
import { deliveryResponse } from '../http/browser_delivery.ts';
import { invalidRequest, type OAuthError } from '../http/errors.ts';
import { type Form, readQueryOrForm, requireShortParameters } from '../http/form.ts';
import type { HttpRequest, HttpResponse } from '../http/http.ts';
import { defined } from '../platform/environment.ts';
import { parseUiLocales } from '../protocol/authorization_parameters.ts';
import { withQuery } from '../protocol/redirect_uri.ts';
import type { TokenContext } from '../tokens/context.ts';
import { type IdTokenHint, readIdTokenHint } from '../tokens/state.ts';
import { sessionIdentifier, subjectIdentifier } from '../tokens/subject_identifier.ts';

/** A validated logout request as plain data. The host asks the user for confirmation. */
export interface LogoutRequest {
  /** The requesting client, if named. Without `idTokenHint`, anyone may have written it. */
  readonly client?: AuthorizationClient;
  /** The user and session that the client means. `logout.isHintedSession` compares them. */
  readonly idTokenHint?: IdTokenHint;
  /** A registered post-logout redirect URI. */
  readonly postLogoutRedirectUri?: string;
  /** Whether the request names an unregistered URI. The host asks the user, who then stays at the server. */
  readonly hasUnregisteredUri?: true;
  readonly state?: string;
  readonly logoutHint?: string;
  /** Language tags, most preferred first (RFC 5646). */
  readonly uiLocales: readonly string[];
  /** `logout.resume` rebuilds the request from them. At most `LONGEST_PARAMETERS` characters. */
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
 * First step: validates the request (RP-Initiated Logout §2).
 * @param refused receives the error of an ignored parameter
 * @throws {OAuthError} `invalid_request`, never with `redirectTo` (§4)
 */
export async function validateLogoutRequest(
  context: TokenContext,
  request: HttpRequest,
  refused: (error: OAuthError) => void,
): Promise<LogoutRequest> {
  const logout = await requestFrom(context, readQueryOrForm(request));
  if (logout.hasUnregisteredUri === true)
    refused(
      invalidRequest(
        'the post_logout_redirect_uri is not registered for this client',
        'redirect_uri_mismatch',
        { clientId: logout.client?.id, value: logout.parameters.post_logout_redirect_uri },
      ),
    );
  return logout;
}

/**
 * Rebuilds a request from its `parameters` and validates it again.
 * @throws {OAuthError} as `validateLogoutRequest`
 */
export async function resumeLogoutRequest(
  context: TokenContext,
  parameters: LogoutRequest['parameters'],
): Promise<LogoutRequest> {
  return requestFrom(context, new Map(Object.entries(parameters)));
}

async function requestFrom(context: TokenContext, form: Form): Promise<LogoutRequest> {
  const parameters = parametersOf(form);

  // §2 the client and the user it means
  const idTokenHint = await hintOf(context, form);
  const clientId = form.get('client_id') ?? idTokenHint?.clientId;
  if (idTokenHint !== undefined && clientId !== idTokenHint.clientId)
    throw untrusted('the id_token_hint is for another client', 'id_token_hint_wrong');
  const client =
    clientId === undefined ? undefined : withoutSecrets(await requireNamedClient(context, clientId));

  // §3 where the user goes afterwards
  const uri = client && form.get('post_logout_redirect_uri');
  const isRegistered = uri !== undefined && isRegisteredFor(client, uri);
  const state = form.get('state');
  const logoutHint = form.get('logout_hint');
  return {
    parameters,
    uiLocales: parseUiLocales(form.get('ui_locales')),
    ...(uri !== undefined && (isRegistered ? { postLogoutRedirectUri: uri } : { hasUnregisteredUri: true })),
    ...defined({ client, idTokenHint, state, logoutHint }),
  };
}

function parametersOf(form: Form): Readonly<Record<string, string>> {
  const known = PARAMETERS.flatMap((name) => {
    const value = form.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  requireShortParameters(new Map(known));
  return Object.fromEntries(known);
}

async function hintOf(context: TokenContext, form: Form): Promise<IdTokenHint | undefined> {
  const token = form.get('id_token_hint');
  if (token === undefined) return undefined;
  const hint = await readIdTokenHint(context, token);
  if (hint === undefined) throw untrusted('the id_token_hint is not valid', 'id_token_hint_wrong');
  return hint;
}

/**
 * Without a match, the user stays here (RP-Initiated Logout §3).
 */
function isRegisteredFor(client: AuthorizationClient | undefined, uri: string): boolean {
  return client?.metadata?.post_logout_redirect_uris?.includes(uri) === true;
}

/**
 * Whether an ID token proves that the client means this session, so no one confirms (RP-Initiated Logout §2).
 */
export async function isHintedSession(
  context: TokenContext,
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
 * After the session has ended: returns the browser to the client (RP-Initiated Logout §3), an unchecked one by a page.
 * @returns `undefined` without a registered URI
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
