// § refers to RFC 6749.
import { reportAudience } from '../clients/access.ts';
import { type AuthorizationClient, requireNamedClient } from '../clients/client.ts';
import type { Context } from '../context.ts';
import { OAuthError } from '../http/errors.ts';
import { type Form, readQueryOrForm, requireBearableLength, requireParameter } from '../http/form.ts';
import { type HttpRequest, headerValue } from '../http/http.ts';
import type { Prompt, ResponseMode } from '../protocol/authorization_parameters.ts';
import type { ClaimsRequest } from '../protocol/claims.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { callOf } from '../serve.ts';
import { refusedAuthorization } from './authorization_response.ts';
import { readAuthorizationParameters } from './parameters.ts';
import { newRequestId, overdue, REQUEST_ID } from './request_end.ts';
import { resolvedParameters } from './request_object.ts';
import { type AuthorizationTarget, keptParameters, namedTarget, requireTarget } from './target.ts';

/** An authorization request that has been checked: plain data, for the host to ask the person about. */
export interface AuthorizationRequest {
  /** Who asks, with what is for people. */
  readonly client: AuthorizationClient;
  /**
   * The parameters that count: of the query or form, of the verified request object, or as they were pushed, with what
   * the client's registration decided where they said nothing. From them `resumeAuthorizationRequest` makes the same
   * request again. At most `LONGEST_PARAMETERS` characters, besides an identifier of the request that the server adds: with
   * the first answer the request ends.
   */
  readonly parameters: Readonly<Record<string, string>>;
  readonly redirectUri: string;
  /** Whether the request named it (RFC 6749 §4.1.3). */
  readonly redirectUriGiven: boolean;
  readonly responseMode: ResponseMode;
  readonly scopes: readonly string[];
  readonly state?: string;
  readonly nonce?: string;
  readonly codeChallenge?: string;
  /** OpenID Connect Core §3.1.2.1; the host obeys them. */
  readonly prompt: readonly Prompt[];
  /**
   * Seconds since the person signed in at most, when the request came; 0 is a sign-in now, as `prompt` `login` is.
   * `completeAuthorization` refuses what is older by more than an hour, which a person may spend on the host's pages.
   */
  readonly maxAge?: number;
  readonly loginHint?: string;
  /** Authentication context classes, the most wanted first; the request's, or those that the client registered. */
  readonly acrValues: readonly string[];
  /** Language tags, the most wanted first (RFC 5646). */
  readonly uiLocales: readonly string[];
  /** `sub` that the answer must be about; `isExpectedPerson` compares it. */
  readonly expectedSubject?: string;
  readonly claims?: ClaimsRequest;
  /** What access tokens shall be for (RFC 8707 §2.1). */
  readonly resources?: readonly string[];
  /** Whether the browser asks for a frame, such as one that renews silently (Fetch Metadata, `Sec-Fetch-Dest`). */
  readonly isFramed?: true;
}

/**
 * First step of the authorization endpoint: whether a request may be put to the person (RFC 6749 §4.1.1).
 * @throws {OAuthError} with `redirectTo` once client and redirect URI are certain (§4.1.2.1), without it before
 */
export async function validateAuthorizationRequest(
  context: Context,
  request: HttpRequest,
): Promise<AuthorizationRequest> {
  const form = readQueryOrForm(request);
  const client = await requireNamedClient(context, requireParameter(form, 'client_id'));
  reportAudience(context, form, { ...callOf('authorization', request), clientId: client.id });
  const frame = isForFrame(request) ? ({ isFramed: true } as const) : {};
  const named = namedTarget(client, form);
  const { parameters, requestId } = await toldTo(context, named && { ...named, ...frame }, () =>
    resolvedParameters(context, client, form),
  );
  const checked = await checkedRequest(context, client, parameters, frame);
  // Without a page there is one answer, to this very HTTP request.
  const needsNone = checked.prompt.includes('none');
  return identified(checked, requestId ?? (needsNone ? undefined : newRequestId(context)));
}

/**
 * The same request from its `parameters`, checked anew: the client may be another meanwhile. It never asks for more than
 * it did, nor leads elsewhere; what the client may not ask any more is refused.
 * @throws {OAuthError} as `validateAuthorizationRequest`
 */
export async function resumeAuthorizationRequest(
  context: Context,
  parameters: Readonly<Record<string, string>>,
): Promise<AuthorizationRequest> {
  const form = new Map(Object.entries(parameters));
  const requestId = form.get(REQUEST_ID);
  const over = overdue(context, requestId);
  if (over !== undefined) throw over;
  const client = await requireNamedClient(context, requireParameter(form, 'client_id'));
  return identified(await checkedRequest(context, client, form, {}), requestId);
}

function identified(request: AuthorizationRequest, requestId: string | undefined): AuthorizationRequest {
  if (requestId === undefined) return request;
  return { ...request, parameters: { ...request.parameters, [REQUEST_ID]: requestId } };
}

async function checkedRequest(
  context: Context,
  client: ClientRecord,
  all: Form,
  frame: Pick<AuthorizationTarget, 'isFramed'>,
): Promise<AuthorizationRequest> {
  const parameters = new Map([...all].filter(([name]) => name !== REQUEST_ID));
  requireBearableLength(parameters);
  const target = { ...requireTarget(client, parameters), ...frame };
  return toldTo(context, target, async () => {
    const request = { ...target, ...(await readAuthorizationParameters(context, client, parameters)) };
    return { ...request, parameters: Object.fromEntries(keptParameters(parameters, request)) };
  });
}

/** No link and no script of another page can say so: the header is the browser's own. */
function isForFrame(request: HttpRequest): boolean {
  return ['iframe', 'frame'].includes(headerValue(request, 'sec-fetch-dest') ?? '');
}

/** The client learns of a refusal, where it is certain who that is; an outage stays at the server. */
async function toldTo<T>(
  context: Context,
  target: AuthorizationTarget | undefined,
  check: () => Promise<T>,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (target === undefined || !(error instanceof OAuthError)) throw error;
    throw refusedAuthorization(context, target, error);
  }
}
