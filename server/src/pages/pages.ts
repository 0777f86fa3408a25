// All pages: makes what the flows need over one database, and mounts the flows (ADR 157).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthorizationServer } from '@grantd/core';
import { getRequestListener } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { takesEmailCode } from '../access/client_access.ts';
import { rpIdOf } from '../config/acr.ts';
import { asksForPage } from '../config/client_address.ts';
import type { Settings } from '../config/options.ts';
import { tokenPolicy } from '../config/personal_token_options.ts';
import { AnsweredRequests } from '../data/answered_requests.ts';
import type { Person } from '../data/people.ts';
import { actingAs, askedStorage } from '../data/tables.ts';
import type { Directory } from '../directory/contract.ts';
import type { Instance } from '../instance/instance.ts';
import type { RequestLog } from '../log/log.ts';
import { Administrators } from '../people/administrators.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { DirectorySignIn } from '../people/directory.ts';
import type { EmailCodes } from '../people/email_codes.ts';
import { AccessEnding } from '../people/groups.ts';
import { costliestHashes } from '../people/imported_hashes.ts';
import type { LinkBook, MailQueue } from '../people/mailing.ts';
import { MissingSteps } from '../people/missing_steps.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { Passkeys } from '../people/passkeys.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import { PasswordRules } from '../people/passwords.ts';
import { OwnTokens } from '../people/personal_tokens.ts';
import { PersonRemoval } from '../people/removal.ts';
import { SecondFactors } from '../people/second_factors.ts';
import { SelfService } from '../people/self_service.ts';
import { SessionValidity } from '../people/session_validity.ts';
import { type NotifyClients, SessionEnding } from '../people/sessions.ts';
import { AttemptLimits, addressLookup, failureRecorder } from '../people/sign_in.ts';
import type { Upstream } from '../people/upstream.ts';
import { waysOf } from '../people/ways_to_sign_in.ts';
import { accountFlow } from './account/account.ts';
import { authorizeFlow } from './authorize/authorize.ts';
import {
  Cookies,
  HalfSignIns,
  KnownBrowsers,
  LanguageChoice,
  OpenedLink,
  RequestedCodes,
  SealedValues,
} from './browser/cookies.ts';
import {
  answerOnce,
  countAnswers,
  type FormAnswer,
  FormTokens,
  PerformedForms,
  sentForm,
} from './browser/forms.ts';
import { clientIdOf, leadOf, PendingPages, PendingRequests } from './browser/pending.ts';
import {
  exactPath,
  type PageContext,
  type PageEnvironment,
  readRequest,
  rememberLanguage,
  Visitors,
} from './browser/request.ts';
import { BrowserSessions } from './browser/sessions.ts';
import { consentFlow } from './consent/consent.ts';
import { deviceFlow } from './device/device.ts';
import type { OperatorShown } from './drawing/brand.ts';
import { Drawing } from './drawing/drawing.ts';
import { Logos } from './drawing/logos.ts';
import type { Operator } from './drawing/operator.ts';
import { homeFlow } from './home/home.ts';
import { logoutFlow } from './logout/logout.ts';
import { providersFlow } from './providers/providers.ts';
import { SignInsUnderWay } from './providers/under_way.ts';
import { recoveryFlow } from './recovery/recovery.ts';
import { signInFlow } from './sign_in/sign_in.ts';
import { AccountVisits } from './steps/account_visits.ts';
import { AuthorizationSteps } from './steps/authorization.ts';
import { type Flow, PageRoutes } from './steps/routes.ts';

type PageListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Surroundings {
  readonly settings: Settings;
  readonly server: AuthorizationServer;
  readonly requestLog: RequestLog;
  /** The operator of the server. */
  readonly operator: Operator;
  readonly notifyClients: NotifyClients;
  /** `undefined` if the server sends no emails. */
  readonly mail:
    | { readonly queue: MailQueue; readonly links: LinkBook; readonly codes: EmailCodes | undefined }
    | undefined;
  /** `undefined` if all users are local. */
  readonly directory: Directory | undefined;
  /** The pages of the console; `undefined` if it is off. */
  readonly consoleFlow?: ((needs: OfConsole) => Flow) | undefined;
  /** Whether the globals of this process are this server's, so that faster classes can replace them (ADR 198). */
  readonly ownsGlobals: boolean;
  /** Opens sign-in through identity providers; `undefined` if none is configured. */
  readonly openUpstream: ((parts: { readonly ending: SessionEnding }) => Upstream) | undefined;
}

/** What the console gets of the pages. */
interface OfConsole {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visitors: Visitors;
  readonly visits: AccountVisits;
  readonly missing: MissingSteps;
  readonly notices: SealedValues;
  readonly clock: () => number;
}

/** The parts of an instance that pages use. */
type PageData = Pick<
  Instance,
  | 'issuer'
  | 'storage'
  | 'actingUses'
  | 'personalTokens'
  | 'people'
  | 'groups'
  | 'ownPeople'
  | 'ownFactors'
  | 'factors'
  | 'sessions'
  | 'consents'
  | 'scopeTexts'
  | 'attempts'
  | 'sharedTime'
  | 'apiRequests'
  | 'secret'
  | 'fetchDocument'
  | 'upstreamIdentities'
  | 'openWays'
>;

/** Creates the listener for all pages over one database (ADR 157). */
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
    consoleFlow,
    ownsGlobals,
    openUpstream,
  }: Surroundings,
): PageListener {
  const { issuer, people, groups, sessions, consents, actingUses, scopeTexts, attempts, apiRequests } =
    instance;
  const { ownPeople, ownFactors: factors } = instance;
  const { now: sharedClock } = instance.sharedTime;
  const storage = askedStorage(instance.storage);
  const { clients } = storage;
  const secret = instance.secret();
  const clock = Date.now;
  const basePath = new URL(issuer).pathname.replace(/\/$/, '');

  // The rules.
  const ownStorage = actingAs('user', instance.storage);
  const sessionEnding = new SessionEnding({ sessions, storage: ownStorage, clock });
  const lifetimes = { idle: settings.sessionIdleLifetime, absolute: settings.sessionLifetime };
  const validity = new SessionValidity({ sessions, storage, lifetimes, clock });
  const hasher = new PasswordHasher(() => costliestHashes(people));
  const limits = new AttemptLimits(attempts, secret, sharedClock);
  const passwords = new OwnPasswords({
    providers: instance.openWays().providers,
    identities: instance.upstreamIdentities,
  });
  const passwordRules = new PasswordRules(settings.passwordMinLength);
  const rpId = rpIdOf(settings, issuer);
  const passkeys =
    rpId === undefined
      ? undefined
      : new Passkeys({
          ...{ issuer, rpId, rpName: operator.name ?? rpId, factors, secret, clock },
          storage: instance.storage,
        });
  const issuerName = operator.name ?? new URL(issuer).host;
  const secondFactors = new SecondFactors({ issuer, issuerName, factors, limits, secret, clock });
  const { signInPolicy, consoleSignInPolicy, recoveryHold, signUpDomains } = settings;
  const missing = new MissingSteps({
    ...{ passwords, groups, signInPolicy, consoleSignInPolicy, clock, factors: instance.factors },
    takesEmailCode: takesEmailCode(settings),
    hasPasskeys: passkeys !== undefined,
  });
  const signInParts = {
    ...{ people, storage, hasher, limits, passwords },
    // The directory decides which of its users an address belongs to.
    byAddress:
      settings.signInWithEmail && directory === undefined ? addressLookup(people, passwords) : undefined,
    directory:
      directory &&
      new DirectorySignIn({
        ...{ directory, people, clock, groups, clients: instance.storage.clients },
        access: new AccessEnding({ people, clock, groups, storage: instance.storage }),
      }),
  };
  const selfService = new SelfService({
    ...{ people: ownPeople, storage: ownStorage, ending: sessionEnding, hasher, passwords },
    queue: mail?.queue,
  });
  const policy = tokenPolicy(settings);
  const ownTokens =
    policy &&
    new OwnTokens({
      ...{
        issuer,
        policy,
        secret,
        clock,
        queue: mail?.queue,
        storage: ownStorage,
        personalTokens: instance.personalTokens,
      },
    });
  const isSignUpOpen = mail !== undefined && settings.signUp === 'open';
  const upstream = openUpstream?.({ ending: sessionEnding });
  const waysOfUser = (person: Person) => waysOf(instance.openWays(), instance.upstreamIdentities, person);

  // What a browser holds.
  const cookies = new Cookies(issuer);
  const formTokens = new FormTokens(cookies, secret);
  const knownBrowsers = new KnownBrowsers(cookies, secret);
  const notices = new SealedValues(secret, 'notice');
  const openedLink = new OpenedLink(cookies);
  const languageChoice = new LanguageChoice(cookies, clock);
  const visitors = new Visitors({
    ...{ knownBrowsers, requestLog },
    recordFailure: failureRecorder({ sessions, clock, limits, storage: instance.storage }),
  });
  const browserSessions = new BrowserSessions({
    ...{ cookies, sessions, validity, people, lifetimes, visitors, clock, ending: sessionEnding },
  });
  const requests = new PendingRequests(secret, clock);
  const pending = new PendingPages({ requests, formTokens, server, basePath });
  const answersOf = <Answer>() =>
    new AnsweredRequests<Answer>({ apiRequests, secret, clock: sharedClock, use: 'answered_form' });
  const formAnswers = answersOf<FormAnswer>();
  const countAnswer = countAnswers(clock);
  const performedForms = new PerformedForms({ formTokens, requestLog, answers: answersOf() });
  const answers = (sent: Parameters<typeof answerOnce>[1]) =>
    answerOnce({ cookies, visitors, requestLog, formAnswers, countAnswer, clock }, sent);

  // What draws, and the steps between pages.
  const shown = operatorShown(operator, issuer, basePath);
  const drawing = new Drawing({ operator: shown, languageChoice, clients, requestLog, basePath });
  const visits = new AccountVisits({
    ...{ browserSessions, formTokens, pending, missing, notices, requestLog, basePath, clock },
  });
  const authorization = new AuthorizationSteps({
    ...{ server, clients, consents, sessions, validity, missing, pending, drawing, requestLog, clock },
  });

  const pages = { drawing, formTokens, pending, browserSessions, requestLog, clock };
  const scopes = { scopeTexts, detailsTypes: new Map(Object.entries(settings.authorizationDetails ?? {})) };
  const providers =
    upstream &&
    providersFlow({
      ...{ ...pages, visits, authorization, missing, validity, knownBrowsers, visitors, signInParts },
      ...{ upstream, server, mail, notifyClients, answers },
      underWay: new SignInsUnderWay({
        ...{ cookies, clock, values: new SealedValues(secret, 'upstream') },
        takeState: (...state) => upstream.takeState(...state),
      }),
      waysOf: waysOfUser,
    });
  const signIn = signInFlow({
    ...{ ...pages, authorization, missing, visitors, knownBrowsers, signInParts, providers },
    ...{ factors, passkeys, secondFactors, notifyClients, isSignUpOpen },
    ...{ halfSignIns: new HalfSignIns(cookies, secret, clock), sendsMail: mail !== undefined },
    emailCode: mail?.codes && {
      ...{ emailCodes: mail.codes, queue: mail.queue, isFirst: settings.emailCode === 'first' },
      requestedCodes: new RequestedCodes(cookies, secret, clock),
      // Administrators get no codes. The page says it of the console, and of no name.
      isFor: (page) =>
        (settings.insecureEmailCodeForAdministrators || leadOf(page) !== 'toConsole') &&
        settings.emailCodeClients?.includes(clientIdOf(page) ?? '') !== false,
    },
  });
  const flows: readonly (Flow | undefined)[] = [
    homeFlow({
      ...{
        drawing,
        server,
        clients,
        operatorLogo: operator.logo,
        providerLogo: (id) => upstream?.byId(id)?.provider.logo,
        operatorFont: operator.theme?.font,
      },
      logos: new Logos({ fetchDocument: instance.fetchDocument, clock }),
      mailbox: settings.demo && settings.smtpUrl === undefined ? mail?.queue : undefined,
    }),
    authorizeFlow({ ...pages, authorization, showLogin: signIn.show }),
    consentFlow({ ...pages, ...scopes, authorization, clients }),
    signIn,
    server.device &&
      deviceFlow({ ...pages, devices: server.device, visits, visitors, authorization, limits }),
    logoutFlow({ ...pages, server, clients, providers, notifyClients }),
    accountFlow({
      ...{ ...pages, ...scopes, visits, missing, visitors, validity, sessions, sessionEnding },
      ...{
        consents,
        clients,
        grants: storage,
        actingUses,
        signInParts,
        factors,
        passkeys,
        secondFactors,
        recoveryHold,
      },
      ...{
        selfService,
        passwords,
        passwordRules,
        providers,
        notices,
        openedLink,
        mail,
        notifyClients,
        issuer,
      },
      ...{ performedForms, ownTokens },
      withdrawal: new ConsentWithdrawal({ consents, storage: ownStorage, clock }),
      removal: new PersonRemoval({
        ...{ people: ownPeople, consents, ending: sessionEnding, storage: ownStorage, clock },
      }),
      administrators:
        settings.adminGroup === undefined
          ? undefined
          : {
              of: new Administrators({ ...instance, group: settings.adminGroup }),
              access: new AccessEnding({
                ...{ people, clock, storage: ownStorage, groups: actingAs('user', groups) },
              }),
            },
      waysOf: waysOfUser,
    }),
    mail &&
      recoveryFlow({
        ...{ drawing, formTokens, visitors, knownBrowsers, ...mail, openedLink, ownPeople, selfService },
        ...{ passwords, passwordRules, signInParts, isSignUpOpen, signUpDomains, notifyClients, requestLog },
        performedForms,
      }),
    providers,
    consoleFlow?.({ drawing, formTokens, visitors, visits, missing, notices, clock }),
  ];
  return listenerOver(flows, {
    ...{ server, drawing, ownsGlobals },
    language: rememberLanguage(languageChoice),
    answers: answers(sentForm({ formTokens, pending })),
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

/** What all flows share. */
interface Shared extends Pick<Surroundings, 'ownsGlobals'> {
  readonly server: Pick<AuthorizationServer, 'issuer'>;
  readonly drawing: Drawing;
  /** Remembers the language that a user chooses on any page. */
  readonly language: MiddlewareHandler<PageEnvironment>;
  /** Gives a form that is sent again the answer that it had. */
  readonly answers: MiddlewareHandler<PageEnvironment>;
}

/** Tells an operator why nothing is found if a proxy removes the path of the issuer. */
function descriptionOutside({ drawing: { basePath }, server }: Shared, c: PageContext): string | undefined {
  if (`${c.req.path}/`.startsWith(`${basePath}/`)) return undefined;
  return (
    `All paths of this server begin with ${basePath}, because its issuer is ${server.issuer}. ` +
    'This request does not. Configure the proxy so that it does not remove the path.'
  );
}

/** Programs get JSON, browsers a page. */
function answerNotFound(shared: Shared, c: PageContext): Response | Promise<Response> {
  const description = descriptionOutside(shared, c);
  if (!asksForPage(c.req.header('accept')))
    return c.json({ ...NO_ENDPOINT, ...(description && { error_description: description }) }, 404);
  const detail = description === undefined ? {} : { detail: { description } };
  return shared.drawing.problem(c, { problem: 'not_found', ...detail }, 404);
}

/** Answers a request that has to wait, or whose body is too long, without asking the database. */
function refuse(drawing: Drawing, c: PageContext): Promise<Response> {
  const { secondsToWait } = c.env.incoming;
  if (secondsToWait === undefined) return drawing.problem(c, { problem: 'too_large' }, 413);
  c.header('retry-after', String(secondsToWait));
  return drawing.problem(c, { problem: 'too_many_requests', secondsToWait }, 429);
}

function listenerOver(flows: readonly (Flow | undefined)[], shared: Shared): PageListener {
  const { drawing, language, answers } = shared;
  const app = new Hono<PageEnvironment>({ getPath: exactPath });
  const routes = new PageRoutes(app, drawing);
  for (const flow of flows) flow?.mountFirst?.(routes);
  app.use(readRequest((c) => refuse(drawing, c)));
  app.use(language);
  app.use(answers);
  for (const flow of flows) flow?.mount(routes);
  app.notFound((c) => answerNotFound(shared, c));
  app.onError((error, c) => drawing.error(error, c));
  return getRequestListener(app.fetch, { overrideGlobalObjects: shared.ownsGlobals });
}
