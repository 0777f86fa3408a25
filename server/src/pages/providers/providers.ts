// Sign-in through identity providers: to the provider and back.
import type { MiddlewareHandler } from 'hono';
import { FEDERATED } from '../../access/acr.ts';
import type { Provider } from '../../config/providers.ts';
import { trimmed } from '../../data/names.ts';
import type { Person } from '../../data/people.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { SessionValidity } from '../../people/session_validity.ts';
import type { SignInParts } from '../../people/sign_in.ts';
import type { ConnectedProvider } from '../../people/upstream.ts';
import type { UpstreamUser } from '../../people/upstream_client.ts';
import type { KnownBrowsers } from '../browser/cookies.ts';
import type { FormTokens, OnceSent } from '../browser/forms.ts';
import { clientIdOf, isAgain, type PendingPage, type PendingRequest } from '../browser/pending.ts';
import {
  bodyOf,
  type PageContext,
  type PageEnvironment,
  PageProblem,
  requestIdOf,
} from '../browser/request.ts';
import { type BrowserSession, type HowSignedIn, signInName } from '../browser/sessions.ts';
import { type ProviderButton, providerName } from '../drawing/providers_shown.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import type { PageRoutes } from '../steps/routes.ts';
import {
  askToConnect,
  connect,
  type LinkNeeds,
  linkNotice,
  providersOfAccount,
  showConnect,
  submitConnect,
  submitUnlink,
  toPending,
} from './links.ts';
import { providerLogoutUrl, receiveLogout, showSignedOut } from './logout.ts';
import { ANSWER, type ProviderSignIn } from './under_way.ts';
import {
  answerProviderError,
  begin,
  connectedIn,
  type ProviderReason,
  refuse,
  urlOf,
} from './way_to_provider.ts';

export interface ProvidersNeeds extends LinkNeeds {
  readonly formTokens: FormTokens;
  readonly authorization: AuthorizationSteps;
  readonly missing: MissingSteps;
  readonly validity: SessionValidity;
  readonly knownBrowsers: KnownBrowsers;
  readonly signInParts: Pick<SignInParts, 'storage' | 'directory'>;
  /** Gives what is sent again the answer that it had. */
  readonly answers: (
    sent: (c: PageContext) => Promise<OnceSent | undefined>,
  ) => MiddlewareHandler<PageEnvironment>;
}

/** `/upstream/PROVIDER/…`: sign-in through identity providers, links of users, and logout in both directions. */
export function providersFlow(needs: ProvidersNeeds) {
  const { upstream } = needs;
  return {
    mount(routes: PageRoutes) {
      routes.post('/upstream/:provider/sign_in', submitProvider(needs));
      routes.before('/upstream/:provider/callback', needs.answers(sentAnswer(needs)));
      routes.form('/upstream/:provider/callback', receiveAnswer(needs), receivePostedAnswer(needs));
      routes.form('/upstream/:provider/connect', showConnect(needs), submitConnect(needs));
      routes.page('/upstream/:provider/signed_out', showSignedOut(needs));
      routes.post('/upstream/:provider/unlink', submitUnlink(needs));
      routes.post('/upstream/:provider/backchannel_logout', receiveLogout(needs));
    },
    /** Whether the sign-in page first asks only for the name. */
    isIdentifierFirst: upstream.hasDomains,
    offered: (c: PageContext, page: PendingPage) => offeredProviders(c, needs, page),
    beginAtHome: (c: PageContext, page: PendingPage, address: string) => beginAtHome(c, needs, page, address),
    ofAccount: (c: PageContext, session: BrowserSession) => providersOfAccount(c, needs, session),
    identitiesOf: (subject: string) => upstream.identities.ofSubject(subject),
    /** The provider at which the user of a session also signs out. */
    toLeave: async (sessionId: string) =>
      upstream.toSignOutOf(await upstream.identities.ofSession(sessionId)),
    logoutUrl: (c: PageContext, provider: ConnectedProvider, pending: PendingRequest) =>
      providerLogoutUrl(c, needs, provider, pending),
  };
}

/** The providers that a sign-in page offers. Only OpenID Connect can ask users to prove again who they are. */
function offeredProviders(
  c: PageContext,
  needs: ProvidersNeeds,
  page: PendingPage,
): readonly ProviderButton[] {
  const { language } = needs.drawing.setting(c, 'authorization' in page ? page.authorization.uiLocales : []);
  return needs.upstream.providers
    .filter((provider) => isOffered(provider, page))
    .map((provider) => ({
      id: provider.id,
      name: providerName(provider, language),
      kind: provider.kind,
      ...(provider.logo !== undefined && {
        logo: `${needs.drawing.basePath}/logo?provider=${provider.id}`,
      }),
      action: `${needs.drawing.basePath}/upstream/${provider.id}/sign_in?pending=${page.sealed}`,
    }));
}

function isAgainNeeded(page: PendingPage): boolean {
  return isAgain(page) || ('authorization' in page && page.authorization.maxAge !== undefined);
}

/** `POST /upstream/PROVIDER/sign_in`: sends the user to the provider. */
function submitProvider(needs: ProvidersNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const connected = connectedIn(c, needs);
    if (connected === undefined) return needs.drawing.problem(c, { problem: 'not_found' }, 404);
    const page = await needs.pending.open(c, 'login');
    const clientId = clientIdOf(page);
    await needs.formTokens.verified(c, { page: 'login', about: [page.sealed], clientId });
    return beginSignIn(c, needs, connected, page);
  };
}

/** Sends the user of a sign-in page to a provider. */
async function beginSignIn(
  c: PageContext,
  needs: ProvidersNeeds,
  connected: ConnectedProvider,
  page: PendingPage,
  loginHint?: string,
): Promise<Response> {
  if (!isOffered(connected.provider, page)) throw new PageProblem('login', 'form_foreign');
  const authorization = 'authorization' in page ? page.authorization : undefined;
  return begin(c, needs, connected, {
    pending: page.pending,
    again: isAgain(page),
    maxAge: authorization?.maxAge,
    loginHint: loginHint ?? authorization?.loginHint,
  });
}

/** Sends a user to the provider of their domain. @returns `undefined` if there is none */
async function beginAtHome(
  c: PageContext,
  needs: ProvidersNeeds,
  page: PendingPage,
  address: string,
): Promise<Response | undefined> {
  const connected = needs.upstream.ofAddress(address);
  if (connected === undefined || !isOffered(connected.provider, page)) return undefined;
  return beginSignIn(c, needs, connected, page, trimmed(address));
}

function isOffered({ protocol, kind }: Provider, page: PendingPage): boolean {
  return (protocol === 'openid' && kind !== 'apple') || !isAgainNeeded(page);
}

/** `GET /upstream/PROVIDER/callback`: the authorization response of the provider (RFC 6749 §4.1.2). */
function receiveAnswer(needs: ProvidersNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const connected = connectedIn(c, needs);
    if (connected === undefined) return needs.drawing.problem(c, { problem: 'not_found' }, 404);
    const { provider, client } = connected;
    const begun = await needs.underWay.take(c);
    if (begun === undefined || 'late' in begun)
      return refuse(c, needs, provider, 'provider_answer_foreign', begun?.late);
    let user: UpstreamUser;
    try {
      const callback = new URL(`${urlOf(needs, provider)}/callback`);
      callback.search = String(await needs.underWay.answerIn(c));
      user = await client.finish(callback, begun.request);
    } catch (error) {
      return answerProviderError(c, needs, provider, begun.pending, error);
    }
    return begun.sessionId === undefined
      ? signIn(c, needs, connected, begun, user)
      : connect(c, needs, connected, begun, user);
  };
}

/** Characters of the longest answer that fits into a URL, sealed. */
const MAX_POSTED_ANSWER = 4096;

/**
 * `POST /upstream/PROVIDER/callback`: the response as a form of the provider (OAuth 2.0 Form Post Response Mode), whose
 * site the browser’s cookies are not sent from. Comes back as `GET`, which they are sent with. Says nothing about the
 * browser, so another one cannot use it.
 */
function receivePostedAnswer(needs: ProvidersNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const connected = connectedIn(c, needs);
    if (connected === undefined) return needs.drawing.problem(c, { problem: 'not_found' }, 404);
    const { provider } = connected;
    if (provider.kind !== 'apple') {
      c.header('allow', 'GET, HEAD');
      return needs.drawing.problem(c, { problem: 'method_not_allowed' }, 405);
    }
    const sent = new URLSearchParams(bodyOf(c));
    const kept = new URLSearchParams();
    for (const name of ['state', 'code', 'error', 'iss', 'user']) {
      const value = sent.get(name);
      if (value !== null) kept.set(name, value);
    }
    if (String(kept).length > MAX_POSTED_ANSWER) kept.delete('user');
    if (String(kept).length > MAX_POSTED_ANSWER || !isForm(c))
      return refuse(c, needs, provider, 'provider_answer_foreign');
    const answer = await needs.underWay.sealAnswer(provider.id, kept);
    c.header('cache-control', 'no-store');
    c.header('referrer-policy', 'no-referrer');
    return c.redirect(`${needs.drawing.basePath}/upstream/${provider.id}/callback?${ANSWER}=${answer}`, 303);
  };
}

function isForm(c: PageContext): boolean {
  return (
    c.req.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ===
    'application/x-www-form-urlencoded'
  );
}

/** The answer of a provider. After a second press at the provider, it comes twice, with two codes. */
function sentAnswer({ underWay }: ProvidersNeeds) {
  return async (c: PageContext): Promise<OnceSent | undefined> => {
    const found = await underWay.find(c);
    return found && { browser: 'upstream', about: found.sealed, all: found.sealed };
  };
}

/** Signs in the user whom the provider names. */
async function signIn(
  c: PageContext,
  needs: ProvidersNeeds,
  connected: ConnectedProvider,
  { pending, request }: ProviderSignIn,
  user: UpstreamUser,
): Promise<Response> {
  const { provider } = connected;
  const { upstream } = needs;
  const page = await needs.pending.resume(c, 'upstream', pending, (await needs.pending.seal(pending)) ?? '');
  const { directory } = needs.signInParts;
  const admit = async (person: Person) => (await directory?.admit(person)) ?? { person };
  const resolved = await upstream.resolve(connected, user, {
    admit,
    // ADR 91: a link is a change of the account, for which the provider shows no more than a password.
    protects: async (owner) => {
      const signedIn = { person: owner, amr: [FEDERATED], signedInAtMs: needs.clock() };
      return (await needs.missing.ofChange(signedIn, 'links')) !== undefined;
    },
    noticeTo: (owner) => linkNotice(c, needs, owner, provider),
    isReserved: async (name) => (await needs.signInParts.directory?.hasName(name)) === true,
  });
  needs.mail?.queue.wake();
  if ('unlinked' in resolved)
    return askToConnect(c, needs, provider, pending, resolved.unlinked, user.missing);
  const { person, identity } = resolved;
  const refusal = await refusalOf(needs, page, person);
  const known = { subject: person.subject, clientId: clientIdOf(page) };
  if (refusal !== undefined) return refuse(c, needs, provider, refusal, pending, known);
  const admitted = await admit(person);
  if ('refused' in admitted) return refuse(c, needs, provider, admitted.refused, pending, known);
  const how = { amr: upstream.amrOf(connected, user), provedAtMs: user.provedAtMs };
  const isAsked = request.againSinceMs !== undefined;
  if (!isAsked && (await isTooOld(needs, page, admitted.person, how)))
    return begin(c, needs, connected, { pending, again: true });
  const begun = await needs.browserSessions.begin(c, admitted.person, {
    ...how,
    begun: (sessionId) => upstream.identities.noteSession(sessionId, identity.id, user.sid),
  });
  if (begun === undefined) return refuse(c, needs, provider, 'person_changed', pending, known);
  const { session, ended } = begun;
  await needs.knownBrowsers.recordUser(c, person.subject);
  needs.requestLog.pageEvent({
    ...{ type: 'signed_in', page: 'upstream', requestId: requestIdOf(c), provider: provider.id },
    ...{ subject: person.subject, sessionId: session.id },
    ...('authorization' in page && { clientId: page.authorization.client.id }),
    ...(user.missing && { cause: user.missing }),
  });
  void needs.notifyClients(ended);
  if (!('authorization' in page)) {
    // A change may need a further step here.
    const { pending } = page;
    return pending.change === undefined
      ? toPending(c, needs, pending)
      : needs.pending.redirect(c, 'login', pending);
  }
  return needs.authorization.proceed(
    c,
    { ...page, pending: { ...page.pending, signIn: signInName(session) } },
    session,
  );
}

/** Whether a sign-in at a provider is too old for a session, or for the factor that the user has to add next. */
async function isTooOld(
  needs: ProvidersNeeds,
  page: PendingPage,
  person: Person,
  { amr, provedAtMs: signedInAtMs }: Pick<HowSignedIn, 'amr' | 'provedAtMs'>,
): Promise<boolean> {
  if (signedInAtMs === undefined) return false;
  if (!(await needs.validity.canBeginWith(person.subject, signedInAtMs))) return true;
  if (!('authorization' in page) || needs.missing.isFresh({ signedInAtMs })) return false;
  return (await needs.missing.of(person, amr, page))?.step === 'enrol';
}

async function refusalOf(
  { authorization, signInParts }: ProvidersNeeds,
  page: PendingPage,
  { subject }: Person,
): Promise<ProviderReason | undefined> {
  const state = await signInParts.storage.getPrincipalState('subject', subject);
  if (state?.disabledAtMs !== undefined) return 'person_disabled';
  const isExpected = !('authorization' in page) || (await authorization.isExpected(page, subject));
  return isExpected ? undefined : 'person_not_expected';
}
