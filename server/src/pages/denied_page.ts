import { html } from 'hono/html';
import { textsIn } from '../texts/texts.ts';
import { applicationShown, named, personLine, personShown, uncheckedNote } from './application_shown.ts';
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
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { type AuthorizationPage, openAuthorizationPage, verifiedForm } from './pending_page.ts';

type Denied = AuthorizationPage & { readonly sealed: string; readonly session: BrowserSession };

/** `GET /denied`: says that the signed-in user may not use the application, and offers ways on. */
export function showDenied(parts: PageParts) {
  const { formTokens, requestLog, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openDenied(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const { subject } = session.person;
    const clientId = authorization.client.id;
    const event = { type: 'refused', page: 'denied', reason: 'client_not_allowed' } as const;
    requestLog.pageEvent({ ...event, requestId: requestIdOf(c), clientId, subject });
    const setting = pageSetting(c, parts, authorization.uiLocales);
    const view = {
      action: `${basePath}/denied?pending=${sealed}`,
      formToken: await formTokens.make(c, 'denied', sealed, session.id),
      application: applicationShown(authorization.client, setting.language, basePath),
      person: personShown(session.person),
      otherAccount: `${basePath}/login?pending=${sealed}&other`,
    };
    return renderPage(c, { ...deniedPage(view, setting), status: 403, formMayLeave: true });
  };
}

/** `POST /denied`: returns to the client with `access_denied`. */
export function submitDenied(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openDenied(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const about = [sealed, session.id];
    await verifiedForm(c, parts, { page: 'denied', about, clientId: authorization.client.id });
    const refusal = await parts.server.authorization.refuse(
      authorization,
      'access_denied',
      'the user may not use this client',
      requestIdOf(c),
    );
    return toClient(c, parts, refusal, authorization.uiLocales);
  };
}

/** The request with the session of the user, or the response if the user may use the client or is not signed in. */
async function openDenied(c: PageContext, parts: PageParts): Promise<Denied | Response> {
  const page = await openAuthorizationPage(c, parts, 'denied');
  const session = await parts.browserSessions.current(c);
  const { page: next } = await nextStep(parts, page, session);
  return session !== undefined && next === 'denied' ? { ...page, session } : proceed(c, parts, page, session);
}

interface DeniedView extends FormShown {
  readonly application: ApplicationShown;
  /** The signed-in user. */
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly otherAccount: string;
}

/** `/denied`: button `denied-back`, link `denied-other`. */
export function deniedPage(view: DeniedView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { denied } = texts;
  return {
    ...setting,
    title: denied.title(application.name),
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1>${denied.title(named(application.name))}</h1>
<p class="lead">${denied.text}</p>
</header>
${personLine(denied.signedInAs, person)}
${uncheckedNote(application, setting, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<button id="denied-back" type="submit" name="decision" value="back" class="primary">${denied.back(named(application.name))}</button>
</form>
<a id="denied-other" class="button" href="${view.otherAccount}">${denied.other}</a>
<p class="note">${denied.help}</p>`,
  };
}
