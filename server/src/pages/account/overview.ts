import { html } from 'hono/html';
import type { Person } from '../../data/people.ts';
import type { Html } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { PageContext } from '../browser/request.ts';
import { idOf, named } from '../drawing/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import {
  type ApplicationsNeeds,
  type ApplicationsView,
  applicationEntry,
  applicationsOf,
  endAccess,
} from './applications.ts';
import { accountFrame, accountView, buttonValue } from './frame.ts';
import {
  endOthers,
  endSessions,
  type SessionsNeeds,
  type SessionsView,
  sessionEntry,
  sessionsOf,
} from './sessions.ts';

export interface OverviewNeeds extends ApplicationsNeeds, SessionsNeeds {
  /** `undefined` if the server sends no emails. */
  readonly mail: object | undefined;
}

/** `GET /account`: the profile, the applications with access and the sessions. */
export function showAccount(needs: OverviewNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'overview');
    if (session instanceof Response) return session;
    const setting = needs.drawing.setting(c);
    const view = {
      ...(await accountView(c, needs, session, 'overview')),
      profile: {
        ...profileOf(session.person),
        ...(needs.mail !== undefined && { changeEmail: `${needs.drawing.basePath}/account/email` }),
      },
      applications: await applicationsOf(needs, session, setting.language),
      sessions: await sessionsOf(needs, session),
      nowMs: needs.clock(),
    };
    return renderPage(c, overviewPage(view, setting));
  };
}

/** `POST /account`: ends the access or session of the pressed button, then shows the page again. */
export function submitAccount(needs: OverviewNeeds) {
  return needs.visits.form('overview', undefined, async (c, session, form) => {
    const clientId = buttonValue(form, 'end_access');
    const notice =
      clientId === null
        ? await endSessions(c, needs, session, form)
        : await endAccess(c, needs, session, clientId);
    return needs.visits.show(c, session, 'overview', notice);
  });
}

function profileOf({ name, claims }: Person): ProfileShown {
  const { email, email_verified: isVerified, name: fullName } = claims;
  return {
    username: name,
    ...(typeof fullName === 'string' && { fullName }),
    ...(typeof email === 'string' && { email: { address: email, isVerified: isVerified === true } }),
  };
}

/** What the server knows about the user. */
interface ProfileShown {
  readonly username: string;
  readonly fullName?: string;
  readonly email?: { readonly address: string; readonly isVerified: boolean };
  /** URL of the page that changes the address, if the server sends emails. */
  readonly changeEmail?: string;
}

/**
 * One form. Each button sends its own field: `end_access` with a client ID, `end_session` with a session ID, or
 * `end_other_sessions`.
 */
export interface OverviewView extends ApplicationsView, SessionsView {
  readonly profile: ProfileShown;
}

/** `/account`: buttons `end-access-CLIENTID`, `end-session-ID`, `end-other-sessions`. */
export function overviewPage(view: OverviewView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const acting = view.applications.filter(({ acts }) => acts !== undefined);
  const applications = view.applications.filter(({ acts }) => acts === undefined);
  const entries = (members: typeof applications) => html`<ul class="entries" role="list">
${members.map((member) => applicationEntry(member, view.nowMs, setting, endButton(member, texts)))}</ul>`;
  return accountFrame(view, setting, {
    title: account.title,
    body: html`<section aria-labelledby="profile">
<h2 id="profile">${account.profile}</h2>
${profileList(view.profile, texts)}
</section>
<form method="post" action="${view.base}">
<input type="hidden" name="form_token" value="${view.formToken}">
<section aria-labelledby="applications">
<h2 id="applications">${account.applications}</h2>
${applications.length === 0 ? html`<p class="empty">${account.noApplications}</p>` : entries(applications)}
</section>
${
  acting.length === 0
    ? ''
    : html`<section aria-labelledby="acting">
<h2 id="acting">${account.acting}</h2>
${entries(acting)}
</section>
`
}<section aria-labelledby="sessions">
<h2 id="sessions">${account.sessions}</h2>
${
  view.sessions.length === 0
    ? html`<p class="empty">${account.noSessions}</p>`
    : html`<ul class="entries" role="list">
${view.sessions.map((session) => sessionEntry(session, view.nowMs, texts))}</ul>`
}
${endOthers(view.sessions, texts)}
</section>
</form>`,
  });
}

function endButton({ clientId, application }: ApplicationsView['applications'][number], texts: Texts): Html {
  return html`<button id="${idOf('end-access', clientId)}" type="submit" name="end_access" value="${clientId}">${texts.account.endAccess(named(application.name))}</button>`;
}

function profileList({ username, fullName, email, changeEmail }: ProfileShown, { account }: Texts): Html {
  const badge = email?.isVerified === true ? account.verified : account.notVerified;
  const change =
    changeEmail === undefined
      ? ''
      : html` <a id="change-email" href="${changeEmail}">${email === undefined ? account.addEmail : account.changeEmail}</a>`;
  const address =
    email === undefined ? '' : html`<bdi>${email.address}</bdi> <span class="badge">${badge}</span>`;
  return html`<dl class="profile">
<div><dt>${account.username}</dt><dd><bdi>${username}</bdi></dd></div>
${fullName === undefined ? '' : html`<div><dt>${account.fullName}</dt><dd><bdi>${fullName}</bdi></dd></div>\n`}${address === '' && change === '' ? '' : html`<div><dt>${account.email}</dt><dd>${address}${change}</dd></div>\n`}</dl>`;
}
