import { html } from 'hono/html';
import { textsIn } from '../texts/texts.ts';
import { applicationShown, named, personShown, uncheckedNote } from './application_shown.ts';
import { nextStep, proceed } from './authorization.ts';
import { applicationMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
import {
  type ApplicationShown,
  type FormShown,
  type Page,
  type PageSetting,
  type PersonShown,
  pageSetting,
  renderPage,
} from './layout.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { type AuthorizationPage, openAuthorizationPage, verifiedForm } from './pending_page.ts';

type Choosing = AuthorizationPage & { readonly sealed: string; readonly session: BrowserSession };

/** `GET /select`: asks whether to continue as the signed-in user (OpenID Connect Core §3.1.2.1, `select_account`). */
export function showChoice(parts: PageParts) {
  const { formTokens, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openChoosing(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const setting = pageSetting(c, parts, authorization.uiLocales);
    const view = {
      action: `${basePath}/select?pending=${sealed}`,
      formToken: await formTokens.make(c, 'select', sealed, session.id),
      application: applicationShown(authorization.client, setting.language, parts.basePath),
      person: personShown(session.person),
      otherAccount: `${basePath}/login?pending=${sealed}&other`,
    };
    return renderPage(c, { ...chooseAccountPage(view, setting), formMayLeave: true });
  };
}

/** `POST /select`: continues with the session that was shown. */
export function submitChoice(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openChoosing(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, pending, session } = opened;
    const about = [sealed, session.id];
    await verifiedForm(c, parts, { page: 'select', about, clientId: authorization.client.id });
    const chosen = { ...pending, chosenSession: session.id };
    return proceed(c, parts, { authorization, pending: chosen }, session);
  };
}

async function openChoosing(c: PageContext, parts: PageParts): Promise<Choosing | Response> {
  const page = await openAuthorizationPage(c, parts, 'select');
  const session = await parts.browserSessions.current(c);
  const { page: next } = await nextStep(parts, page, session);
  return session === undefined || next === 'login'
    ? proceed(c, parts, page, undefined)
    : { ...page, session };
}

interface ChooseAccountView extends FormShown {
  readonly application: ApplicationShown;
  /** The signed-in user. */
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly otherAccount: string;
}

/** `prompt=select_account` (OpenID Connect Core §3.1.2.1): button `account-continue`, link `account-other`. */
export function chooseAccountPage(view: ChooseAccountView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.choose.title,
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1>${texts.choose.title}</h1>
<p class="lead">${texts.choose.toContinueTo(named(application.name))}</p>
</header>
${uncheckedNote(application, setting, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<button id="account-continue" type="submit" name="account" value="continue" class="primary">${texts.choose.continueAs(named(person.name))}${person.detail === undefined ? '' : html` <bdi class="detail">${person.detail}</bdi>`}</button>
</form>
<a id="account-other" class="button" href="${view.otherAccount}">${texts.choose.other}</a>`,
  };
}
