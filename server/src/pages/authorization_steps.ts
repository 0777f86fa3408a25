import type { AuthorizationRefusal } from '@grantd/core';
import { askedBy, counts, isExempt, isReachedAlone } from '../consents/asked_consent.ts';
import { covers } from '../consents/consents.ts';
import { answerWithCode } from './authorization_answer.ts';
import { type BrowserSession, signInName } from './browser_sessions.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { type AuthorizationPage, sendOn } from './pending_page.ts';

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
