import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  errorResponse,
  OAuthError,
  StorageFault,
} from '@grantd/core';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Settings } from '../config/options.ts';
import { askStorage } from '../instance/database/ask_storage.ts';
import type { Instance } from '../instance/instance.ts';
import type { RequestLog } from '../log/request_log.ts';
import { AttemptLimit } from '../people/attempt_limit.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import { authorizePage } from './authorize_page.ts';
import { BrowserSessions } from './browser_sessions.ts';
import { clientAddress } from './client_address.ts';
import { showConsent, submitConsent } from './consent_page.ts';
import { Cookies } from './cookies.ts';
import { FormTokens } from './form_tokens.ts';
import { renderPage } from './layout.ts';
import { readRequest, toResponse } from './library_http.ts';
import { showLogin, submitLogin } from './login_page.ts';
import { type PageContext, type PageEnvironment, type PageParts, requestIdOf } from './page_parts.ts';
import { PendingRequests } from './pending_requests.ts';
import { homeText, problemText } from './views.ts';

type PageListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The pages for people over one database: `/`, `/authorize`, `/login`, `/consent`, and one for errors. */
export function openPages(
  settings: Settings,
  instance: Instance,
  server: AuthorizationServer,
  requestLog: RequestLog,
): PageListener {
  const { issuer, people } = instance;
  const storage = principalStates(instance);
  const secret = instance.secret();
  const cookies = new Cookies(issuer);
  const lifetimeSeconds = settings.sessionLifetime;
  return listenerOver({
    server,
    requestLog,
    basePath: new URL(issuer).pathname.replace(/\/$/, ''),
    formTokens: new FormTokens(cookies, secret),
    pendingRequests: new PendingRequests(secret),
    sessions: new BrowserSessions({ cookies, secret, people, storage, lifetimeSeconds }),
    signInParts: { people, storage, hasher: new PasswordHasher(), limit: new AttemptLimit() },
    clientAddress: clientAddress(settings.trustedProxies ?? []),
  });
}

function listenerOver(parts: PageParts): PageListener {
  const app = new Hono<PageEnvironment>();
  const at = (path: string) => `${parts.basePath}${path}`;

  app.use(readRequest((c) => renderProblem(c, 'The request is too large.', 413)));
  app.get(at('/'), showHome(parts)).all(refuseMethod);
  app.all(at('/authorize'), authorizePage(parts));
  app.get(at('/login'), showLogin(parts)).post(submitLogin(parts)).all(refuseMethod);
  app.get(at('/consent'), showConsent(parts)).post(submitConsent(parts)).all(refuseMethod);
  app.notFound((c) => renderProblem(c, 'There is no page here.', 404));
  app.onError((error, c) => answerError(parts, error, c));
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** What a person sees who opens the issuer itself. */
function showHome({ server, basePath }: PageParts) {
  const metadata = `${basePath}/.well-known/openid-configuration`;
  return (c: PageContext) =>
    renderPage(c, {
      title: 'grantd is running',
      body: homeText(server.issuer, server.serves(metadata) ? metadata : undefined),
    });
}

/** A refusal goes back to the client where that is safe, and is a page elsewhere. */
function answerError({ requestLog }: PageParts, error: Error, c: PageContext): Response | Promise<Response> {
  const isOutage = error instanceof StorageFault;
  // The library has reported its own refusals and their causes.
  if (!(error instanceof OAuthError))
    requestLog.failure(requestIdOf(c), isOutage ? 'storage_unavailable' : 'unexpected', error);
  const answer = errorResponse(error);
  if (error instanceof OAuthError && error.redirectTo !== undefined) return toResponse(answer);
  const { 'content-type': _, ...headers } = answer.headers;
  const description =
    error instanceof OAuthError ? error.description : 'the server cannot answer at the moment';
  const title = 'This did not work';
  const status = answer.status as ContentfulStatusCode;
  return renderPage(c, { title, body: problemText(`${description}.`), status, headers });
}

/** RFC 9110 §15.5.6. */
function refuseMethod(c: PageContext): Promise<Response> {
  c.header('allow', 'GET, HEAD, POST');
  return renderProblem(c, 'This page cannot be used in that way.', 405);
}

function renderProblem(c: PageContext, text: string, status: ContentfulStatusCode): Promise<Response> {
  return renderPage(c, { title: 'This did not work', body: problemText(text), status });
}

/** What was done to people, asked past the library: an outage there is one here as well. */
function principalStates({ storage }: Instance): Pick<AdministrableStorage, 'getPrincipalState'> {
  return { getPrincipalState: (...of) => askStorage(() => storage.getPrincipalState(...of)) };
}
