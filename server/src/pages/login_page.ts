import { addressUnit } from '@grantd/core/node';
import type { Person } from '../people/people.ts';
import { type SignIn, signIn } from '../people/sign_in.ts';
import { applicationShown, personShown } from './application_shown.ts';
import { goOn, nextStep } from './authorization_steps.ts';
import { type BegunSession, signInName } from './browser_sessions.ts';
import { renderPage } from './layout.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { type AuthorizationPage, openPendingPage, ownForm, type PendingPage } from './pending_page.ts';
import { type SignInAgain, type SignInProblem, signInPage } from './views/sign_in.ts';

/** What a person may know: whether the name exists is not among it. */
const PROBLEMS = {
  person_unknown: { problem: 'credentials_wrong', status: 403 },
  password_wrong: { problem: 'credentials_wrong', status: 403 },
  person_disabled: { problem: 'account_disabled', status: 403 },
  person_changed: { problem: 'credentials_wrong', status: 403 },
  person_not_expected: { problem: 'another_person', status: 403 },
  too_many_attempts: { problem: 'too_many_attempts', status: 429 },
  too_many_sign_ins: { problem: 'too_many_sign_ins', status: 503 },
} as const satisfies Record<string, { readonly problem: SignInProblem; readonly status: number }>;

type Refusal =
  | Exclude<SignIn, { person: unknown }>
  | { readonly refused: 'person_not_expected' | 'person_changed' };

/** `GET /login`: the form; on where it has been filled in already, unless another person wants to. */
export function showLogin(parts: PageParts) {
  const { browserSessions, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    const session = c.req.query('other') === undefined ? await browserSessions.current(c) : undefined;
    if (session === undefined) return renderForm(c, parts, page);
    if (!('authorization' in page)) return c.redirect(`${basePath}/account`, 303);
    const isDone = (await nextStep(parts, page, session)).page !== 'login';
    return isDone ? goOn(c, parts, page, session) : renderForm(c, parts, page);
  };
}

/** `POST /login`: on to what comes next, or the form again. */
export function submitLogin(parts: PageParts) {
  const { knownBrowsers, requestLog, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    const clientId = clientIdOf(page);
    const form = await ownForm(c, parts, { page: 'login', about: [page.sealed], clientId });
    if (form.get('decision') === 'cancel' && 'authorization' in page) return cancel(c, parts, page);
    const username = form.get('username') ?? '';
    const checked = await attempt(c, parts, page, { username, password: form.get('password') ?? '' });
    const outcome = 'refused' in checked ? checked : await begin(c, parts, checked.person);
    const event = {
      page: 'login',
      requestId: requestIdOf(c),
      ...(clientId !== undefined && { clientId }),
    } as const;
    if ('refused' in outcome) {
      requestLog.pageEvent({ ...event, type: 'refused', reason: outcome.refused });
      return renderForm(c, parts, page, { username, refusal: outcome });
    }
    const { session, ended } = outcome;
    const { subject } = session.person;
    await knownBrowsers.remember(c, subject);
    requestLog.pageEvent({ ...event, type: 'signed_in', subject, sessionId: session.id });
    void parts.tellClients(ended);
    if (!('authorization' in page)) return c.redirect(`${basePath}/account`, 303);
    const pending = { ...page.pending, signIn: signInName(session) };
    return goOn(c, parts, { ...page, pending }, session);
  };
}

/** The person goes back to the client without signing in; it learns nothing of them. */
async function cancel(
  c: PageContext,
  parts: PageParts,
  { authorization }: AuthorizationPage,
): Promise<Response> {
  const description = 'the person cancelled the sign-in';
  const refusal = await parts.server.refuseAuthorization(
    authorization,
    'access_denied',
    description,
    requestIdOf(c),
  );
  return toClient(c, parts, refusal, authorization.uiLocales);
}

async function attempt(
  c: PageContext,
  { signInParts, knownBrowsers, clientAddress, server }: PageParts,
  page: PendingPage,
  { username, password }: { readonly username: string; readonly password: string },
): Promise<{ readonly person: Person } | Refusal> {
  const placeOf = async (person: Person | undefined) => {
    const browser = person && (await knownBrowsers.nameOf(c, person.subject));
    return browser === undefined
      ? { name: addressUnit(clientAddress(c.env.incoming)), isKnown: false }
      : { name: `browser ${browser}`, isKnown: true };
  };
  const outcome = await signIn(signInParts, username, password, placeOf);
  if ('refused' in outcome || !('authorization' in page)) return outcome;
  // OpenID Connect Core §3.1.2.2: never an answer about anybody else than was asked for.
  const isExpected = await server.isExpectedPerson(page.authorization, outcome.person.subject);
  return isExpected ? outcome : { refused: 'person_not_expected' };
}

async function begin(
  c: PageContext,
  { browserSessions }: PageParts,
  person: Person,
): Promise<BegunSession | Refusal> {
  return (await browserSessions.begin(c, person)) ?? { refused: 'person_changed' };
}

async function renderForm(
  c: PageContext,
  parts: PageParts,
  page: PendingPage,
  typed?: { readonly username: string; readonly refusal: Refusal },
): Promise<Response> {
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = pageSetting(c, parts, authorization?.uiLocales);
  const isOther = c.req.query('other') !== undefined;
  const again = isOther ? undefined : await signInAgain(c, parts, page);
  const refusal = typed?.refusal;
  const shown = refusal && PROBLEMS[refusal.refused];
  const wait = refusal !== undefined && 'secondsToWait' in refusal ? refusal.secondsToWait : undefined;
  const view = {
    action: `${parts.basePath}/login?pending=${page.sealed}${isOther ? '&other' : ''}`,
    formToken: await parts.formTokens.make(c, 'login', page.sealed),
    username: typed?.username ?? again?.person.name ?? (isOther ? '' : (authorization?.loginHint ?? '')),
    ...(authorization !== undefined && {
      application: applicationShown(authorization.client, setting.language, parts.basePath),
    }),
    ...(again !== undefined && { again }),
    ...(shown !== undefined && { problem: shown.problem }),
    ...(wait !== undefined && { secondsToWait: wait }),
  };
  return renderPage(c, {
    ...signInPage(view, setting),
    status: shown?.status ?? 200,
    formMayLeave: authorization !== undefined,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  });
}

/** Where someone is signed in already, who may be the one that is wanted. */
async function signInAgain(
  c: PageContext,
  { browserSessions, server, basePath }: PageParts,
  page: PendingPage,
): Promise<SignInAgain | undefined> {
  if (!('authorization' in page)) return undefined;
  const { authorization, sealed } = page;
  const session = await browserSessions.current(c);
  if (session === undefined || !(await server.isExpectedPerson(authorization, session.person.subject)))
    return undefined;
  const wasAsked = authorization.prompt.includes('login') || authorization.maxAge === 0;
  return {
    person: personShown(session.person),
    reason: wasAsked ? 'asked' : 'tooLongAgo',
    changePerson: `${basePath}/login?pending=${sealed}&other`,
  };
}

function clientIdOf(page: PendingPage): string | undefined {
  return 'authorization' in page ? page.authorization.client.id : undefined;
}
