import { html } from 'hono/html';
import { OperationRefused } from '../admin/operation_refused.ts';
import type { ActingView, ConsentView, GrantView, SessionView } from '../admin/sessions.ts';
import type { User } from '../admin/users.ts';
import { hourOfUse, named } from '../pages/drawing/application_shown.ts';
import { browserText } from '../pages/drawing/browser_names.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  askLink,
  type ConsoleView,
  codes,
  consoleFrame,
  question,
  questionFrame,
  type Row,
  section,
  termList,
  timeOf,
  urlOf,
} from './frame.ts';
import { type Badge, badges, type ListRow, listOf, renderList, thingUrl, wishOf } from './lists.ts';
import { showSupport } from './support.ts';

/** Changes that are asked about first. */
const ASKED = ['disable', 'end_sessions', 'revoke', 'end_grant'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/users`: the list. With `sub`, one user; with `ask` too, the question before a change. */
export async function showUsers(visit: Visit): Promise<Response> {
  const {
    c,
    call,
    setting,
    view,
    console: { adminGroup },
  } = visit;
  const sub = c.req.query('sub');
  if (sub === undefined) {
    const users = await call('listUsers', wishOf(visit));
    return renderList(
      visit,
      listOf(visit, 'users', users, (user) => rowOf(user, adminGroup)),
    );
  }
  if (c.req.query('show') === 'sign_in') return showSupport(visit, sub);
  const user = await call('getUser', { sub });
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  const { items: sessions } = await call('listSessions', { sub });
  if (ask !== undefined) {
    const grant = ask === 'end_grant' ? await requireGrant(visit, sub, c.req.query('grant')) : undefined;
    const target = grant === undefined ? { sub } : { grant_id: grant.id };
    const { active = 0 } = await call('revokeAll', { ...target, dry_run: true });
    const question = { user, ask, active, sessions: sessions.length, ...(grant && { grant }) };
    return renderPage(c, askUserPage({ ...view, ...question }, setting));
  }
  const [{ items: consents }, { items: grants }, { items: acting }] = await Promise.all([
    call('listConsents', { sub }),
    call('listGrants', { sub }),
    call('listActing', { sub }),
  ]);
  const isAdministrator = user.groups.includes(adminGroup);
  const nowMs = visit.console.pages.clock();
  const shown = { user, isAdministrator, sessions, consents, grants, acting, nowMs };
  return renderPage(c, userPage({ ...view, ...shown }, setting));
}

/** @throws {OperationRefused} the user has no such grant, or no longer */
async function requireGrant({ call }: Visit, sub: string, id: string | undefined): Promise<GrantView> {
  const grant = (await call('listGrants', { sub })).items.find((one) => one.id === id);
  if (grant === undefined) throw new OperationRefused('not_found', 'the user has no such grant');
  return grant;
}

/** `POST /console/users`: does what `do` says with the user in `sub`. */
export async function submitUsers(visit: Visit): Promise<Response> {
  const { call, form, view } = visit;
  const sub = form.get('sub') ?? '';
  return perform(
    visit,
    {
      async disable() {
        await call('disableUser', { sub });
        return 'user_disabled';
      },
      async enable() {
        await call('enableUser', { sub });
        return 'user_enabled';
      },
      async end_sessions() {
        await call('endSessions', { sub });
        return 'sessions_ended';
      },
      async revoke() {
        await call('revokeAll', { sub });
        return 'tokens_revoked';
      },
      async end_grant() {
        const grant = await requireGrant(visit, sub, form.get('grant') ?? '');
        await call('revokeAll', { grant_id: grant.id });
        return 'grant_ended';
      },
    },
    thingUrl(view.base, 'users', sub),
  );
}

/** A user as a row of a list. */
export function rowOf(user: User, adminGroup: string): ListRow {
  const { sub, username, claims, groups } = user;
  return {
    ...{ key: sub, name: username },
    details: [claims.name, claims.email].filter((one) => typeof one === 'string'),
    badges: badgesOf(user, groups.includes(adminGroup)),
  };
}

function badgesOf({ disabled_at: disabledAt }: User, isAdministrator: boolean): readonly Badge[] {
  return [
    ...(isAdministrator ? (['administrators'] as const) : []),
    ...(disabledAt === undefined ? [] : (['disabled'] as const)),
  ];
}

export interface UserView extends ConsoleView {
  readonly user: User;
  readonly isAdministrator: boolean;
  readonly sessions: readonly SessionView[];
  readonly consents: readonly ConsentView[];
  readonly grants: readonly GrantView[];
  readonly acting: readonly ActingView[];
  readonly nowMs: number;
}

/** One user: links `ask-disable`, `ask-end_sessions`, `ask-revoke` and `ask-end_grant`, button `enable`. */
export function userPage(view: UserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, isAdministrator, sessions, consents, grants, acting, nowMs } = view;
  const { sub, disabled_at: disabledAt } = user;
  const claims: readonly Row[] = Object.entries(user.claims).map(([name, value]) => [
    name,
    html`<bdi>${typeof value === 'string' ? value : JSON.stringify(value)}</bdi>`,
  ]);
  const ask = (what: Asked) =>
    askLink(thingUrl(base, 'users', sub, { ask: what }), what, words.userChanges[what].yes);
  const list = (rows: readonly Html[]) =>
    rows.length === 0
      ? html`<p class="empty">${words.none}</p>`
      : html`<ul class="rows" role="list">\n${rows}</ul>`;
  const client = (id: string) => html`<a href="${thingUrl(base, 'clients', id)}"><bdi>${id}</bdi></a>`;
  return consoleFrame(view, setting, {
    title: user.username,
    heading: named(user.username),
    badges: badges(badgesOf(user, isAdministrator), texts),
    body: html`${section(
      'user',
      words.user,
      termList([
        [words.subject, html`<code>${sub}</code>`],
        [words.createdAt, timeOf(user.created_at, texts)],
        [words.disabledSince, timeOf(disabledAt, texts)],
        [words.groups, groupLinks(base, user.groups)],
        ...claims,
      ]),
    )}${section(
      'sessions',
      words.sessions,
      list(
        sessions.map(
          (one) =>
            html`<li>${browserText(one.user_agent, texts)}<p class="detail">${texts.account.signedIn(timeOf(one.signed_in_at, texts) ?? html``)}</p></li>\n`,
        ),
      ),
    )}${section(
      'grants',
      words.grants,
      list(
        grants.map(
          ({ id, client_id: clientId, scopes, created_at: createdAt }) =>
            html`<li class="row"><div>${client(clientId)}
<p class="detail">${words.created(timeOf(createdAt, texts) ?? html``)}</p>${codes(scopes) ?? ''}</div>
${askLink(thingUrl(base, 'users', sub, { ask: 'end_grant', grant: id }), `end_grant-${id}`, words.endGrant)}</li>\n`,
        ),
      ),
    )}${section(
      'acting',
      words.acting,
      list(
        acting.map(
          ({ client_id: clientId, applications, scopes, agent, active, last_used_at: lastUsedAt }) =>
            html`<li>${client(clientId)}${agent ? html` <span class="badge">${texts.account.agent}</span>` : ''}${active ? '' : html` <span class="badge">${words.inactive}</span>`}
<p class="detail">${applications.length === 0 ? '' : html`${texts.account.through(html`${applications.map((id, at) => html`${at === 0 ? '' : ', '}${client(id)}`)}`)} · `}${hourOfUse(Date.parse(lastUsedAt), nowMs, texts)}</p>${codes(scopes) ?? ''}</li>\n`,
        ),
      ),
    )}${section(
      'consents',
      words.consents,
      list(
        consents.map(
          ({ client_id: clientId, entries }) =>
            html`<li>${client(clientId)}${codes([...new Set(entries.flatMap(({ scopes }) => scopes))]) ?? ''}</li>\n`,
        ),
      ),
    )}${section(
      'actions',
      words.actions,
      html`${actionForm(view, { sub }, [
        ...(disabledAt === undefined
          ? isAdministrator
            ? []
            : [ask('disable')]
          : [html`<button id="enable" type="submit" name="do" value="enable">${words.enable}</button>\n`]),
        ask('end_sessions'),
        ask('revoke'),
      ])}
${isAdministrator && disabledAt === undefined ? html`<p class="note">${words.administratorStays}</p>\n` : ''}<p class="actions"><a id="sign-in" href="${thingUrl(base, 'users', sub, { show: 'sign_in' })}">${words.support.link}</a>
<a href="${urlOf(base, 'audit', { user: sub })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

function groupLinks(base: string, groups: readonly string[]): Html | undefined {
  return groups.length === 0
    ? undefined
    : html`<span class="listed">${groups.map((name) => html`<a href="${thingUrl(base, 'groups', name)}"><bdi>${name}</bdi></a> `)}</span>`;
}

interface AskUserView extends ConsoleView {
  readonly user: Pick<User, 'sub' | 'username'>;
  readonly ask: Asked;
  /** The grant to end. */
  readonly grant?: GrantView;
  /** Number of active tokens. */
  readonly active: number;
  readonly sessions: number;
}

/** The question before a change of a user: button `console-yes`, link `console-no`. */
export function askUserPage(view: AskUserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, ask, grant, active, sessions } = view;
  const { title, text, yes } = words.userChanges[ask];
  return questionFrame(setting, {
    title: title(user.username),
    body: html`<p>${text}</p>
${termList([
  [words.client, grant && html`<bdi>${grant.client_id}</bdi>`],
  [words.scopes, grant && codes(grant.scopes)],
  [words.activeTokens, texts.formats.number(active)],
  [words.sessions, grant === undefined ? texts.formats.number(sessions) : undefined],
])}
${question(
  view,
  {
    ...{ action: urlOf(base, 'users'), does: ask, yes },
    fields: { sub: user.sub, ...(grant && { grant: grant.id }) },
    back: thingUrl(base, 'users', user.sub),
  },
  texts,
)}`,
  });
}
