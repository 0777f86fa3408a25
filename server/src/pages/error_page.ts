import { errorResponse, OAuthError, pathOf, queryOf, StorageFault } from '@grantd/core';
import { html } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { DirectoryFault } from '../directory/contract.ts';
import type { PageName, PageReason } from '../log/log.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { applicationShown, named, webAddress } from './application_shown.ts';
import { operatorMark } from './brand.ts';
import { type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';

/** Seconds after which the directory may answer again. */
const DIRECTORY_RETRY_SECONDS = 5;

/** Answers an error: back to the client if that is safe, else with a page. */
export function answerError(parts: PageParts, error: Error, c: PageContext): Response | Promise<Response> {
  const { requestLog } = parts;
  const requestId = requestIdOf(c);
  if (error instanceof DirectoryFault) {
    requestLog.failure(requestId, 'directory_unavailable', error);
    c.header('retry-after', String(DIRECTORY_RETRY_SECONDS));
    const view = { secondsToWait: DIRECTORY_RETRY_SECONDS, detail: { requestId } };
    return renderProblem(c, parts, { problem: 'unavailable', ...view }, 503);
  }
  if (error instanceof PageProblem) {
    const { problem, status, page, reason, clientId } = error;
    const about = clientId === undefined ? {} : { clientId };
    requestLog.pageEvent({ type: 'refused', page, requestId, reason, ...about });
    return renderProblem(c, parts, { problem }, status, clientId);
  }
  // The library has already reported its own errors and their causes.
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

/** Chooses the page text. An outage is not the application’s fault, even if the library reports it. */
function problemOf(error: Error, status: number): Problem {
  const reason = error instanceof OAuthError ? error.reason : undefined;
  if (reason === 'authorization_request_answered') return 'request_answered';
  if (reason === 'authorization_request_expired') return 'request_expired';
  if (status === 503) return 'unavailable';
  if (status >= 500) return 'unexpected';
  return status === 405 ? 'method_not_allowed' : 'request_invalid';
}

/** RFC 9110 §15.5.6. */
export function refuseMethod(parts: PageParts, allowed: 'GET, HEAD' | 'GET, HEAD, POST' | 'POST') {
  return (c: PageContext): Promise<Response> => {
    c.header('allow', allowed);
    return renderProblem(c, parts, { problem: 'method_not_allowed' }, 405);
  };
}

/**
 * @param clientId the application that the user may want to return to
 * @param redirectUri where its request leads, if it has no page of its own
 */
export async function renderProblem(
  c: PageContext,
  parts: PageParts,
  view: Omit<ProblemView, 'ways'>,
  status: ContentfulStatusCode,
  clientId?: string,
  redirectUri?: string,
): Promise<Response> {
  const setting = pageSetting(c, parts);
  const application = await applicationOf(parts, setting, clientId, redirectUri);
  const ways = {
    home: `${parts.basePath}/`,
    account: `${parts.basePath}/account`,
    ...(view.problem === 'form_foreign' && { again: addressOf(c) }),
    ...(view.problem === 'link_invalid' && { newLink: `${parts.basePath}/forgot` }),
    ...(application !== undefined && { application }),
  };
  return renderPage(c, { ...problemPage({ ...view, ways }, setting), status });
}

/** The URL of the submitted form, without a host. */
function addressOf(c: PageContext): string {
  const { url } = c.get('plain');
  const query = queryOf({ url });
  return `${pathOf({ url })}${query === '' ? '' : `?${query}`}`;
}

/** The application’s own page. Absent for unchecked applications and during an outage. */
async function applicationOf(
  { clients, basePath }: PageParts,
  { language }: PageSetting,
  clientId: string | undefined,
  redirectUri: string | undefined,
): Promise<ProblemWays['application']> {
  if (clientId === undefined) return undefined;
  try {
    const client = await clients.get(clientId);
    if (!client) return undefined;
    const shown = applicationShown(client, language, basePath);
    // The redirect URI itself expects an answer.
    const uri = shown.clientUri ?? (redirectUri && URL.parse('/', redirectUri)?.href);
    return shown.isUnchecked === true || uri === undefined ? undefined : { name: shown.name, uri };
  } catch (error) {
    if (error instanceof StorageFault) return undefined;
    throw error;
  }
}

/** Why a page cannot be shown or a form cannot be accepted. `answerError` renders it. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  readonly status: 400 | 403 | 414;
  readonly page: PageName;
  readonly reason: PageReason;
  readonly clientId: string | undefined;

  constructor(page: PageName, reason: keyof typeof SHOWN, clientId?: string) {
    super(reason);
    const { problem, status } = SHOWN[reason];
    this.page = page;
    this.reason = reason;
    this.problem = problem;
    this.status = status;
    this.clientId = clientId;
  }
}

const SHOWN = {
  request_expired: { problem: 'request_expired', status: 400 },
  request_too_long: { problem: 'too_large', status: 414 },
  form_foreign: { problem: 'form_foreign', status: 403 },
  link_invalid: { problem: 'link_invalid', status: 400 },
  not_administrator: { problem: 'not_administrator', status: 403 },
  factors_wait: { problem: 'factors_wait', status: 403 },
} as const satisfies Partial<
  Record<PageReason, { readonly problem: Problem; readonly status: PageProblem['status'] }>
>;

export type Problem = keyof Texts['problems'];

interface ProblemView {
  readonly problem: Problem;
  /** Present if waiting helps. */
  readonly secondsToWait?: number;
  /** Reason code, shown if it has a text. */
  readonly reason?: string;
  readonly ways: ProblemWays;
  /** For developers: the terms of the log and the specification. */
  readonly detail?: ProblemDetail;
}

/** URLs to continue with. */
interface ProblemWays {
  readonly home: string;
  readonly account: string;
  /** A page to try again. */
  readonly again?: string;
  /** The page that sends links. */
  readonly newLink?: string;
  /** The application’s own page, if the application is checked. */
  readonly application?: { readonly name: string; readonly uri: string };
}

interface ProblemDetail {
  /** Such as `invalid_request`. */
  readonly code?: string;
  /** The English `error_description`. */
  readonly description?: string;
  readonly requestId?: string;
}

/** Explains the problem and what the user can do. Links: `try-again`, `new-link`, `to-application`, `to-home`, `to-account`. */
export function problemPage(view: ProblemView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { title, text, help } = texts.problems[view.problem];
  const reason = reasonText(view.reason, texts);
  const { problemDetail } = texts;
  return {
    ...setting,
    title: texts.problemTitle(title),
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${title}</h1>
</header>
<div role="alert" id="problem" tabindex="-1" autofocus>
<p>${text}</p>${reason === undefined ? '' : html`\n<p id="reason">${reason}</p>`}
<p>${view.secondsToWait === undefined ? help : problemDetail.waitFor(texts.formats.duration(view.secondsToWait))}</p>
</div>
${waysOf(view.ways, texts)}
${view.detail === undefined ? '' : detailOf(view.detail, texts)}`,
  };
}

/** The text for a reason code; `undefined` for codes without a text. */
function reasonText(reason: string | undefined, { reasons }: Texts): string | undefined {
  return Object.entries(reasons).find(([code]) => code === reason)?.[1];
}

function waysOf({ home, account, again, newLink, application }: ProblemWays, { problemWays }: Texts): Html {
  const applicationUri = webAddress(application?.uri);
  return html`${again === undefined ? '' : html`<a id="try-again" class="button" href="${again}">${problemWays.again}</a>`}
${newLink === undefined ? '' : html`<a id="new-link" class="button" href="${newLink}">${problemWays.newLink}</a>`}
${application === undefined || applicationUri === undefined ? '' : html`<a id="to-application" class="button" href="${applicationUri}" rel="noreferrer">${problemWays.application(named(application.name))}</a>`}
<ul class="links" role="list">
<li><a id="to-home" href="${home}">${problemWays.home}</a></li>
<li><a id="to-account" href="${account}">${problemWays.account}</a></li>
</ul>`;
}

function detailOf({ code, description, requestId }: ProblemDetail, { problemDetail }: Texts): Html | '' {
  const rows = [
    { term: problemDetail.code, value: code, language: 'en' },
    { term: problemDetail.description, value: description, language: 'en' },
    { term: problemDetail.requestId, value: requestId, language: 'zxx' },
  ].filter(({ value }) => value !== undefined && value !== '');
  if (rows.length === 0) return '';
  return html`<details class="developers">
<summary>${problemDetail.heading}</summary>
<dl>
${rows.map(({ term, value, language }) => html`<dt>${term}</dt><dd lang="${language}">${value}</dd>\n`)}</dl>
</details>`;
}
