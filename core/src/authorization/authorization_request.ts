// First step of the authorization endpoint: validates a request. § refers to RFC 6749.
import { reportAudience } from '../clients/access.ts';
import { type AuthorizationClient, noteUse, requireNamedClient } from '../clients/client.ts';
import { OAuthError } from '../http/errors.ts';
import { type Form, readQueryOrForm, requireParameter, requireShortParameters } from '../http/form.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import type { AuthorizationDetails } from '../protocol/authorization_details.ts';
import type { Prompt, ResponseMode } from '../protocol/authorization_parameters.ts';
import type { ClaimsRequest, Confirmation } from '../protocol/claims.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { callOf } from '../request/serve.ts';
import { refusedAuthorization } from './authorization_response.ts';
import { readAuthorizationParameters } from './parameters.ts';
import { expiryError, newRequestId, REQUEST_ID } from './request_end.ts';
import { resolvedParameters } from './request_object.ts';
import {
  type AuthorizationContext,
  type AuthorizationTarget,
  keptParameters,
  namedTarget,
  requireTarget,
} from './target.ts';

/** What a client requests, and how the user must sign in for it, as plain data. The host asks the user for approval. */
export interface AccessRequest {
  /** The requesting client, with its metadata for users. */
  readonly client: AuthorizationClient;
  /** `resume` rebuilds the request from them. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly scopes: readonly string[];
  /** What the code will be bound to (`dpop_jkt`, RFC 9449 §10). */
  readonly confirmation?: Confirmation;
  /** OpenID Connect Core §3.1.2.1. The host must obey them. */
  readonly prompt: readonly Prompt[];
  /**
   * Maximum seconds between the sign-in and the request. 0 requires a new sign-in, like `prompt=login`.
   * `authorization.complete` allows one more hour for the host’s pages.
   */
  readonly maxAge?: number;
  readonly loginHint?: string;
  /** Authentication context classes, most preferred first, from the request or the client’s registration. */
  readonly acrValues: readonly string[];
  /** Language tags, most preferred first (RFC 5646). */
  readonly uiLocales: readonly string[];
  /** The required `sub` of the response. `authorization.isExpectedUser` compares it. */
  readonly expectedSubject?: string;
  readonly claims?: ClaimsRequest;
  /** Resources of the access tokens (RFC 8707 §2.1). */
  readonly resources?: readonly string[];
  /** Requested details, which the user must be shown (RFC 9396 §3). */
  readonly authorizationDetails?: AuthorizationDetails;
}

/** A validated authorization request. */
export interface AuthorizationRequest extends AccessRequest {
  /**
   * The effective parameters: from the query or form, the verified request object, or the pushed request, completed
   * with the client’s registered defaults. `authorization.resume` rebuilds the request from them. At most
   * `LONGEST_PARAMETERS` characters, plus a request identifier that the server adds, because the first answer ends the
   * request.
   */
  readonly parameters: Readonly<Record<string, string>>;
  readonly redirectUri: string;
  /** Whether the request contained it (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly responseMode: ResponseMode;
  readonly state?: string;
  readonly nonce?: string;
  readonly codeChallenge?: string;
  /** Whether the browser loads the request in a frame, as for silent renewal (Fetch Metadata, `Sec-Fetch-Dest`). */
  readonly isFramed?: true;
}

/**
 * First step of the authorization endpoint: validates the request (RFC 6749 §4.1.1).
 * @throws {OAuthError} with `redirectTo` once client and redirect URI are certain (§4.1.2.1), before that without it
 */
export async function validateAuthorizationRequest(
  context: AuthorizationContext,
  request: HttpRequest,
): Promise<AuthorizationRequest> {
  const form = readQueryOrForm(request);
  const client = await requireNamedClient(context, requireParameter(form, 'client_id'));
  reportAudience(context, form, { ...callOf('authorization', request), clientId: client.id });
  const frame = isForFrame(request) ? ({ isFramed: true } as const) : {};
  const named = namedTarget(client, form);
  const { parameters, requestId } = await refusingTo(context, named && { ...named, ...frame }, () =>
    resolvedParameters(context, client, form),
  );
  const checked = await checkedRequest(context, client, parameters, frame);
  // With `prompt=none`, only this HTTP response can answer the request.
  const needsNone = checked.prompt.includes('none');
  return withIdentifier(checked, requestId ?? (needsNone ? undefined : newRequestId(context)));
}

/**
 * Rebuilds a request from its `parameters` and validates it again, because the client may have changed. The result
 * never asks for more than before and never leads elsewhere.
 * @throws {OAuthError} as `validateAuthorizationRequest`
 */
export async function resumeAuthorizationRequest(
  context: AuthorizationContext,
  parameters: Readonly<Record<string, string>>,
): Promise<AuthorizationRequest> {
  const form = new Map(Object.entries(parameters));
  const requestId = form.get(REQUEST_ID);
  const expiry = expiryError(context, requestId);
  if (expiry !== undefined) throw expiry;
  const client = await requireNamedClient(context, requireParameter(form, 'client_id'));
  return withIdentifier(await checkedRequest(context, client, form, {}), requestId);
}

function withIdentifier(request: AuthorizationRequest, requestId: string | undefined): AuthorizationRequest {
  if (requestId === undefined) return request;
  return { ...request, parameters: { ...request.parameters, [REQUEST_ID]: requestId } };
}

async function checkedRequest(
  context: AuthorizationContext,
  client: ClientRecord,
  all: Form,
  frame: Pick<AuthorizationTarget, 'isFramed'>,
): Promise<AuthorizationRequest> {
  const parameters = new Map([...all].filter(([name]) => name !== REQUEST_ID));
  requireShortParameters(parameters);
  const target = { ...requireTarget(client, parameters), ...frame };
  return refusingTo(context, target, async () => {
    const request = { ...target, ...(await readAuthorizationParameters(context, client, parameters)) };
    await noteUse(context, client, secondsOf(context.clock()));
    return { ...request, parameters: Object.fromEntries(keptParameters(parameters, request)) };
  });
}

/** Browsers set this header, so pages cannot forge it. */
function isForFrame(request: HttpRequest): boolean {
  return ['iframe', 'frame'].includes(headerValue(request, 'sec-fetch-dest') ?? '');
}

/** Redirects refusals to the client, if it is certain. Faults stay at the server. */
async function refusingTo<T>(
  context: AuthorizationContext,
  target: AuthorizationTarget | undefined,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const isRefusal = error instanceof OAuthError && error.status < 500;
    if (target === undefined || !isRefusal) throw error;
    throw await refusedAuthorization(context, target, error);
  }
}
