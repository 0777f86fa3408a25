import type { AuthorizationRefusal } from '@grantd/core';
import { covers } from '../data/consents.ts';
import { askedBy, counts, isExempt, isReachedAlone } from '../people/consents.ts';
import { type BrowserSession, signInName } from './browser_sessions.ts';
import type { PendingAuthorization } from './browser_state.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf, toResponse } from './page_parts.ts';
import { type AuthorizationPage, openAuthorizationPage, sendOn } from './pending_page.ts';

/**
 * `/authorize` (RFC 6749 §3.1): back to the client where nothing has to be asked, else on to the page that asks. With
 * `pending` it goes on with a request that was checked here before.
 */
export function authorizePage(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    if (c.req.query('pending') !== undefined && c.req.method === 'GET') {
      const page = await openAuthorizationPage(c, parts, 'authorize');
      return goOn(c, parts, page, await parts.browserSessions.current(c));
    }
    const authorization = await parts.server.validateAuthorizationRequest(c.get('plain'));
    const { parameters } = authorization;
    const pending: PendingAuthorization = { kind: 'authorization', parameters, begunAtMs: parts.clock() };

    // Another site's form comes without our cookies; the same request as an address comes with them.
    if (c.req.method === 'POST') return sendOn(c, parts, 'authorize', pending);
    return goOn(c, parts, { pending, authorization }, await parts.browserSessions.current(c));
  };
}

/** The page that is left to do before a client can have its answer, or whose session it is about. */
export type Step =
  | { readonly page: 'login' | 'select' | 'consent' }
  | { readonly page: undefined; readonly session: BrowserSession };

/** What a client hears that wants no page to be shown (OpenID Connect Core §3.1.2.6). */
const WITHOUT_PAGE = {
  login: 'login_required',
  select: 'account_selection_required',
  consent: 'consent_required',
} as const satisfies Record<NonNullable<Step['page']>, AuthorizationRefusal>;

/** Takes a person on: to the next page, or back to the client. */
export async function goOn(
  c: PageContext,
  parts: PageParts,
  page: AuthorizationPage,
  session: BrowserSession | undefined,
): Promise<Response> {
  const { pending, authorization } = page;
  const step = await nextStep(parts, page, session);
  if (step.page === undefined) {
    const answer = await answerWithCode(c, parts, page, step.session);
    return answer ?? goOn(c, parts, page, undefined);
  }
  if (!authorization.prompt.includes('none')) return sendOn(c, parts, step.page, pending);
  const isKnown = session !== undefined && (await hasAgreed(parts, page, session));
  const code = isKnown ? WITHOUT_PAGE[step.page] : 'login_required';
  const description = 'a page would have to be shown';
  const { server } = parts;
  const refusal = await server.refuseAuthorization(authorization, code, description, requestIdOf(c));
  return toClient(c, parts, refusal, authorization.uiLocales);
}

/** In the order in which a person meets them; each page asks again whether those before it are done. */
export async function nextStep(
  parts: PageParts,
  page: AuthorizationPage,
  session: BrowserSession | undefined,
): Promise<Step> {
  const { authorization, pending } = page;
  if (session === undefined || !isRecentEnough(parts, page, session)) return { page: 'login' };
  if (!(await parts.server.isExpectedPerson(authorization, session.person.subject))) return { page: 'login' };
  const isChosen = pending.chosenSession === session.id || pending.signIn === signInName(session);
  if (authorization.prompt.includes('select_account') && !isChosen) return { page: 'select' };
  return (await isAgreed(parts, page, session)) ? { page: undefined, session } : { page: 'consent' };
}

/**
 * Whether a session is recent enough for what the client asked (OpenID Connect Core §3.1.2.1, `prompt` and `max_age`):
 * the person has signed in for this request, or not too long before it. With `max_age=0`, time spent on the pages would
 * never end; but a request may also lie about while the person signs in for another one.
 */
function isRecentEnough(
  { clock }: PageParts,
  { authorization: { prompt, maxAge }, pending: { begunAtMs, signIn } }: AuthorizationPage,
  session: BrowserSession,
): boolean {
  if (signIn === signInName(session)) return true;
  if (prompt.includes('login')) return false;
  const { signedInAtMs } = session;
  const countedFromMs = signedInAtMs <= begunAtMs ? begunAtMs : clock();
  return maxAge === undefined || signedInAtMs >= countedFromMs - maxAge * 1000;
}

/**
 * Whether a person has agreed to anything with a client, or need not. Before, it learns nothing of them without their knowing: not who
 * is signed in, nor since when, nor whether anybody is.
 */
async function hasAgreed(
  { consents }: PageParts,
  { authorization: { client } }: AuthorizationPage,
  { person: { subject } }: BrowserSession,
): Promise<boolean> {
  if (isExempt(client)) return true;
  const consent = await consents.get({ subject, clientId: client.id });
  return consent !== undefined && counts(consent, client);
}

/** Whether all that is asked for was agreed to before, and nobody wants or needs the question again. */
async function isAgreed(
  { consents, clients }: PageParts,
  { authorization }: AuthorizationPage,
  { person: { subject } }: BrowserSession,
): Promise<boolean> {
  if (authorization.prompt.includes('consent')) return false;
  if (isExempt(authorization.client)) return true;
  const { id: clientId } = authorization.client;
  if (!covers(await consents.get({ subject, clientId }), askedBy(authorization))) return false;
  const client = await clients.get(clientId);
  return !!client && isReachedAlone(client, authorization.redirectUri);
}

/**
 * Back to the client with a code. Who ends the session or the consent at the same time either finds what is issued
 * here, or is seen here afterwards: then it is revoked at once, and nobody gets to know the code.
 * @returns `undefined` if the session had ended before
 */
export async function answerWithCode(
  c: PageContext,
  parts: PageParts,
  { authorization }: AuthorizationPage,
  session: BrowserSession,
): Promise<Response | undefined> {
  const { server, sessions, browserSessions, consents, requestLog } = parts;
  const { subject, name } = session.person;
  const parties = { subject, clientId: authorization.client.id };
  const requestId = requestIdOf(c);
  const event = { type: 'refused', page: 'authorize', requestId, ...parties } as const;

  const isStillApproved = async () => {
    const isAgreed = covers(await consents.get(parties), askedBy(authorization));
    if (!isAgreed && !isExempt(authorization.client)) {
      requestLog.pageEvent({ ...event, reason: 'consent_withdrawn' });
      return false;
    }
    if (!(await browserSessions.isOver(session))) return true;
    requestLog.pageEvent({ ...event, reason: 'session_over', sessionId: session.id });
    return false;
  };

  // Before the client can learn of it, or a crash in between would leave it untold.
  const told = {
    sub: await server.subjectIdentifier(authorization.client, subject),
    sid: await server.sessionIdentifier(authorization.client, session.id),
  };
  if (!(await sessions.addClient(session.id, parties.clientId, told))) return undefined;
  const approval = {
    subject,
    username: name,
    authTime: Math.floor(session.signedInAtMs / 1000),
    amr: session.amr,
    sessionId: session.id,
    isStillApproved,
  };
  return toResponse(c, await server.completeAuthorization(authorization, approval, requestId));
}
