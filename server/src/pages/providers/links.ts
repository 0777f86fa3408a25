// Links between users and their identities at providers.
import type { Provider } from '../../config/providers.ts';
import type { Notice } from '../../data/mails.ts';
import type { Person } from '../../data/people.ts';
import type { NewIdentity, UpstreamIdentity } from '../../data/upstream_identities.ts';
import type { WaysToSignIn } from '../../data/ways_to_sign_in.ts';
import type { RequestLog } from '../../log/log.ts';
import type { MailParameters, MailQueue } from '../../people/mailing.ts';
import type { NotifyClients } from '../../people/sessions.ts';
import type { ConnectedProvider } from '../../people/upstream.ts';
import type { UpstreamUser } from '../../people/upstream_client.ts';
import type { PendingRequest } from '../browser/pending.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { type ProvidersOfAccount, providerName } from '../drawing/providers_shown.ts';
import type { AccountVisits } from '../steps/account_visits.ts';
import type { ProviderSignIn } from './under_way.ts';
import { begin, connectedIn, refuse, securityPage, type WayNeeds } from './way_to_provider.ts';

export interface LinkNeeds extends WayNeeds {
  readonly visits: AccountVisits;
  readonly browserSessions: BrowserSessions;
  /** Which ways to sign in count for a user. */
  readonly waysOf: (person: Person) => Promise<WaysToSignIn>;
  /** `undefined` if the server sends no emails. */
  readonly mail: { readonly queue: MailQueue } | undefined;
  readonly notifyClients: NotifyClients;
  readonly requestLog: RequestLog;
}

/** No user is linked with the identity. Its owner can sign in here, and connect the two. */
export async function askToConnect(
  c: PageContext,
  needs: LinkNeeds,
  provider: Provider,
  pending: PendingRequest,
  identity: NewIdentity,
  cause: Error | undefined,
): Promise<Response> {
  const canWait = await needs.underWay.wait(c, identity, pending);
  return refuse(c, needs, provider, 'provider_not_linked', pending, {
    ...{ label: identity.label, cause },
    ...(canWait && { connect: `${needs.drawing.basePath}/upstream/${provider.id}/connect` }),
  });
}

/** `GET /upstream/PROVIDER/connect`: leads through a sign-in here to the question on the account page. */
export function showConnect(needs: LinkNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const connected = connectedIn(c, needs);
    if (connected === undefined) return needs.drawing.problem(c, { problem: 'not_found' }, 404);
    const waiting = await needs.underWay.waiting(c);
    if (waiting === undefined) return refuse(c, needs, connected.provider, 'provider_answer_foreign');
    const session = await needs.browserSessions.current(c);
    if (session !== undefined && session.signedInAtMs >= waiting.atMs)
      return toPending(c, needs, securityPage(needs));
    return needs.visits.toNewSignIn(c, { page: 'security', change: 'links' });
  };
}

/**
 * `POST /upstream/PROVIDER/connect`: links the waiting identity with the user who has signed in since, or sends a user
 * to the provider to link an identity.
 */
export function submitConnect(needs: LinkNeeds) {
  const changed = (form: URLSearchParams) => (form.get('decision') === 'no' ? undefined : 'links');
  return needs.visits.form('security', changed, async (c, session, form) => {
    const connected = connectedIn(c, needs);
    if (connected === undefined) return needs.drawing.problem(c, { problem: 'not_found' }, 404);
    const { provider } = connected;
    if (form.get('decision') === 'start') {
      const pending = securityPage(needs);
      return begin(c, needs, connected, { pending, sessionId: session.id, again: false });
    }
    const waiting = await needs.underWay.waiting(c);
    if (waiting === undefined || waiting.identity.provider !== provider.id) {
      if (form.get('decision') === 'no') return toPending(c, needs, securityPage(needs));
      const linked = await needs.upstream.identities.ofSubject(session.person.subject);
      // The same form has done it before.
      const isOwn = (item: UpstreamIdentity) =>
        item.provider === provider.id && item.linkedAtMs >= session.signedInAtMs;
      if (linked.some(isOwn)) return needs.visits.show(c, session, 'security', { done: 'provider_linked' });
      return refuse(c, needs, provider, 'provider_answer_foreign');
    }
    if (session.signedInAtMs < waiting.atMs)
      return needs.visits.toNewSignIn(c, { page: 'security', change: 'links' });
    needs.underWay.forgetWaiting(c);
    if (form.get('decision') === 'yes') {
      const linked = await link(c, needs, provider, session, waiting.identity);
      if (linked === undefined) return refuse(c, needs, provider, 'provider_linked_elsewhere');
    }
    return toPending(c, needs, waiting.pending);
  });
}

/** Links the identity that the user has shown at the provider with the user of this session. */
export async function connect(
  c: PageContext,
  needs: LinkNeeds,
  connected: ConnectedProvider,
  { sessionId, pending, begunAtMs }: ProviderSignIn,
  user: UpstreamUser,
): Promise<Response> {
  const { provider } = connected;
  const session = await needs.browserSessions.current(c);
  if (session === undefined || session.id !== sessionId)
    return refuse(c, needs, provider, 'provider_answer_foreign', pending);
  // The user may have added a factor meanwhile. The time at the provider does not count.
  const owed = await needs.visits.requireChange(c, session, 'links', { page: 'security', atMs: begunAtMs });
  if (owed !== undefined) return owed;
  const identity = needs.upstream.identityOf(connected, user);
  const linked = await link(c, needs, provider, session, identity);
  if (linked === undefined) return refuse(c, needs, provider, 'provider_linked_elsewhere', pending);
  return needs.visits.show(c, session, 'security', { done: 'provider_linked' });
}

/** @returns `undefined` if another user is linked with the identity */
async function link(
  c: PageContext,
  needs: LinkNeeds,
  provider: Provider,
  { id, person }: BrowserSession,
  identity: NewIdentity,
): Promise<UpstreamIdentity | undefined> {
  const { identities } = needs.upstream;
  const { subject } = person;
  const notice = await linkNotice(c, needs, person, provider);
  const linked = await identities.link(identity, subject, needs.clock(), notice);
  if (linked === undefined) {
    const present = await identities.find(identity);
    return present?.subject === subject ? present : undefined;
  }
  needs.mail?.queue.wake();
  needs.requestLog.pageEvent({
    ...{ type: 'provider_linked', page: 'account', requestId: requestIdOf(c), provider: provider.id },
    ...{ subject: person.subject, sessionId: id },
  });
  return linked;
}

/** The email about a new link. */
export function linkNotice(
  c: PageContext,
  needs: LinkNeeds,
  person: Person,
  provider: Provider,
): Promise<Notice | undefined> {
  const name = providerName(provider, needs.drawing.setting(c).language);
  return noticeOf(c, needs, person, { change: 'provider_linked', name });
}

/** `POST /upstream/PROVIDER/unlink`: removes a link of the user. */
export function submitUnlink(needs: LinkNeeds) {
  return needs.visits.form('security', 'links', async (c, session, form) => {
    const id = form.get('link') ?? '';
    const { subject } = session.person;
    const provider = c.req.param('provider') ?? '';
    const event = { page: 'account', requestId: requestIdOf(c), provider, subject } as const;
    const isOwn = /^[\w-]+$/.test(id);
    const { person } = session;
    const connected = needs.upstream.byId(provider);
    const name = connected ? providerName(connected.provider, needs.drawing.setting(c).language) : provider;
    const notice = await noticeOf(c, needs, person, { change: 'provider_unlinked', name });
    const ways = await needs.waysOf(person);
    const ends = isOwn ? await needs.upstream.unlink(id, person, session.id, ways, notice) : undefined;
    if (ends === undefined) {
      const isThere = (await needs.upstream.identities.ofSubject(subject)).some((item) => item.id === id);
      if (!isThere) return needs.visits.show(c, session, 'security', { done: 'nothing_to_end' });
      needs.requestLog.pageEvent({ ...event, type: 'refused', reason: 'provider_needed' });
      return c.redirect(`${needs.drawing.basePath}/account/security?needed`, 303);
    }
    needs.requestLog.pageEvent({ ...event, type: 'provider_unlinked', sessionId: session.id });
    needs.mail?.queue.wake();
    void needs.notifyClients(ends);
    return needs.visits.show(c, session, 'security', { done: 'provider_unlinked' });
  });
}

/** What the page for security shows of providers. */
export async function providersOfAccount(
  c: PageContext,
  needs: LinkNeeds,
  session: BrowserSession,
): Promise<ProvidersOfAccount> {
  const { upstream } = needs;
  const { language } = needs.drawing.setting(c);
  const nameOf = (id: string) => {
    const connected = upstream.byId(id);
    return connected === undefined ? id : providerName(connected.provider, language);
  };
  const linked = await upstream.identities.ofSubject(session.person.subject);
  const waiting = await needs.underWay.waiting(c);
  const isWaiting = waiting !== undefined && session.signedInAtMs >= waiting.atMs;
  return {
    base: `${needs.drawing.basePath}/upstream`,
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
    nowMs: needs.clock(),
    ...(c.req.query('needed') !== undefined && { problem: 'provider_needed' as const }),
  };
}

/** Continues with what the user wanted to do. */
export async function toPending(
  c: PageContext,
  needs: LinkNeeds,
  pending: PendingRequest,
): Promise<Response> {
  if (pending.kind === 'account') return needs.pending.continue(c, pending);
  return needs.pending.redirect(c, pending.kind === 'logout' ? 'logout' : 'authorization', pending);
}

/** The email about a change of links. @returns `undefined` if the user gets no emails */
async function noticeOf(
  c: PageContext,
  needs: LinkNeeds,
  person: Person,
  parameters: MailParameters['factor_changed'],
): Promise<Notice | undefined> {
  const { language } = needs.drawing.setting(c);
  return needs.mail?.queue.notice(person, { template: 'factor_changed', language, parameters });
}
