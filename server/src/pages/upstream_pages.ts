// Sign-in through identity providers: to the provider and back, links of users, and logout in both directions.
import { queryOf } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import type { Provider } from '../config/providers.ts';
import type { Notice } from '../data/mails.ts';
import type { Person } from '../data/people.ts';
import type { NewIdentity, UpstreamIdentity } from '../data/upstream_identities.ts';
import type { PageReason } from '../log/log.ts';
import { FEDERATED } from '../people/acr.ts';
import type { ConnectedProvider } from '../people/upstream.ts';
import type { UpstreamRequest, UpstreamUser } from '../people/upstream_client.ts';
import { factorNotice } from './account_factors.ts';
import { accountForm, requireChange } from './account_form.ts';
import { toAccount, toAccountPage } from './account_frame.ts';
import { proceed } from './authorization.ts';
import { type BrowserSession, type HowSignedIn, signInName } from './browser_sessions.ts';
import { type PendingAccount, type PendingRequest, pendingOf } from './browser_state.ts';
import { PageProblem, renderProblem } from './error_page.ts';
import { clientIdOf } from './finish_sign_in.ts';
import { pageSetting, renderPage } from './layout.ts';
import { isFresh, missingOf, missingOfChange } from './missing_step.ts';
import { bodyOf, type PageContext, type PageParts, requestIdOf, type UpstreamParts } from './page_parts.ts';
import { openPendingPage, type PendingPage, redirectToPage, verifiedForm } from './pending_page.ts';
import {
  type ProviderButton,
  type ProviderProblem,
  type ProvidersOfAccount,
  providerName,
  providerProblemPage,
} from './provider_page.ts';

const PROBLEMS = {
  provider_unavailable: { problem: 'unavailable', status: 503 },
  provider_denied: { problem: 'denied', status: 403 },
  provider_code_refused: { problem: 'invalid', status: 403 },
  provider_answer_invalid: { problem: 'invalid', status: 403 },
  provider_sign_in_old: { problem: 'invalid', status: 403 },
  provider_answer_foreign: { problem: 'foreign', status: 400 },
  provider_not_linked: { problem: 'not_linked', status: 403 },
  provider_linked_elsewhere: { problem: 'linked_elsewhere', status: 409 },
  person_disabled: { problem: 'disabled', status: 403 },
  directory_entry_missing: { problem: 'disabled', status: 403 },
  person_changed: { problem: 'invalid', status: 403 },
  person_not_expected: { problem: 'another_person', status: 403 },
} as const satisfies Partial<
  Record<PageReason, { readonly problem: ProviderProblem; readonly status: 400 | 403 | 409 | 503 }>
>;

type ProviderReason = keyof typeof PROBLEMS;

/** Seconds until a provider is asked again. */
const RETRY_AFTER_SECONDS = 10;

/** Time to sign in at the provider, in milliseconds. */
const MAX_FLOW_MS = 15 * 60 * 1000;

const FLOW_COOKIE = 'grantd_upstream_';
const LINK_COOKIE = 'grantd_connect';

/** Sign-ins that a browser has under way at the same time. */
const MAX_FLOWS = 3;

/** Browsers drop cookies of more than 4096 bytes. */
const MAX_COOKIE_LENGTH = 3900;

/** A sign-in at a provider that is under way. The browser has it, sealed. */
interface Flow {
  readonly provider: string;
  readonly request: UpstreamRequest;
  readonly pending: PendingRequest;
  /** The session whose user connects an account. Absent for a sign-in. */
  readonly sessionId?: string;
  readonly begunAtMs: number;
}

/** An identity that waits for its user to sign in here. */
interface Waiting {
  readonly identity: NewIdentity;
  readonly pending: PendingRequest;
  readonly atMs: number;
}

/** The providers that a sign-in page offers. Only OpenID Connect can ask users to prove again who they are. */
export function offeredProviders(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
): readonly ProviderButton[] | undefined {
  if (parts.upstream === undefined) return undefined;
  const { language } = pageSetting(c, parts, 'authorization' in page ? page.authorization.uiLocales : []);
  return parts.upstream.upstream.providers
    .filter((provider) => isOffered(provider, page))
    .map((provider) => ({
      id: provider.id,
      name: providerName(provider, language),
      action: `${parts.basePath}/upstream/${provider.id}/sign_in?pending=${page.sealed}`,
    }));
}

function isAgainNeeded(page: PendingPage): boolean {
  return isAgain(page) || ('authorization' in page && page.authorization.maxAge !== undefined);
}

/** Whether the user must prove again who they are, for an application or for a change of the account. */
export function isAgain(page: PendingPage): boolean {
  if (!('authorization' in page)) return page.pending.isFresh === true || page.pending.change !== undefined;
  const { prompt, maxAge } = page.authorization;
  return prompt.includes('login') || maxAge === 0;
}

/** `POST /upstream/PROVIDER/sign_in`: sends the user to the provider. */
export function submitProvider(parts: PageParts, of: UpstreamParts) {
  return async (c: PageContext): Promise<Response> => {
    const connected = of.upstream.byId(c.req.param('provider') ?? '');
    if (connected === undefined) return renderProblem(c, parts, { problem: 'not_found' }, 404);
    const page = await openPendingPage(c, parts, 'login');
    const clientId = 'authorization' in page ? page.authorization.client.id : undefined;
    await verifiedForm(c, parts, { page: 'login', about: [page.sealed], clientId });
    return beginSignIn(c, parts, connected, page);
  };
}

/** Sends the user of a sign-in page to a provider. */
export async function beginSignIn(
  c: PageContext,
  parts: PageParts,
  connected: ConnectedProvider,
  page: PendingPage,
  loginHint?: string,
): Promise<Response> {
  if (!isOffered(connected.provider, page)) throw new PageProblem('login', 'form_foreign');
  const authorization = 'authorization' in page ? page.authorization : undefined;
  return begin(c, parts, connected, {
    pending: page.pending,
    again: isAgain(page),
    maxAge: authorization?.maxAge,
    loginHint: loginHint ?? authorization?.loginHint,
  });
}

/** Whether the sign-in page first asks only for the name. */
export function isIdentifierFirst({ upstream }: PageParts): boolean {
  return upstream?.upstream.hasDomains === true;
}

/** Sends a user to the provider of their domain. @returns `undefined` if there is none */
export async function beginAtHome(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
  address: string,
): Promise<Response | undefined> {
  const connected = parts.upstream?.upstream.ofAddress(address);
  if (connected === undefined || !isOffered(connected.provider, page)) return undefined;
  return beginSignIn(c, parts, connected, page, address.trim());
}

function isOffered({ protocol }: Provider, page: PendingPage): boolean {
  return protocol === 'openid' || !isAgainNeeded(page);
}

interface Beginning extends Pick<Flow, 'pending' | 'sessionId'> {
  readonly again: boolean;
  readonly maxAge?: number | undefined;
  readonly loginHint?: string | undefined;
}

async function begin(
  c: PageContext,
  parts: PageParts,
  { provider, client }: ConnectedProvider,
  { pending, sessionId, again, maxAge, loginHint }: Beginning,
): Promise<Response> {
  const of = upstreamOf(parts);
  const redirectUri = `${urlOf(parts, provider)}/callback`;
  const { language } = pageSetting(c, parts);
  try {
    const { url, request } = await client.begin({
      ...{ redirectUri, language, again, loginHint },
      // No user can sign in within zero seconds. `prompt=login` asks for the same.
      ...(maxAge !== undefined && maxAge > 0 && { maxAge }),
    });
    const flow: Flow = {
      ...{ provider: provider.id, request, pending, begunAtMs: parts.clock() },
      ...(sessionId !== undefined && { sessionId }),
    };
    const sealed = await of.values.seal(flow);
    if (sealed.length > MAX_COOKIE_LENGTH) throw new PageProblem('upstream', 'request_too_long');
    for (const name of of.cookies.named(c, FLOW_COOKIE).slice(0, -(MAX_FLOWS - 1)))
      of.cookies.remove(c, name);
    of.cookies.set(c, cookieOf(request.state), sealed, MAX_FLOW_MS / 1000);
    return c.redirect(url.href, 303);
  } catch (error) {
    return answerProviderError(c, parts, provider, pending, error);
  }
}

/** `GET /upstream/PROVIDER/callback`: the authorization response of the provider (RFC 6749 §4.1.2). */
export function receiveAnswer(parts: PageParts, of: UpstreamParts) {
  return async (c: PageContext): Promise<Response> => {
    const connected = of.upstream.byId(c.req.param('provider') ?? '');
    if (connected === undefined) return renderProblem(c, parts, { problem: 'not_found' }, 404);
    const { provider, client } = connected;
    const flow = await takeFlow(c, parts, of);
    if (flow === undefined) return refuse(c, parts, provider, 'provider_answer_foreign');
    let user: UpstreamUser;
    try {
      const callback = new URL(`${urlOf(parts, provider)}/callback`);
      callback.search = queryOf(c.get('plain'));
      user = await client.finish(callback, flow.request);
    } catch (error) {
      return answerProviderError(c, parts, provider, flow.pending, error);
    }
    return flow.sessionId === undefined
      ? signIn(c, parts, connected, flow, user)
      : connect(c, parts, connected, flow, user);
  };
}

/** The flow that this browser began, and that the request answers. */
async function flowIn(
  c: PageContext,
  { cookies, values }: UpstreamParts,
): Promise<{ readonly flow: Flow; readonly sealed: string } | undefined> {
  const state = c.req.query('state') ?? '';
  if (!/^[\w-]{16,128}$/.test(state)) return undefined;
  const sealed = cookies.get(c, cookieOf(state));
  const flow = sealed === undefined ? undefined : flowOf(await values.open(sealed));
  if (sealed === undefined || flow?.request.state !== state) return undefined;
  return flow.provider === c.req.param('provider') ? { flow, sealed } : undefined;
}

/** The answer of a provider. After a second press at the provider, it comes twice, with two codes. */
export function sentAnswer(of: UpstreamParts) {
  return async (c: PageContext): Promise<readonly string[] | undefined> => {
    const begun = await flowIn(c, of);
    return begun && ['upstream', begun.sealed];
  };
}

/** Takes a flow. Each can be used once, also by concurrent requests. */
async function takeFlow(c: PageContext, { clock }: PageParts, of: UpstreamParts): Promise<Flow | undefined> {
  const { flow } = (await flowIn(c, of)) ?? {};
  if (flow === undefined) return undefined;
  const { state } = flow.request;
  of.cookies.remove(c, cookieOf(state));
  const endsAtMs = flow.begunAtMs + MAX_FLOW_MS;
  if (endsAtMs <= clock()) return undefined;
  return (await of.upstream.takeState(state, Math.ceil(endsAtMs / 1000))) ? flow : undefined;
}

/** Signs in the user whom the provider names. */
async function signIn(
  c: PageContext,
  parts: PageParts,
  connected: ConnectedProvider,
  { pending, request }: Flow,
  user: UpstreamUser,
): Promise<Response> {
  const { provider } = connected;
  const { upstream } = upstreamOf(parts);
  const page = await openedAgain(c, parts, pending);
  const { directory } = parts.signInParts;
  const admit = async (person: Person) => (await directory?.admit(person)) ?? { person };
  const resolved = await upstream.resolve(connected, user, {
    admit,
    // ADR 146: a link is a change of the account, for which the provider shows no more than a password.
    protects: async (owner) => {
      const signedIn = { person: owner, amr: [FEDERATED], signedInAtMs: parts.clock() };
      return (await missingOfChange(parts, signedIn, 'links')) !== undefined;
    },
    noticeTo: (owner) => linkNotice(c, parts, owner, provider),
    isReserved: async (name) => (await parts.signInParts.directory?.hasName(name)) === true,
  });
  parts.mail?.queue.wake();
  if ('unlinked' in resolved)
    return askToConnect(c, parts, provider, pending, resolved.unlinked, user.missing);
  const { person, identity } = resolved;
  const refusal = await refusalOf(parts, page, person);
  const known = { subject: person.subject, clientId: clientIdOf(page) };
  if (refusal !== undefined) return refuse(c, parts, provider, refusal, pending, known);
  const admitted = await admit(person);
  if ('refused' in admitted) return refuse(c, parts, provider, admitted.refused, pending, known);
  const how = { amr: upstream.amrOf(connected, user), provedAtMs: user.provedAtMs };
  const isAsked = request.againSinceMs !== undefined;
  if (!isAsked && (await isTooOld(parts, page, admitted.person, how)))
    return begin(c, parts, connected, { pending, again: true });
  const begun = await parts.browserSessions.begin(c, admitted.person, {
    ...how,
    begun: (sessionId) => upstream.identities.noteSession(sessionId, identity.id, user.sid),
  });
  if (begun === undefined) return refuse(c, parts, provider, 'person_changed', pending, known);
  const { session, ended } = begun;
  await parts.knownBrowsers.recordUser(c, person.subject);
  parts.requestLog.pageEvent({
    ...{ type: 'signed_in', page: 'upstream', requestId: requestIdOf(c), provider: provider.id },
    ...{ subject: person.subject, sessionId: session.id },
    ...('authorization' in page && { clientId: page.authorization.client.id }),
    ...(user.missing && { cause: user.missing }),
  });
  void parts.notifyClients(ended);
  if (!('authorization' in page)) {
    // A change may need a further step here.
    const { pending } = page;
    return pending.change === undefined
      ? toPending(c, parts, pending)
      : redirectToPage(c, parts, 'login', pending);
  }
  return proceed(c, parts, { ...page, pending: { ...page.pending, signIn: signInName(session) } }, session);
}

/** Whether a sign-in at a provider is too old for a session, or for the factor that the user has to add next. */
async function isTooOld(
  parts: PageParts,
  page: PendingPage,
  person: Person,
  { amr, provedAtMs: signedInAtMs }: Pick<HowSignedIn, 'amr' | 'provedAtMs'>,
): Promise<boolean> {
  if (signedInAtMs === undefined) return false;
  if (!(await parts.browserSessions.canBeginWith(person.subject, signedInAtMs))) return true;
  if (!('authorization' in page) || isFresh(parts, { signedInAtMs })) return false;
  return (await missingOf(parts, person, amr, page))?.step === 'enrol';
}

/** @throws {PageProblem} the request can no longer be continued */
async function openedAgain(c: PageContext, parts: PageParts, pending: PendingRequest): Promise<PendingPage> {
  const sealed = (await parts.pendingRequests.seal(pending)) ?? '';
  if (pending.kind === 'logout') throw new PageProblem('upstream', 'request_expired');
  if (pending.kind === 'account') return { pending, sealed };
  const authorization = await parts.server.authorization.resume(pending.parameters, requestIdOf(c));
  return { pending, authorization, sealed };
}

async function refusalOf(
  { server, signInParts }: PageParts,
  page: PendingPage,
  { subject }: Person,
): Promise<ProviderReason | undefined> {
  const state = await signInParts.storage.getPrincipalState('subject', subject);
  if (state?.disabledAtMs !== undefined) return 'person_disabled';
  if (!('authorization' in page)) return undefined;
  // OpenID Connect Core §3.1.2.2: never answer about a user other than the requested one.
  const isExpected = await server.authorization.isExpectedUser(page.authorization, subject);
  return isExpected ? undefined : 'person_not_expected';
}

/** No user is linked with the identity. Its owner can sign in here, and connect the two. */
async function askToConnect(
  c: PageContext,
  parts: PageParts,
  provider: Provider,
  pending: PendingRequest,
  identity: NewIdentity,
  cause: Error | undefined,
): Promise<Response> {
  const { cookies, values } = upstreamOf(parts);
  const waiting: Waiting = { identity, pending, atMs: parts.clock() };
  const sealed = await values.seal(waiting);
  const canWait = sealed.length <= MAX_COOKIE_LENGTH;
  if (canWait) cookies.set(c, LINK_COOKIE, sealed, MAX_FLOW_MS / 1000);
  return refuse(c, parts, provider, 'provider_not_linked', pending, {
    ...{ label: identity.label, cause },
    ...(canWait && { connect: `${parts.basePath}/upstream/${provider.id}/connect` }),
  });
}

/** `GET /upstream/PROVIDER/connect`: leads through a sign-in here to the question on the account page. */
export function showConnect(parts: PageParts, of: UpstreamParts) {
  return async (c: PageContext): Promise<Response> => {
    const connected = of.upstream.byId(c.req.param('provider') ?? '');
    if (connected === undefined) return renderProblem(c, parts, { problem: 'not_found' }, 404);
    const waiting = await waitingIdentity(c, parts);
    if (waiting === undefined) return refuse(c, parts, connected.provider, 'provider_answer_foreign');
    const session = await parts.browserSessions.current(c);
    if (session !== undefined && session.signedInAtMs >= waiting.atMs)
      return toPending(c, parts, securityPage(parts));
    return toNewSignIn(c, parts, { page: 'security', change: 'links' });
  };
}

/** A new sign-in, also for a signed-in user, and then an account page. */
export async function toNewSignIn(
  c: PageContext,
  parts: PageParts,
  wanted: Pick<PendingAccount, 'page' | 'below' | 'change'>,
): Promise<Response> {
  const pending = { ...wanted, kind: 'account', begunAtMs: parts.clock(), isFresh: true } as const;
  const sealed = (await parts.pendingRequests.seal(pending)) ?? '';
  return c.redirect(`${parts.basePath}/login?pending=${sealed}&other`, 303);
}

function securityPage({ clock }: PageParts): PendingRequest {
  return { kind: 'account', page: 'security', begunAtMs: clock() };
}

async function waitingIdentity(c: PageContext, parts: PageParts): Promise<Waiting | undefined> {
  const { cookies, values } = upstreamOf(parts);
  const sealed = cookies.get(c, LINK_COOKIE);
  const waiting = sealed === undefined ? undefined : waitingOf(await values.open(sealed));
  return waiting !== undefined && waiting.atMs + MAX_FLOW_MS > parts.clock() ? waiting : undefined;
}

/**
 * `POST /upstream/PROVIDER/connect`: links the waiting identity with the user who has signed in since, or sends a user
 * to the provider to link an identity.
 */
export function submitConnect(parts: PageParts, of: UpstreamParts) {
  const changed = (form: URLSearchParams) => (form.get('decision') === 'no' ? undefined : 'links');
  return accountForm(parts, 'security', changed, async (c, session, form) => {
    const connected = of.upstream.byId(c.req.param('provider') ?? '');
    if (connected === undefined) return renderProblem(c, parts, { problem: 'not_found' }, 404);
    const { provider } = connected;
    if (form.get('decision') === 'start') {
      const pending = securityPage(parts);
      return begin(c, parts, connected, { pending, sessionId: session.id, again: false });
    }
    const waiting = await waitingIdentity(c, parts);
    if (waiting === undefined || waiting.identity.provider !== provider.id)
      return refuse(c, parts, provider, 'provider_answer_foreign');
    if (session.signedInAtMs < waiting.atMs)
      return toNewSignIn(c, parts, { page: 'security', change: 'links' });
    of.cookies.remove(c, LINK_COOKIE);
    if (form.get('decision') === 'yes') {
      const linked = await link(c, parts, provider, session, waiting.identity);
      if (linked === undefined) return refuse(c, parts, provider, 'provider_linked_elsewhere');
    }
    return toPending(c, parts, waiting.pending);
  });
}

/** Links the identity that the user has shown at the provider with the user of this session. */
async function connect(
  c: PageContext,
  parts: PageParts,
  connected: ConnectedProvider,
  { sessionId, pending, begunAtMs }: Flow,
  user: UpstreamUser,
): Promise<Response> {
  const { provider } = connected;
  const session = await parts.browserSessions.current(c);
  if (session === undefined || session.id !== sessionId)
    return refuse(c, parts, provider, 'provider_answer_foreign', pending);
  // The user may have added a factor meanwhile. The time at the provider does not count.
  const owed = await requireChange(c, parts, session, 'links', { page: 'security', atMs: begunAtMs });
  if (owed !== undefined) return owed;
  const identity = upstreamOf(parts).upstream.identityOf(connected, user);
  const linked = await link(c, parts, provider, session, identity);
  if (linked === undefined) return refuse(c, parts, provider, 'provider_linked_elsewhere', pending);
  return toAccount(c, parts, session, 'security', { done: 'provider_linked' });
}

/** @returns `undefined` if another user is linked with the identity */
async function link(
  c: PageContext,
  parts: PageParts,
  provider: Provider,
  { id, person }: BrowserSession,
  identity: NewIdentity,
): Promise<UpstreamIdentity | undefined> {
  const { identities } = upstreamOf(parts).upstream;
  const { subject } = person;
  const notice = await linkNotice(c, parts, person, provider);
  const linked = await identities.link(identity, subject, parts.clock(), notice);
  if (linked === undefined) {
    const present = await identities.find(identity);
    return present?.subject === subject ? present : undefined;
  }
  parts.mail?.queue.wake();
  parts.requestLog.pageEvent({
    ...{ type: 'provider_linked', page: 'account', requestId: requestIdOf(c), provider: provider.id },
    ...{ subject: person.subject, sessionId: id },
  });
  return linked;
}

/** The email about a new link. */
function linkNotice(
  c: PageContext,
  parts: PageParts,
  person: Person,
  provider: Provider,
): Promise<Notice | undefined> {
  const name = providerName(provider, pageSetting(c, parts).language);
  return factorNotice(c, parts, person, { change: 'provider_linked', name });
}

/** `POST /upstream/PROVIDER/unlink`: removes a link of the user. */
export function submitUnlink(parts: PageParts, of: UpstreamParts) {
  return accountForm(parts, 'security', 'links', async (c, session, form) => {
    const id = form.get('link') ?? '';
    const { subject } = session.person;
    const provider = c.req.param('provider') ?? '';
    const event = { page: 'account', requestId: requestIdOf(c), provider, subject } as const;
    const isOwn = /^[\w-]+$/.test(id);
    const { person } = session;
    const connected = of.upstream.byId(provider);
    const name = connected ? providerName(connected.provider, pageSetting(c, parts).language) : provider;
    const notice = await factorNotice(c, parts, person, { change: 'provider_unlinked', name });
    const ways = await parts.waysOf(person);
    const ends = isOwn ? await of.upstream.unlink(id, person, session.id, ways, notice) : undefined;
    if (ends === undefined) {
      const isThere = (await of.upstream.identities.ofSubject(subject)).some((one) => one.id === id);
      if (!isThere) return toAccount(c, parts, session, 'security', { done: 'nothing_to_end' });
      parts.requestLog.pageEvent({ ...event, type: 'refused', reason: 'provider_needed' });
      return c.redirect(`${parts.basePath}/account/security?needed`, 303);
    }
    parts.requestLog.pageEvent({ ...event, type: 'provider_unlinked', sessionId: session.id });
    parts.mail?.queue.wake();
    void parts.notifyClients(ends);
    return toAccount(c, parts, session, 'security', { done: 'provider_unlinked' });
  });
}

/** What the page for security shows of providers; `undefined` without providers. */
export async function providersOfAccount(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
): Promise<ProvidersOfAccount | undefined> {
  if (parts.upstream === undefined) return undefined;
  const { upstream } = parts.upstream;
  const { language } = pageSetting(c, parts);
  const nameOf = (id: string) => {
    const connected = upstream.byId(id);
    return connected === undefined ? id : providerName(connected.provider, language);
  };
  const linked = await upstream.identities.ofSubject(session.person.subject);
  const waiting = await waitingIdentity(c, parts);
  const isWaiting = waiting !== undefined && session.signedInAtMs >= waiting.atMs;
  return {
    base: `${parts.basePath}/upstream`,
    linked: linked.map(({ id, provider, label, linkedAtMs }) => ({
      ...{ id, provider, label, linkedAtMs, name: nameOf(provider) },
    })),
    others: upstream.providers
      .filter(({ id }) => !linked.some(({ provider }) => provider === id))
      .map(({ id }) => ({ id, name: nameOf(id) })),
    ...(isWaiting && {
      waiting: {
        id: waiting.identity.provider,
        name: nameOf(waiting.identity.provider),
        label: waiting.identity.label,
      },
    }),
    nowMs: parts.clock(),
    ...(c.req.query('needed') !== undefined && { problem: 'provider_needed' as const }),
  };
}

/** `POST /upstream/PROVIDER/backchannel_logout` (Back-Channel Logout §2.5, §2.8). */
export function receiveLogout(parts: PageParts, of: UpstreamParts) {
  return async (c: PageContext): Promise<Response> => {
    c.header('cache-control', 'no-store');
    const connected = of.upstream.byId(c.req.param('provider') ?? '');
    if (connected === undefined) return c.json({ error: 'invalid_request' }, 404);
    const provider = connected.provider.id;
    const event = { page: 'upstream', requestId: requestIdOf(c), provider } as const;
    const tokens = new URLSearchParams(bodyOf(c)).getAll('logout_token');
    try {
      const [token] = tokens;
      const ends = token && tokens.length === 1 ? await of.upstream.logOut(connected, token) : 'used';
      if (ends === 'pending') return refuseForNow(c);
      if (ends === 'used') {
        parts.requestLog.pageEvent({ ...event, type: 'refused', reason: 'provider_answer_foreign' });
        return c.json({ error: 'invalid_request' }, 400);
      }
      for (const { id, subject } of ends)
        parts.requestLog.pageEvent({ ...event, type: 'upstream_logout', subject, sessionId: id });
      void parts.notifyClients(ends);
      return c.body(null, 200);
    } catch (cause) {
      const failure = of.upstream.failureOf(cause);
      if (failure === undefined) throw cause;
      parts.requestLog.pageEvent({ ...event, type: 'refused', ...failure, cause });
      if (failure.reason !== 'provider_unavailable') return c.json({ error: 'invalid_request' }, 400);
      return refuseForNow(c);
    }
  };
}

/** Lets the provider send its logout token again. */
function refuseForNow(c: PageContext): Response {
  c.header('retry-after', String(RETRY_AFTER_SECONDS));
  return c.json({ error: 'temporarily_unavailable' }, 503);
}

/** The provider at which the user of a session also signs out. */
export async function providerToLeave(
  { upstream }: PageParts,
  sessionId: string,
): Promise<ConnectedProvider | undefined> {
  if (upstream === undefined) return undefined;
  return upstream.upstream.toSignOutOf(await upstream.upstream.identities.ofSession(sessionId));
}

/** Longer URLs are not safe with every provider. */
const MAX_STATE_LENGTH = 2000;

/**
 * The URL at which the user signs out of the provider, and then comes back (RP-Initiated Logout §2).
 * @returns `undefined` if the provider has none or does not answer. The user is signed out here in any case.
 */
export async function providerLogoutUrl(
  c: PageContext,
  parts: PageParts,
  { provider, client }: ConnectedProvider,
  pending: PendingRequest,
): Promise<string | undefined> {
  const state = await parts.pendingRequests.seal(pending);
  if (state === undefined || state.length > MAX_STATE_LENGTH) return undefined;
  try {
    const uri = `${urlOf(parts, provider)}/signed_out`;
    const url = await client.logoutUrl({ post_logout_redirect_uri: uri, state });
    return url?.href;
  } catch (cause) {
    const failure = upstreamOf(parts).upstream.failureOf(cause);
    if (failure === undefined) throw cause;
    const event = { page: 'upstream', requestId: requestIdOf(c), provider: provider.id } as const;
    parts.requestLog.pageEvent({ ...event, type: 'refused', ...failure, cause });
    return undefined;
  }
}

/** `GET /upstream/PROVIDER/signed_out`: back from the provider, on the way that the logout took before. */
export function showSignedOut(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const state = c.req.query('state') ?? '';
    const pending = await parts.pendingRequests.open(state);
    if (pending?.kind !== 'logout') return c.redirect(`${parts.basePath}/logout`, 303);
    return c.redirect(`${parts.basePath}/logout?pending=${state}`, 303);
  };
}

/** Continues with what the user wanted to do. */
async function toPending(c: PageContext, parts: PageParts, pending: PendingRequest): Promise<Response> {
  if (pending.kind === 'account') return toAccountPage(c, parts, pending);
  return redirectToPage(c, parts, pending.kind === 'logout' ? 'logout' : 'authorization', pending);
}

/** @throws {unknown} every error that is not about the provider */
async function answerProviderError(
  c: PageContext,
  parts: PageParts,
  provider: Provider,
  pending: PendingRequest,
  error: unknown,
): Promise<Response> {
  const failure = upstreamOf(parts).upstream.failureOf(error);
  if (failure === undefined) throw error;
  return refuse(c, parts, provider, failure.reason, pending, { cause: error });
}

interface RefusalDetails {
  readonly label?: string;
  readonly connect?: string;
  readonly cause?: unknown;
  /** The user and the client, if known. */
  readonly subject?: string;
  readonly clientId?: string | undefined;
}

/** Shows why the user is not signed in, with a way back to where the user came from. */
async function refuse(
  c: PageContext,
  parts: PageParts,
  provider: Provider,
  reason: ProviderReason,
  pending: PendingRequest = securityPage(parts),
  { cause, subject, clientId, ...shown }: RefusalDetails = {},
): Promise<Response> {
  const { problem, status } = PROBLEMS[reason];
  const requestId = requestIdOf(c);
  const about = { page: 'upstream', reason, subject, clientId, provider: provider.id } as const;
  await parts.recordFailure(c, { ...about, cause, isCounted: false });
  const setting = pageSetting(c, parts);
  const sealed = await parts.pendingRequests.seal(pending);
  const view = {
    ...{ problem, requestId, provider: providerName(provider, setting.language), ...shown },
    back:
      sealed === undefined || pending.kind === 'logout'
        ? `${parts.basePath}/account`
        : `${parts.basePath}/login?pending=${sealed}`,
  };
  return renderPage(c, {
    ...providerProblemPage(view, setting),
    status,
    ...(status === 503 && { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } }),
  });
}

function upstreamOf({ upstream }: PageParts): UpstreamParts {
  if (upstream === undefined) throw new TypeError('no provider is configured');
  return upstream;
}

function urlOf({ server }: PageParts, { id }: Provider): string {
  return `${server.issuer.replace(/\/$/, '')}/upstream/${id}`;
}

/** Part of the state is enough to tell the flows of a browser apart. */
function cookieOf(state: string): string {
  return `${FLOW_COOKIE}${state.slice(0, 16)}`;
}

/** @returns `undefined` for a value of another version of the program */
function flowOf(value: unknown): Flow | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.request) || !isJsonObject(value.pending)) return undefined;
  const { provider, sessionId, begunAtMs } = value;
  const { state, nonce, verifier, maxAge, againSinceMs } = value.request;
  const pending = pendingOf(value.pending);
  const isFlow =
    typeof provider === 'string' &&
    typeof begunAtMs === 'number' &&
    typeof state === 'string' &&
    typeof nonce === 'string' &&
    typeof verifier === 'string';
  if (!isFlow || pending === undefined) return undefined;
  const request = {
    ...{ state, nonce, verifier },
    ...(typeof maxAge === 'number' && { maxAge }),
    ...(typeof againSinceMs === 'number' && { againSinceMs }),
  };
  return { provider, request, pending, begunAtMs, ...(typeof sessionId === 'string' && { sessionId }) };
}

function waitingOf(value: unknown): Waiting | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.identity) || !isJsonObject(value.pending)) return undefined;
  const pending = pendingOf(value.pending);
  const { provider, upstreamIssuer, upstreamSub, label } = value.identity;
  const isIdentity =
    typeof provider === 'string' &&
    typeof upstreamIssuer === 'string' &&
    typeof upstreamSub === 'string' &&
    typeof label === 'string';
  if (!isIdentity || pending === undefined || typeof value.atMs !== 'number') return undefined;
  return { identity: { provider, upstreamIssuer, upstreamSub, label }, pending, atMs: value.atMs };
}
