import { html } from 'hono/html';
import type { Consent } from '../data/consents.ts';
import type { StoredSession } from '../data/sessions.ts';
import {
  consentsOf,
  endSessionsOf,
  type Listed,
  pagesOf,
  requireSubject,
  setPersonDisabled,
  withState,
} from '../operations/people.ts';
import { revokeAll } from '../operations/tokens.ts';
import { browserText } from '../pages/account_sessions.ts';
import { named } from '../pages/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../pages/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import {
  type ConsoleNotice,
  type ConsoleView,
  codes,
  consoleFrame,
  nextLink,
  question,
  type Row,
  searchForm,
  section,
  termList,
  timeOf,
  toConsole,
  urlOf,
} from './frame.ts';

const USERS_PER_PAGE = 50;

/** Changes that are asked about first. */
const ASKED = ['disable', 'end_sessions', 'revoke'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/users`: the list. With `sub`, one user; with `ask` too, the question before a change. */
export async function showUsers({ c, parts, setting, view }: Visit): Promise<Response> {
  const subject = c.req.query('sub');
  if (subject === undefined) {
    const { search = '', after } = c.req.query();
    const wish = { ...(search !== '' && { search }), ...(after !== undefined && { after }) };
    const users: Listed[] = [];
    for await (const some of pagesOf(parts, { ...wish, limit: USERS_PER_PAGE + 1 })) users.push(...some);
    const shown = users.slice(0, USERS_PER_PAGE);
    const last = users.length > USERS_PER_PAGE ? shown.at(-1)?.name : undefined;
    const next = last === undefined ? undefined : urlOf(view.base, 'users', { search, after: last });
    return renderPage(
      c,
      usersPage({ ...view, users: shown, search, ...(next !== undefined && { next }) }, setting),
    );
  }
  const person = await requireSubject(parts, subject);
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  if (ask !== undefined) {
    const { alive = 0 } = await revokeAll(parts, { person }, { counts: true, isDryRun: true });
    const sessions = (await parts.sessions.ofSubject(subject)).length;
    return renderPage(c, askUserPage({ ...view, user: person, ask, alive, sessions }, setting));
  }
  const [user, sessions, consents] = await Promise.all([
    withState(parts, person),
    parts.sessions.ofSubject(subject),
    consentsOf(parts, subject),
  ]);
  return renderPage(c, userPage({ ...view, user, sessions, consents }, setting));
}

/** `POST /console/users`: does what `do` says with the user in `sub`. */
export async function submitUsers({
  c,
  console: { pages },
  parts,
  session,
  form,
  view,
}: Visit): Promise<Response> {
  const person = await requireSubject(parts, form.get('sub') ?? '');
  const changes: Readonly<Record<string, () => Promise<ConsoleNotice>>> = {
    async disable() {
      await setPersonDisabled(parts, person, true);
      return 'user_disabled';
    },
    async enable() {
      await setPersonDisabled(parts, person, false);
      return 'user_enabled';
    },
    async end_sessions() {
      await endSessionsOf(parts, person);
      return 'sessions_ended';
    },
    async revoke() {
      await revokeAll(parts, { person }, { counts: false, isDryRun: false });
      return 'tokens_revoked';
    },
  };
  const does = form.get('do') ?? '';
  const notice = Object.hasOwn(changes, does) ? await changes[does]?.() : undefined;
  const url = urlOf(view.base, 'users', { sub: person.subject });
  return toConsole(c, pages, session, url, notice ?? 'nothing_changed');
}

export interface UsersView extends ConsoleView {
  readonly users: readonly Listed[];
  readonly search: string;
  /** URL of the next page. */
  readonly next?: string;
}

/** `/console/users`: field `search`, link `next`. */
export function usersPage(view: UsersView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, users } = view;
  return consoleFrame(view, setting, {
    title: words.pages.users,
    body: html`${searchForm(urlOf(base, 'users'), words.searchUsers, view.search, words.search)}
${
  users.length === 0
    ? html`<p class="empty">${words.nothingFound}</p>`
    : html`<ul class="rows" role="list">
${users.map((user) => html`<li><a href="${urlOf(base, 'users', { sub: user.subject })}"><bdi>${user.name}</bdi></a>${disabledBadge(user, texts)}${detailOf(user)}</li>\n`)}</ul>`
}
${nextLink(view.next, texts)}`,
  });
}

function detailOf({ claims }: Listed): Html | '' {
  const parts = [claims.name, claims.email].filter((one) => typeof one === 'string');
  return parts.length === 0
    ? ''
    : html`<p class="detail">${parts.map((one) => html`<bdi>${one}</bdi> `)}</p>`;
}

export function disabledBadge({ disabledAtMs }: { readonly disabledAtMs?: number }, texts: Texts): Html | '' {
  return disabledAtMs === undefined ? '' : html` <span class="badge bad">${texts.console.disabled}</span>`;
}

export interface UserView extends ConsoleView {
  readonly user: Listed;
  readonly sessions: readonly StoredSession[];
  readonly consents: readonly Consent[];
}

/** One user: links `ask-disable`, `ask-end_sessions` and `ask-revoke`, button `enable`. */
export function userPage(view: UserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, sessions, consents } = view;
  const claims: readonly Row[] = Object.entries(user.claims).map(([name, value]) => [
    name,
    html`<bdi>${typeof value === 'string' ? value : JSON.stringify(value)}</bdi>`,
  ]);
  return consoleFrame(view, setting, {
    title: user.name,
    heading: html`${named(user.name)}${disabledBadge(user, texts)}`,
    body: html`${section(
      'user',
      words.user,
      termList([
        [words.subject, html`<code>${user.subject}</code>`],
        [words.createdAt, timeOf(user.createdAtMs, texts)],
        [words.disabledSince, timeOf(user.disabledAtMs, texts)],
        [words.groups, codes(user.groups ?? [])],
        ...claims,
      ]),
    )}${section(
      'sessions',
      words.sessions,
      sessions.length === 0
        ? html`<p class="empty">${words.none}</p>`
        : html`<ul class="rows" role="list">
${sessions.map((one) => html`<li>${browserText(one.userAgent, texts)}<p class="detail">${texts.account.signedIn(timeOf(one.signedInAtMs, texts) ?? html``)}</p></li>\n`)}</ul>`,
    )}${section(
      'consents',
      words.consents,
      consents.length === 0
        ? html`<p class="empty">${words.none}</p>`
        : html`<ul class="rows" role="list">
${consents.map(({ clientId, entries }) => html`<li><a href="${urlOf(base, 'clients', { id: clientId })}"><bdi>${clientId}</bdi></a>${codes([...new Set(entries.flatMap(({ scopes }) => scopes))]) ?? ''}</li>\n`)}</ul>`,
    )}${section(
      'actions',
      words.actions,
      html`<form method="post" action="${base}/users">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="sub" value="${user.subject}">
<div class="actions">
${user.disabledAtMs === undefined ? askLink(view, 'disable', texts) : html`<button id="enable" type="submit" name="do" value="enable">${words.enable}</button>`}
${askLink(view, 'end_sessions', texts)}
${askLink(view, 'revoke', texts)}
</div>
</form>
<p class="actions"><a href="${urlOf(base, 'events', { target: user.subject })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

function askLink({ base, user }: UserView, ask: Asked, { console: words }: Texts): Html {
  return html`<a id="ask-${ask}" class="button" href="${urlOf(base, 'users', { sub: user.subject, ask })}">${words.userChanges[ask].yes}</a>`;
}

interface AskUserView extends ConsoleView {
  readonly user: Pick<Listed, 'subject' | 'name'>;
  readonly ask: Asked;
  /** Active tokens. */
  readonly alive: number;
  readonly sessions: number;
}

/** The question before a change of a user: button `console-yes`, link `console-no`. */
export function askUserPage(view: AskUserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, ask, alive, sessions } = view;
  const { title, text, yes } = words.userChanges[ask];
  return consoleFrame(view, setting, {
    title: title(user.name),
    body: html`<p>${text}</p>
${termList([
  [words.activeTokens, texts.formats.number(alive)],
  [words.sessions, texts.formats.number(sessions)],
])}
${question(
  view,
  {
    ...{ action: `${base}/users`, does: ask, fields: { sub: user.subject }, yes },
    back: urlOf(base, 'users', { sub: user.subject }),
  },
  texts,
)}`,
  });
}
