import { type SignIn, signIn } from '../people/sign_in.ts';
import { renderPage } from './layout.ts';
import { bodyOf } from './library_http.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { openPendingPage, type PendingPage, refuseForeignForm } from './pending_page.ts';
import { signInPage } from './views/sign_in.ts';

/** What a person may know: whether the name exists is not among it. */
const PROBLEMS = {
  person_unknown: 'credentials_wrong',
  password_wrong: 'credentials_wrong',
  person_disabled: 'account_disabled',
  too_many_attempts: 'too_many_attempts',
  too_many_sign_ins: 'too_many_sign_ins',
} as const;

const STATUS = {
  person_unknown: 403,
  password_wrong: 403,
  person_disabled: 403,
  too_many_attempts: 429,
  too_many_sign_ins: 503,
} as const;

type Refusal = Exclude<SignIn, { person: unknown }>;

/** `GET /login`: the form. */
export function showLogin(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    if (page instanceof Response) return page;
    return renderForm(c, parts, page, page.authorization.loginHint ?? '');
  };
}

/** `POST /login`: on to consent, or the form again. */
export function submitLogin(parts: PageParts) {
  const { formTokens, sessions, signInParts, clientAddress, requestLog, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const page = await openPendingPage(c, parts, 'login');
    if (page instanceof Response) return page;
    const clientId = page.authorization.client.id;
    const form = new URLSearchParams(bodyOf(c));
    if (!(await formTokens.isFrom(c, form.get('form_token') ?? undefined, 'login', page.sealed))) {
      return refuseForeignForm(c, parts, 'login', clientId);
    }

    const username = form.get('username') ?? '';
    const outcome = await signIn(signInParts, username, form.get('password') ?? '', async (person) =>
      person !== undefined && (await sessions.hasSeen(c, person))
        ? 'known browser'
        : clientAddress(c.env.incoming),
    );
    const event = { page: 'login', requestId: requestIdOf(c), clientId } as const;
    if ('refused' in outcome) {
      requestLog.pageEvent({ ...event, type: 'refused', reason: outcome.refused });
      return renderForm(c, parts, page, username, outcome);
    }
    await sessions.begin(c, outcome.person);
    requestLog.pageEvent({ ...event, type: 'signed_in', subject: outcome.person.subject });
    return c.redirect(`${basePath}/consent?pending=${page.sealed}`, 303);
  };
}

async function renderForm(
  c: PageContext,
  parts: PageParts,
  { sealed, authorization, clientName }: PendingPage,
  username: string,
  refusal?: Refusal,
): Promise<Response> {
  const view = {
    action: `${parts.basePath}/login?pending=${sealed}`,
    formToken: await parts.formTokens.make(c, 'login', sealed),
    application: { name: clientName },
    username,
    ...(refusal !== undefined && { problem: PROBLEMS[refusal.refused] }),
    ...(refusal !== undefined && 'secondsToWait' in refusal && { secondsToWait: refusal.secondsToWait }),
  };
  return renderPage(c, {
    ...signInPage(view, pageSetting(c, parts, authorization.uiLocales?.split(' '))),
    status: refusal === undefined ? 200 : STATUS[refusal.refused],
    ...(refusal !== undefined &&
      'secondsToWait' in refusal && { headers: { 'retry-after': String(refusal.secondsToWait) } }),
  });
}
