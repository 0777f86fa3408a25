import type { AuthorizationRefusal } from '@grantd/core';
import { covers } from '../data/consents.ts';
import { acrOf, amrShown } from '../people/acr.ts';
import { counts, isExempt, isReachedAlone, requiredConsent } from '../people/consents.ts';
import { toAccountPage } from './account_frame.ts';
import { type BrowserSession, signInName } from './browser_sessions.ts';
import type { PendingAuthorization } from './browser_state.ts';
import { PageProblem } from './error_page.ts';
import { toClient } from './leaving_page.ts';
import { isFresh, missingOf } from './missing_step.ts';
import { type PageContext, type PageParts, requestIdOf, toResponse } from './page_parts.ts';
import { type AuthorizationPage, openPendingPage, redirectToPage } from './pending_page.ts';

/**
 * `/authorize` (RFC 6749 §3.1): returns to the client if no page is needed, else continues to the next page. With
 * `pending`, continues a request that was validated before.
 */
export function authorizePage(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    if (c.req.query('pending') !== undefined && c.req.method !== 'POST') {
      const page = await openPendingPage(c, parts, 'authorization');
      if (!('authorization' in page)) return toAccountPage(c, parts, page.pending);
      if (c.req.method === 'HEAD') return redirectToPage(c, parts, 'authorization', page.pending);
      return proceed(c, parts, page, await parts.browserSessions.current(c));
    }
    const authorization = await parts.server.authorization.validate(c.get('plain'));
    const { parameters } = authorization;
    const pending: PendingAuthorization = { kind: 'authorization', parameters, begunAtMs: parts.clock() };

    // A form of another site arrives without cookies. After a redirect, the browser sends them. A `HEAD` gets no code.
    if (c.req.method !== 'GET') return redirectToPage(c, parts, 'authorization', pending);
    return proceed(c, parts, { pending, authorization }, await parts.browserSessions.current(c));
  };
}

/** The next page before the client gets its answer, or the session that the answer is about. */
export type Step =
  | { readonly page: 'login' | 'select' | 'denied' | 'second' | 'enrol' | 'unmet' | 'consent' }
  | { readonly page: undefined; readonly session: BrowserSession };

/** Errors for clients that allow no page (OpenID Connect Core §3.1.2.6, RFC 6749 §4.1.2.1). */
const WITHOUT_PAGE = {
  login: 'login_required',
  select: 'account_selection_required',
  denied: 'access_denied',
  second: 'login_required',
  enrol: 'interaction_required',
  unmet: 'unmet_authentication_requirements',
  consent: 'consent_required',
} as const satisfies Record<NonNullable<Step['page']>, AuthorizationRefusal>;

const DESCRIPTIONS: Partial<Record<AuthorizationRefusal, string>> = {
  access_denied: 'the user may not use this client',
  unmet_authentication_requirements: 'this server cannot meet the requested authentication context',
};

/** Continues to the next page or back to the client. */
export async function proceed(
  c: PageContext,
  parts: PageParts,
  page: AuthorizationPage,
  session: BrowserSession | undefined,
): Promise<Response> {
  const { pending, authorization } = page;
  const step = await nextStep(parts, page, session);
  if (step.page === undefined) {
    const answer = await answerWithCode(c, parts, page, step.session);
    return answer ?? proceed(c, parts, page, undefined);
  }
  if (!authorization.prompt.includes('none') && step.page !== 'unmet') {
    if (step.page !== 'enrol') return redirectToPage(c, parts, step.page, pending);
    return toEnrolment(c, parts, pending);
  }
  const isKnown = session !== undefined && (await hasAgreed(parts, page, session));
  const isUnmet = step.page === 'unmet' && !authorization.prompt.includes('none');
  const code = isKnown || isUnmet ? WITHOUT_PAGE[step.page] : 'login_required';
  const description = DESCRIPTIONS[code] ?? 'a page would have to be shown';
  const { server } = parts;
  const refusal = await server.authorization.refuse(authorization, code, description, requestIdOf(c));
  return toClient(c, parts, refusal, authorization.uiLocales);
}

/** Determines the next page, in the order in which users see them. Each page checks the earlier ones again. */
export async function nextStep(
  parts: PageParts,
  page: AuthorizationPage,
  session: BrowserSession | undefined,
): Promise<Step> {
  const { authorization, pending } = page;
  if (session === undefined || !isRecentEnough(parts, page, session)) return { page: 'login' };
  if (!(await parts.server.authorization.isExpectedUser(authorization, session.person.subject)))
    return { page: 'login' };
  const isChosen = pending.chosenSession === session.id || pending.signIn === signInName(session);
  if (authorization.prompt.includes('select_account') && !isChosen) return { page: 'select' };
  // Together, so that they share a read transaction.
  const [mayUse, missing, hasAgreedToAll] = await Promise.all([
    parts.mayUse(session.person.subject, authorization.client),
    missingOf(parts, session.person, session.amr, { authorization }),
    isAgreed(parts, page, session),
  ]);
  if (!mayUse) return { page: 'denied' };
  // Only a user who has just signed in may add a factor.
  if (missing?.step === 'enrol' && !isFresh(parts, session)) return { page: 'login' };
  if (missing !== undefined) return { page: missing.step };
  return hasAgreedToAll ? { page: undefined, session } : { page: 'consent' };
}

/** Leads to the page on which the user adds a factor, and back here. */
async function toEnrolment(
  c: PageContext,
  { pendingRequests, basePath }: PageParts,
  pending: PendingAuthorization,
): Promise<Response> {
  const sealed = await pendingRequests.seal(pending);
  if (sealed === undefined) throw new PageProblem('authorization', 'request_too_long');
  return c.redirect(`${basePath}/account/security?pending=${sealed}`, 303);
}

/**
 * Whether a session is recent enough for `prompt` and `max_age` (OpenID Connect Core §3.1.2.1): the user has signed in
 * for this request, or shortly before it started. `max_age` counts from the start of the request, because `max_age=0`
 * could otherwise never succeed. It counts from now if the user has signed in for another request since.
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
 * Whether the user has consented to anything with the client, or need not. Before that, the client must not learn who
 * is signed in, since when, or whether anyone is.
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

/**
 * Whether an earlier consent covers the request and no new question is wanted or required. Authorization details always
 * need an answer: the same payment twice is two payments.
 */
async function isAgreed(
  { consents, clients }: PageParts,
  { authorization }: AuthorizationPage,
  { person: { subject } }: BrowserSession,
): Promise<boolean> {
  if (authorization.prompt.includes('consent')) return false;
  if (isExempt(authorization.client)) return true;
  if (authorization.authorizationDetails !== undefined) return false;
  const { id: clientId } = authorization.client;
  if (!covers(await consents.get({ subject, clientId }), requiredConsent(authorization))) return false;
  const client = await clients.get(clientId);
  return !!client && isReachedAlone(client, authorization.redirectUri);
}

/**
 * Returns to the client with a code. A concurrent end of the session or consent either revokes what is issued here, or
 * is detected here afterwards and revokes it at once, before the code leaves the server.
 * @returns `undefined` if the session has already ended
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
  const event = { type: 'refused', page: 'authorization', requestId, ...parties } as const;

  const isStillApproved = async () => {
    const [consent, isOver] = await Promise.all([consents.get(parties), browserSessions.isOver(session)]);
    if (!covers(consent, requiredConsent(authorization)) && !isExempt(authorization.client)) {
      requestLog.pageEvent({ ...event, reason: 'consent_withdrawn' });
      return false;
    }
    if (!isOver) return true;
    requestLog.pageEvent({ ...event, reason: 'session_over', sessionId: session.id });
    return false;
  };

  // Comes before the client can learn of the session. After a crash in between, the client would never be notified.
  const names = {
    sub: await server.subjectIdentifier(authorization.client, subject),
    sid: await server.sessionIdentifier(authorization.client, session.id),
  };
  if (!(await sessions.addClient(session.id, parties.clientId, names))) return undefined;
  const acr = acrOf(session.amr, authorization.acrValues);
  const approval = {
    subject,
    username: name,
    authTime: Math.floor(session.signedInAtMs / 1000),
    ...(acr !== undefined && { acr }),
    amr: amrShown(session.amr),
    sessionId: session.id,
    isStillApproved,
  };
  return toResponse(c, await server.authorization.complete(authorization, approval, requestId));
}
