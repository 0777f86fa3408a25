import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdministrableStorage, type AuthorizationServer, pathOf } from '@grantd/core';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Settings } from '../config/options.ts';
import { clientAccess } from '../data/groups.ts';
import { askStorage } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import type { RequestLog } from '../log/log.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import { type NotifyClients, SessionEnding } from '../people/sessions.ts';
import { AttemptLimit } from '../people/sign_in.ts';
import { showApplications, submitApplications } from './account_applications.ts';
import { showAccount, submitAccount } from './account_overview.ts';
import { showSessions, submitSessions } from './account_sessions.ts';
import { authorizePage } from './authorization.ts';
import type { Brand } from './brand.ts';
import { BrowserSessions } from './browser_sessions.ts';
import { Cookies, FormTokens, KnownBrowsers, PendingRequests, SealedValues } from './browser_state.ts';
import { showChoice, submitChoice } from './choose_account_page.ts';
import { showConsent, submitConsent } from './consent_page.ts';
import { showDenied, submitDenied } from './denied_page.ts';
import { answerError, refuseMethod, renderProblem } from './error_page.ts';
import { showHome } from './home_page.ts';
import { showLogin, submitLogin } from './login_page.ts';
import { showLogo } from './logo_page.ts';
import { Logos } from './logos.ts';
import { showLogout, submitLogout } from './logout_page.ts';
import type { Operator } from './operator.ts';
import type { PageEnvironment, PageParts } from './page_parts.ts';
import { clientAddress, readRequest } from './page_parts.ts';

type PageListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Surroundings {
  readonly settings: Settings;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  /** The operator of the server. */
  readonly operator: Operator;
  readonly notifyClients: NotifyClients;
}

/** The parts of an instance that pages use. */
type PageData = Pick<
  Instance,
  | 'issuer'
  | 'storage'
  | 'people'
  | 'sessions'
  | 'consents'
  | 'scopeTexts'
  | 'attempts'
  | 'secret'
  | 'fetchDocument'
>;

/** Creates the listener for all pages over one database. */
export function openPages(
  instance: PageData,
  { settings, server, requestLog, operator, notifyClients }: Surroundings,
): PageListener {
  const { issuer, people, sessions, consents, scopeTexts, attempts, fetchDocument } = instance;
  const storage = guardedStorage(instance);
  const secret = instance.secret();
  const cookies = new Cookies(issuer);
  const clock = Date.now;
  const basePath = new URL(issuer).pathname.replace(/\/$/, '');
  const sessionEnding = new SessionEnding({ sessions, storage: instance.storage, clock });
  const lifetimes = { idle: settings.sessionIdleLifetime, absolute: settings.sessionLifetime };
  return listenerOver({
    server,
    requestLog,
    notifyClients,
    clock,
    sessions,
    sessionEnding,
    consents,
    scopeTexts,
    detailsTypes: new Map(Object.entries(settings.authorizationDetails ?? {})),
    clients: storage,
    mayUse: clientAccess(people),
    grants: storage,
    operator: operatorShown(operator, issuer, basePath),
    operatorLogo: operator.logo,
    logos: new Logos({ fetchDocument, clock }),
    basePath,
    withdrawal: new ConsentWithdrawal({ consents, storage: instance.storage, clock }),
    browserSessions: new BrowserSessions({
      ...{ cookies, sessions, people, storage, lifetimes, clock },
      ending: sessionEnding,
    }),
    formTokens: new FormTokens(cookies, secret),
    knownBrowsers: new KnownBrowsers(cookies, secret),
    pendingRequests: new PendingRequests(secret),
    notices: new SealedValues(secret, 'notice'),
    signInParts: {
      people,
      storage,
      hasher: new PasswordHasher(),
      limit: new AttemptLimit(attempts, secret, clock),
    },
    clientAddress: clientAddress(settings.trustedProxies ?? []),
  });
}

function operatorShown({ name, color, logo }: Operator, issuer: string, basePath: string): Brand {
  return {
    name: name ?? new URL(issuer).host,
    ...(color !== undefined && { color }),
    ...(logo !== undefined && { logo: `${basePath}/logo` }),
  };
}

function listenerOver(parts: PageParts): PageListener {
  // Uses the path exactly as in the request, like the library: neither turns `/public/../account` into `/account`.
  const app = new Hono<PageEnvironment>({
    getPath: (_, { env }: { env?: PageEnvironment['Bindings'] } = {}) =>
      pathOf({ url: env?.incoming.url ?? '' }),
  });
  const at = (path: string) => `${parts.basePath}${path}`;
  const refuseForReading = refuseMethod(parts, 'GET, HEAD');
  const refuseForForms = refuseMethod(parts, 'GET, HEAD, POST');

  app.use(readRequest((c) => renderProblem(c, parts, { problem: 'too_large' }, 413)));
  app.get(at('/'), showHome(parts)).all(refuseForReading);
  app.all(at('/authorize'), authorizePage(parts));
  app.get(at('/login'), showLogin(parts)).post(submitLogin(parts)).all(refuseForForms);
  app.get(at('/select'), showChoice(parts)).post(submitChoice(parts)).all(refuseForForms);
  app.get(at('/denied'), showDenied(parts)).post(submitDenied(parts)).all(refuseForForms);
  app.get(at('/consent'), showConsent(parts)).post(submitConsent(parts)).all(refuseForForms);
  app.get(at('/logout'), showLogout(parts)).post(submitLogout(parts)).all(refuseForForms);
  app.get(at('/account'), showAccount(parts)).post(submitAccount(parts)).all(refuseForForms);
  app.get(at('/account/sessions'), showSessions(parts)).post(submitSessions(parts)).all(refuseForForms);
  app
    .get(at('/account/applications'), showApplications(parts))
    .post(submitApplications(parts))
    .all(refuseForForms);
  app.get(at('/logo'), showLogo(parts)).all(refuseForReading);
  app.notFound((c) => renderProblem(c, parts, { problem: 'not_found' }, 404));
  app.onError((error, c) => answerError(parts, error, c));
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

/** Direct access to the library’s store. Its failures become storage faults, as in the library. */
function guardedStorage({
  storage,
}: PageData): Pick<AdministrableStorage, 'getPrincipalState' | 'grantsOf'> & PageParts['clients'] {
  return {
    get: (...of) => askStorage(() => storage.clients.get(...of)),
    getPrincipalState: (...of) => askStorage(() => storage.getPrincipalState(...of)),
    grantsOf: (...of) => askStorage(() => storage.grantsOf(...of)),
  };
}
