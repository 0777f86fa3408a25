import { errorResponse, OAuthError, StorageFault } from '@grantd/core';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { renderPage } from './layout.ts';
import { toResponse } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { PageProblem } from './page_problem.ts';
import { pageSetting } from './page_setting.ts';
import { type Problem, type ProblemView, problemPage } from './views/problem.ts';

/** A refusal goes back to the client where that is safe, and is a page elsewhere. */
export function answerError(parts: PageParts, error: Error, c: PageContext): Response | Promise<Response> {
  const { requestLog } = parts;
  const requestId = requestIdOf(c);
  if (error instanceof PageProblem) {
    const { problem, status, page, reason, clientId } = error;
    const about = clientId === undefined ? {} : { clientId };
    requestLog.pageEvent({ type: 'refused', page, requestId, reason, ...about });
    return renderProblem(c, parts, { problem }, status);
  }
  // The library has reported its own refusals and their causes.
  if (!(error instanceof OAuthError)) {
    const reason = error instanceof StorageFault ? 'storage_unavailable' : 'unexpected';
    requestLog.failure(requestId, reason, error);
  }
  const answer = errorResponse(error);
  if (error instanceof OAuthError && error.redirectTo !== undefined) return toResponse(c, answer);
  const { 'content-type': _, ...headers } = answer.headers;
  const secondsToWait = Number(headers['retry-after'] ?? 0);
  const view: ProblemView = {
    problem: problemOf(answer.status),
    ...(secondsToWait > 0 && { secondsToWait }),
    detail: {
      requestId,
      ...(error instanceof OAuthError && { code: error.code, description: error.description }),
    },
  };
  const status = answer.status as ContentfulStatusCode;
  return renderPage(c, { ...problemPage(view, pageSetting(c, parts)), status, headers });
}

/** By what it was, whoever noticed it: an outage is no mistake of the application. */
function problemOf(status: number): Problem {
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

export function renderProblem(
  c: PageContext,
  parts: PageParts,
  view: ProblemView,
  status: ContentfulStatusCode,
): Promise<Response> {
  return renderPage(c, { ...problemPage(view, pageSetting(c, parts)), status });
}
