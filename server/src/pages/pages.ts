import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AdministrableStorage, type AuthorizationServer, pathOf, preferencesOf } from '@grantd/core';
import { addressUnit } from '@grantd/core/node';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { rpIdOf } from '../config/acr.ts';
import { clientAddress, networkOf } from '../config/client_address.ts';
import type { Settings } from '../config/options.ts';
import { actingAs } from '../data/acting.ts';
import { AnsweredRequests } from '../data/answered_requests.ts';
import { clientAccess } from '../data/groups.ts';
import { askStorage } from '../data/tables.ts';
import type { Directory } from '../directory/contract.ts';
import type { Instance } from '../instance/instance.ts';
import type { RequestLog } from '../log/log.ts';
import { Administrators } from '../people/administrators.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { DirectorySignIn } from '../people/directory.ts';
import { AccessEnding } from '../people/groups.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { Passkeys } from '../people/passkeys.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import { PasswordRules } from '../people/passwords.ts';
import { PersonRemoval } from '../people/removal.ts';
import { SecondFactors } from '../people/second_factors.ts';
import { SelfService } from '../people/self_service.ts';
import { type NotifyClients, SessionEnding } from '../people/sessions.ts';
import { AttemptLimits, failureRecorder } from '../people/sign_in.ts';
import type { Upstream } from '../people/upstream.ts';
import { waysOf } from '../people/ways_to_sign_in.ts';
import { showApplications, submitApplications } from './account_applications.ts';
import { showData, submitData } from './account_data.ts';
import { showEmail, submitEmail } from './account_email.ts';
import { showFactors, submitFactors } from './account_factors.ts';
import { showAccount, submitAccount } from './account_overview.ts';
import { showSecurity, submitSecurity } from './account_security.ts';
import { showSessions, submitSessions } from './account_sessions.ts';
import { answerOnce, type FormAnswer, sentForm } from './answered_forms.ts';
import { authorizePage } from './authorization.ts';
import type { OperatorShown } from './brand.ts';
import { BrowserSessions, userAgentOf } from './browser_sessions.ts';
import {
  Cookies,
  FormTokens,
  HalfSignIns,
  KnownBrowsers,
  OpenedLink,
  PendingRequests,
  SealedValues,
} from './browser_state.ts';
import { showChoice, submitChoice } from './choose_account_page.ts';
import { showConsent, submitConsent } from './consent_page.ts';
import { showDenied, submitDenied } from './denied_page.ts';
import { answerError, refuseMethod, renderProblem } from './error_page.ts';
import { showForgot, showSignUp, submitForgot, submitSignUp } from './forgot_page.ts';
import { showHome } from './home_page.ts';
import { rememberLanguage } from './layout.ts';
import { showLink, submitLink } from './link_page.ts';
import { showLogin, submitLogin } from './login_page.ts';
import { showFont, showLogo } from './logo_page.ts';
import { Logos } from './logos.ts';
import { showLogout, submitLogout } from './logout_page.ts';
import { showMailbox } from './mailbox_page.ts';
import type { Operator } from './operator.ts';
import type { Decision, PageContext, PageEnvironment, PageParts } from './page_parts.ts';
import { readRequest, requestIdOf } from './page_parts.ts';
import { showSecond, submitSecond } from './second_page.ts';
import {
  receiveAnswer,
  receiveLogout,
  sentAnswer,
  showConnect,
  showSignedOut,
  submitConnect,
  submitProvider,
  submitUnlink,
} from './upstream_pages.ts';

type PageListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Surroundings {
  readonly settings: Settings;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  /** The operator of the server. */
  readonly operator: Operator;
  readonly notifyClients: NotifyClients;
  /** `undefined` if the server sends no emails. */
  readonly mail: PageParts['mail'];
  /** `undefined` if all users are local. */
  readonly directory: Directory | undefined;
  /** Adds the pages of the console; `undefined` if it is off. */
  readonly addConsole?: ((app: Hono<PageEnvironment>, parts: PageParts) => void) | undefined;
  /** Opens sign-in through identity providers; `undefined` if none is configured. */
  readonly openUpstream: ((parts: { readonly ending: SessionEnding }) => Upstream) | undefined;
}

/** The parts of an instance that pages use. */
type PageData = Pick<
  Instance,
  | 'issuer'
  | 'storage'
  | 'people'
  | 'groups'
  | 'ownPeople'
  | 'ownFactors'
  | 'sessions'
  | 'consents'
  | 'scopeTexts'
  | 'attempts'
  | 'apiRequests'
  | 'secret'
  | 'fetchDocument'
  | 'upstreamIdentities'
  | 'openWays'
>;

/** Creates the listener for all pages over one database. */
export function openPages(
  instance: PageData,
  {
    settings,
    server,
    requestLog,
    operator,
    notifyClients,
    mail,
    directory,
    addConsole,
    openUpstream,
  }: Surroundings,
): PageListener {
  const { issuer, people, sessions, consents, scopeTexts, attempts, fetchDocument } = instance;
  const storage = guardedStorage(instance);
  const secret = instance.secret();
  const cookies = new Cookies(issuer);
  const clock = Date.now;
  const basePath = new URL(issuer).pathname.replace(/\/$/, '');
  const ownStorage = actingAs('user', instance.storage);
  const sessionEnding = new SessionEnding({ sessions, storage: ownStorage, clock });
  const lifetimes = { idle: settings.sessionIdleLifetime, absolute: settings.sessionLifetime };
  const hasher = new PasswordHasher();
  const { ownPeople, ownFactors: factors } = instance;
  const rpId = rpIdOf(settings, issuer);
  const addressOf = clientAddress(settings.trustedProxies ?? []);
  const networkOfVisitor = (c: Context) => networkOf(addressOf((c as PageContext).env.incoming));
  const limits = new AttemptLimits(attempts, secret, clock);
  const { providers } = instance.openWays();
  const passwords = new OwnPasswords({ providers, identities: instance.upstreamIdentities });
  const recordFailure = failureRecorder({ sessions, clock, limits, storage: instance.storage });
  const partsOfPages: PageParts = {
    server,
    requestLog,
    notifyClients,
    cookies,
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
    operatorFont: operator.theme?.font,
    logos: new Logos({ fetchDocument, clock }),
    basePath,
    withdrawal: new ConsentWithdrawal({ consents, storage: ownStorage, clock }),
    browserSessions: new BrowserSessions({
      ...{ cookies, sessions, people, storage, lifetimes, clock },
      networkOf: networkOfVisitor,
      ending: sessionEnding,
    }),
    formTokens: new FormTokens(cookies, secret),
    decisions: new AnsweredRequests<Decision>({
      ...{ apiRequests: instance.apiRequests, secret, clock },
      use: 'answered_form',
    }),
    knownBrowsers: new KnownBrowsers(cookies, secret),
    pendingRequests: new PendingRequests(secret, clock),
    notices: new SealedValues(secret, 'notice'),
    signInParts: {
      people,
      storage,
      hasher,
      limits,
      passwords,
      directory:
        directory &&
        new DirectorySignIn({
          ...{ directory, people, clock, groups: instance.groups, clients: instance.storage.clients },
          access: new AccessEnding({ people, clock, groups: instance.groups, storage: instance.storage }),
        }),
    },
    factors,
    passkeys:
      rpId === undefined
        ? undefined
        : new Passkeys({
            ...{ issuer, rpId, rpName: operator.name ?? rpId, factors, secret, clock },
            storage: instance.storage,
          }),
    secondFactors: new SecondFactors({
      ...{ issuer, issuerName: operator.name ?? new URL(issuer).host, factors, attempts, secret, clock },
    }),
    halfSignIns: new HalfSignIns(cookies, secret, clock),
    signInPolicy: settings.signInPolicy,
    consoleSignInPolicy: settings.consoleSignInPolicy,
    recoveryHold: settings.recoveryHold,
    groups: instance.groups,
    clientAddress: addressOf,
    ownPeople,
    async recordFailure(c, { page, provider, sessionId, cause, ...failure }) {
      const { reason, subject, clientId } = failure;
      requestLog.pageEvent({
        ...{ type: 'sign_in_failed', page, requestId: requestIdOf(c), reason },
        ...(subject !== undefined && { subject }),
        ...(clientId !== undefined && { clientId }),
        ...(sessionId !== undefined && { sessionId }),
        ...(provider !== undefined && { provider }),
        ...(cause !== undefined && { cause }),
      });
      await recordFailure({
        ...{ ...failure, userAgent: userAgentOf(c), network: networkOfVisitor(c) },
        address: addressUnit(addressOf(c.env.incoming)),
      });
    },
    selfService: new SelfService({
      ...{ people: ownPeople, storage: ownStorage, ending: sessionEnding, hasher, passwords },
      queue: mail?.queue,
    }),
    removal: new PersonRemoval({
      ...{ people: ownPeople, consents, ending: sessionEnding, storage: ownStorage },
      clock,
    }),
    administrators:
      settings.adminGroup === undefined
        ? undefined
        : {
            of: new Administrators({ ...instance, group: settings.adminGroup }),
            access: new AccessEnding({
              ...{ people, clock, storage: ownStorage },
              groups: actingAs('user', instance.groups),
            }),
          },
    waysOf: (person) => waysOf(instance.openWays(), instance.upstreamIdentities, person),
    passwords,
    passwordRules: new PasswordRules(settings.passwordMinLength),
    mail,
    openedLink: new OpenedLink(cookies),
    isSignUpOpen: mail !== undefined && settings.signUp === 'open',
    signUpDomains: settings.signUpDomains,
    upstream: openUpstream && {
      upstream: openUpstream({ ending: sessionEnding }),
      cookies,
      values: new SealedValues(secret, 'upstream'),
    },
  };
  const formAnswers = new AnsweredRequests<FormAnswer>({
    ...{ apiRequests: instance.apiRequests, secret, clock },
    use: 'answered_form',
  });
  return listenerOver(partsOfPages, {
    answers: (sent) => answerOnce({ ...partsOfPages, formAnswers }, sent),
    hasMailbox: settings.demo && settings.smtpUrl === undefined,
    addConsole,
  });
}

function operatorShown(
  { name, color, logo, theme }: Operator,
  issuer: string,
  basePath: string,
): OperatorShown {
  return {
    name: name ?? new URL(issuer).host,
    ...(color !== undefined && { color }),
    ...(logo !== undefined && { logo: `${basePath}/logo` }),
    ...(theme !== undefined && {
      look: {
        schemes: theme.colors,
        radius: theme.radius,
        fontStack: theme.fontStack,
        fontUrl: theme.font && `${basePath}/font`,
        links: theme.links,
      },
    }),
  };
}

/** For programs that have a wrong URL. */
const NO_ENDPOINT = {
  error: 'invalid_request',
  error_description:
    'there is no endpoint at this path: compare it with the metadata, also the slash at its end',
};

/** Browsers ask for HTML. */
function prefersJson(accept: string | undefined): boolean {
  const weightOf = (type: string) => preferencesOf(accept).find(({ value }) => value === type)?.weight ?? 0;
  return weightOf('application/json') > weightOf('text/html');
}

interface Additions {
  /** Gives what is sent again the answer that it had. */
  readonly answers: (sent: Parameters<typeof answerOnce>[1]) => MiddlewareHandler<PageEnvironment>;
  /** Whether a page shows the emails, for the demo. */
  readonly hasMailbox: boolean;
  readonly addConsole: Surroundings['addConsole'];
}

/** Tells an operator why nothing is found if a proxy removes the path of the issuer. */
function outsideOf({ basePath, server }: PageParts, c: PageContext) {
  if (`${c.req.path}/`.startsWith(`${basePath}/`)) return {};
  const description =
    `All paths of this server begin with ${basePath}, because its issuer is ${server.issuer}. ` +
    'This request does not. Configure the proxy so that it does not remove the path.';
  return { detail: { description, requestId: requestIdOf(c) } };
}

function listenerOver(parts: PageParts, { answers, hasMailbox, addConsole }: Additions): PageListener {
  // Uses the path exactly as in the request, like the library: neither turns `/public/../account` into `/account`.
  const app = new Hono<PageEnvironment>({
    getPath: (_, { env }: { env?: PageEnvironment['Bindings'] } = {}) =>
      pathOf({ url: env?.incoming.url ?? '' }),
  });
  const at = (path: string) => `${parts.basePath}${path}`;
  const refuseForReading = refuseMethod(parts, 'GET, HEAD');
  const refuseForForms = refuseMethod(parts, 'GET, HEAD, POST');

  app.use(readRequest((c) => renderProblem(c, parts, { problem: 'too_large' }, 413)));
  app.use(rememberLanguage(parts));
  app.use(answers(sentForm(parts)));
  app.get(at('/'), showHome(parts)).all(refuseForReading);
  app.all(at('/authorize'), authorizePage(parts));
  app.get(at('/login'), showLogin(parts)).post(submitLogin(parts)).all(refuseForForms);
  app.get(at('/login/second'), showSecond(parts)).post(submitSecond(parts)).all(refuseForForms);
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
  app.get(at('/account/security'), showSecurity(parts)).post(submitSecurity(parts)).all(refuseForForms);
  app.get(at('/account/factors'), showFactors(parts)).post(submitFactors(parts)).all(refuseForForms);
  app.get(at('/account/data'), showData(parts)).post(submitData(parts)).all(refuseForForms);
  if (parts.mail !== undefined) {
    const { queue, links } = parts.mail;
    app
      .get(at('/account/email'), showEmail(parts, links))
      .post(submitEmail(parts, parts.mail))
      .all(refuseForForms);
    app.get(at('/forgot'), showForgot(parts)).post(submitForgot(parts, queue)).all(refuseForForms);
    app.get(at('/link'), showLink(parts, links)).post(submitLink(parts, links)).all(refuseForForms);
    if (parts.isSignUpOpen)
      app.get(at('/sign-up'), showSignUp(parts)).post(submitSignUp(parts, queue)).all(refuseForForms);
    if (hasMailbox) app.get(at('/demo/mailbox'), showMailbox(parts, queue)).all(refuseForReading);
  }
  const { upstream } = parts;
  if (upstream !== undefined) {
    const of = (path: string) => at(`/upstream/:provider/${path}`);
    app.post(of('sign_in'), submitProvider(parts, upstream)).all(refuseMethod(parts, 'POST'));
    app
      .get(of('callback'), answers(sentAnswer(upstream)), receiveAnswer(parts, upstream))
      .all(refuseForReading);
    app
      .get(of('connect'), showConnect(parts, upstream))
      .post(submitConnect(parts, upstream))
      .all(refuseForForms);
    app.get(of('signed_out'), showSignedOut(parts)).all(refuseForReading);
    app.post(of('unlink'), submitUnlink(parts, upstream)).all(refuseMethod(parts, 'POST'));
    app.post(of('backchannel_logout'), receiveLogout(parts, upstream)).all(refuseMethod(parts, 'POST'));
  }
  addConsole?.(app, parts);
  app.get(at('/logo'), showLogo(parts)).all(refuseForReading);
  app.get(at('/font'), showFont(parts)).all(refuseForReading);
  app.notFound((c) =>
    prefersJson(c.req.header('accept'))
      ? c.json(NO_ENDPOINT, 404)
      : renderProblem(c, parts, { problem: 'not_found', ...outsideOf(parts, c) }, 404),
  );
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
