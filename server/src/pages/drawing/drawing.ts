// What every flow draws with: the setting of a page, problems, and the way back to a client.
import {
  errorResponse,
  type HttpResponse,
  type IssuingClientRepository,
  OAuthError,
  pathOf,
  queryOf,
  StorageFault,
} from '@grantd/core';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { DirectoryFault } from '../../directory/contract.ts';
import type { RequestLog } from '../../log/log.ts';
import type { Language } from '../../texts/texts.ts';
import { type PageContext, PageProblem, type Problem, requestIdOf, toResponse } from '../browser/request.ts';
import { applicationShown } from './application_shown.ts';
import {
  type ApplicationShown,
  type Page,
  type PageSetting,
  pageSetting,
  renderPage,
  type SettingNeeds,
} from './layout.ts';
import { leavingPage } from './leaving_page.ts';
import { type ProblemView, problemPage } from './problem_page.ts';

/** Seconds after which the directory may answer again. */
const DIRECTORY_RETRY_SECONDS = 5;

/** Draws a problem as a page of a flow. @returns `undefined` if the visitor may not see the flow */
type ProblemFrame = (c: PageContext, view: ProblemView, setting: PageSetting) => Promise<Page | undefined>;

interface Needs extends SettingNeeds {
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly requestLog: Pick<RequestLog, 'pageEvent' | 'failure'>;
  /** Path of the issuer, without a trailing slash. */
  readonly basePath: string;
}

export class Drawing {
  /** Path of the issuer, without a trailing slash. */
  readonly basePath: string;
  readonly #needs: Needs;
  readonly #frames = new Map<string, ProblemFrame>();

  constructor(needs: Needs) {
    this.basePath = needs.basePath;
    this.#needs = needs;
  }

  /** @param uiLocales languages that the application prefers (OpenID Connect Core §3.1.2.1) */
  setting(c: PageContext, uiLocales?: readonly string[]): PageSetting {
    return pageSetting(c, this.#needs, uiLocales);
  }

  /** A client’s name, brand and links in the user’s language. */
  application(client: Parameters<typeof applicationShown>[0], language: Language): ApplicationShown {
    return applicationShown(client, language, this.basePath);
  }

  /**
   * Sends the user back to a client. For an unchecked client, this server’s page asks first.
   * @param uiLocales of the request, if known
   */
  toClient(
    c: PageContext,
    answer: HttpResponse,
    uiLocales?: readonly string[],
  ): Response | Promise<Response> {
    const { leaving } = answer;
    if (leaving === undefined) return toResponse(c, answer);
    return renderPage(c, leavingPage({ leaving, home: `${this.basePath}/` }, this.setting(c, uiLocales)));
  }

  /** Lets a flow draw the problems of its pages. @param path the first one, which all others are below */
  frameProblems(path: string, frame: ProblemFrame): void {
    this.#frames.set(`${this.basePath}${path}`, frame);
  }

  /**
   * @param clientId the application that the user may want to return to
   * @param redirectUri where its request leads, if it has no page of its own
   */
  async problem(
    c: PageContext,
    view: Omit<ProblemView, 'ways' | 'requestId'>,
    status: ContentfulStatusCode,
    clientId?: string,
    redirectUri?: string,
  ): Promise<Response> {
    const setting = this.setting(c);
    const application = await this.#applicationOf(setting, clientId, redirectUri);
    const ways = {
      home: `${this.basePath}/`,
      account: `${this.basePath}/account`,
      ...(isTriedAgain(view.problem, c) && { again: addressOf(c) }),
      ...(view.problem === 'link_invalid' && { newLink: `${this.basePath}/forgot` }),
      ...(application !== undefined && { application }),
    };
    const shown = { ...view, ways, requestId: requestIdOf(c) };
    const framed = await this.#framed(c, shown, setting);
    return renderPage(c, { ...(framed ?? problemPage(shown, setting)), status });
  }

  async #framed(c: PageContext, view: ProblemView, setting: PageSetting): Promise<Page | undefined> {
    const [, frame] = [...this.#frames].find(([path]) => `${c.req.path}/`.startsWith(`${path}/`)) ?? [];
    return frame?.(c, view, setting);
  }

  /** Answers an error: back to the client if that is safe, else with a page. */
  error(error: Error, c: PageContext): Response | Promise<Response> {
    const { requestLog } = this.#needs;
    const requestId = requestIdOf(c);
    if (error instanceof DirectoryFault) {
      requestLog.failure(requestId, 'directory_unavailable', error);
      c.header('retry-after', String(DIRECTORY_RETRY_SECONDS));
      return this.problem(c, { problem: 'unavailable', secondsToWait: DIRECTORY_RETRY_SECONDS }, 503);
    }
    if (error instanceof PageProblem) {
      const { problem, status, page, reason, clientId } = error;
      const about = clientId === undefined ? {} : { clientId };
      requestLog.pageEvent({ type: 'refused', page, requestId, reason, ...about });
      return this.problem(c, { problem }, status, clientId);
    }
    // The library has already reported its own errors and their causes.
    if (!(error instanceof OAuthError)) {
      const reason = error instanceof StorageFault ? 'storage_unavailable' : 'unexpected';
      requestLog.failure(requestId, reason, error);
    }
    const answer = errorResponse(error);
    if (error instanceof OAuthError && error.redirectTo !== undefined) return this.toClient(c, answer);
    const { 'content-type': _, ...headers } = answer.headers;
    const secondsToWait = Number(headers['retry-after'] ?? 0);
    const view = {
      problem: problemOf(error, answer.status),
      ...(secondsToWait > 0 && { secondsToWait }),
      ...(error instanceof OAuthError && error.reason !== undefined && { reason: error.reason }),
      ...(error instanceof OAuthError && {
        detail: { code: error.code, description: error.description },
      }),
    };
    for (const [name, value] of Object.entries(headers)) c.header(name, String(value));
    const clientId = error instanceof OAuthError && answer.status < 500 ? error.clientId : undefined;
    return this.problem(c, view, answer.status as ContentfulStatusCode, clientId);
  }

  /** The application’s own page. Absent for unchecked applications and during an outage. */
  async #applicationOf(
    { language }: PageSetting,
    clientId: string | undefined,
    redirectUri: string | undefined,
  ): Promise<ProblemView['ways']['application']> {
    if (clientId === undefined) return undefined;
    try {
      const client = await this.#needs.clients.get(clientId);
      if (!client) return undefined;
      const shown = this.application(client, language);
      // The redirect URI itself expects an answer.
      const uri = shown.clientUri ?? (redirectUri && URL.parse('/', redirectUri)?.href);
      return shown.isUnchecked === true || uri === undefined ? undefined : { name: shown.name, uri };
    } catch (error) {
      if (error instanceof StorageFault) return undefined;
      throw error;
    }
  }
}

/** Chooses the page text. An outage is not the application’s fault, even if the library reports it. */
function problemOf(error: Error, status: number): Problem {
  const reason = error instanceof OAuthError ? error.reason : undefined;
  if (reason === 'authorization_request_answered') return 'request_answered';
  if (reason === 'authorization_request_expired') return 'request_expired';
  if (reason === 'user_code_unknown') return 'device_over';
  if (reason === 'too_many_registered') return 'too_many_applications';
  if (status === 503) return 'unavailable';
  if (status >= 500) return 'unexpected';
  return status === 405 ? 'method_not_allowed' : 'request_invalid';
}

/** Whether the same page can be loaded once more. */
function isTriedAgain(problem: Problem, c: PageContext): boolean {
  return problem === 'form_foreign' || (problem === 'unavailable' && c.req.method === 'GET');
}

/** The URL of the request, without a host. */
function addressOf(c: PageContext): string {
  const { url } = c.get('plain');
  const query = queryOf({ url });
  return `${pathOf({ url })}${query === '' ? '' : `?${query}`}`;
}
