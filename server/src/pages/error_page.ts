import { errorResponse, OAuthError, pathOf, queryOf, StorageFault } from '@grantd/core';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { applicationShown } from './application_shown.ts';
import { renderPage } from './layout.ts';
import { toClient } from './leaving_page.ts';
import type { PageSetting } from './page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { PageProblem } from './page_problem.ts';
import { pageSetting } from './page_setting.ts';
import { type Problem, type ProblemView, type ProblemWays, problemPage } from './views/problem.ts';

/** A refusal goes back to the client where that is safe, and is a page elsewhere. */
export function answerError(parts: PageParts, error: Error, c: PageContext): Response | Promise<Response> {
  const { requestLog } = parts;
  const requestId = requestIdOf(c);
  if (error instanceof PageProblem) {
    const { problem, status, page, reason, clientId } = error;
    const about = clientId === undefined ? {} : { clientId };
    requestLog.pageEvent({ type: 'refused', page, requestId, reason, ...about });
    return renderProblem(c, parts, { problem }, status, clientId);
  }
  // The library has reported its own refusals and their causes.
  if (!(error instanceof OAuthError)) {
    const reason = error instanceof StorageFault ? 'storage_unavailable' : 'unexpected';
    requestLog.failure(requestId, reason, error);
  }
  const answer = errorResponse(error);
  if (error instanceof OAuthError && error.redirectTo !== undefined) return toClient(c, parts, answer);
  const { 'content-type': _, ...headers } = answer.headers;
  const secondsToWait = Number(headers['retry-after'] ?? 0);
  const view = {
    problem: problemOf(error, answer.status),
    ...(secondsToWait > 0 && { secondsToWait }),
    ...(error instanceof OAuthError && error.reason !== undefined && { reason: error.reason }),
    detail: {
      requestId,
      ...(error instanceof OAuthError && { code: error.code, description: error.description }),
    },
  };
  for (const [name, value] of Object.entries(headers)) c.header(name, String(value));
  const clientId = error instanceof OAuthError && answer.status < 500 ? error.clientId : undefined;
  return renderProblem(c, parts, view, answer.status as ContentfulStatusCode, clientId);
}

/** By what it was, whoever noticed it: an outage is no mistake of the application. */
function problemOf(error: Error, status: number): Problem {
  const reason = error instanceof OAuthError ? error.reason : undefined;
  if (reason === 'authorization_request_answered') return 'request_answered';
  if (reason === 'authorization_request_expired') return 'request_expired';
  if (status === 503) return 'unavailable';
  if (status >= 500) return 'unexpected';
  return status === 405 ? 'method_not_allowed' : 'request_invalid';
}

/** RFC 9110 §15.5.6. */
export function refuseMethod(parts: PageParts, allowed: 'GET, HEAD' | 'GET, HEAD, POST') {
  return (c: PageContext): Promise<Response> => {
    c.header('allow', allowed);
    return renderProblem(c, parts, { problem: 'method_not_allowed' }, 405);
  };
}

/** @param clientId of the application that the person may want to go back to */
export async function renderProblem(
  c: PageContext,
  parts: PageParts,
  view: Omit<ProblemView, 'ways'>,
  status: ContentfulStatusCode,
  clientId?: string,
): Promise<Response> {
  const setting = pageSetting(c, parts);
  const application = await applicationOf(parts, setting, clientId);
  const ways = {
    home: `${parts.basePath}/`,
    account: `${parts.basePath}/account`,
    ...(view.problem === 'form_foreign' && { again: addressOf(c) }),
    ...(application !== undefined && { application }),
  };
  return renderPage(c, { ...problemPage({ ...view, ways }, setting), status });
}

/** The page whose form was sent: path and query, never another host. */
function addressOf(c: PageContext): string {
  const { url } = c.get('plain');
  const query = queryOf({ url });
  return `${pathOf({ url })}${query === '' ? '' : `?${query}`}`;
}

/** The application's own page, unless nobody has checked the application, or there is no asking which it is. */
async function applicationOf(
  { clients, basePath }: PageParts,
  { language }: PageSetting,
  clientId: string | undefined,
): Promise<ProblemWays['application']> {
  if (clientId === undefined) return undefined;
  try {
    const client = await clients.get(clientId);
    if (!client) return undefined;
    const { name, clientUri, isUnchecked } = applicationShown(client, language, basePath);
    return isUnchecked === true || clientUri === undefined ? undefined : { name, uri: clientUri };
  } catch (error) {
    if (error instanceof StorageFault) return undefined;
    throw error;
  }
}
