import type { GrantRecord } from '@grantd/core';
import { html } from 'hono/html';
import { requireSubject } from '../admin/groups.ts';
import { OperationRefused } from '../admin/operation_refused.ts';
import { revokeAll } from '../admin/tokens.ts';
import { consentsOf, type Listed, pagesOf, withState } from '../admin/user_rules.ts';
import type { Consent } from '../data/consents.ts';
import type { StoredSession } from '../data/sessions.ts';
import { named } from '../pages/drawing/application_shown.ts';
import { browserText } from '../pages/drawing/browser_names.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { validSessions } from '../people/session_validity.ts';
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
  type Row,
  section,
  termList,
  timeOf,
  urlOf,
} from './frame.ts';
import { type Badge, badges, type ListRow, readList, renderList, thingUrl } from './lists.ts';

/** Changes that are asked about first. */
const ASKED = ['disable', 'end_sessions', 'revoke', 'end_grant'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/users`: the list. With `sub`, one user; with `ask` too, the question before a change. */
export async function showUsers(visit: Visit): Promise<Response> {
  const { c, console: of, parts, setting, view } = visit;
  const subject = c.req.query('sub');
  if (subject === undefined) return renderList(visit, await listOf(visit));
  const person = await requireSubject(parts, subject);
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  const sessions = await validSessions(parts, subject, parts.clock());
  if (ask !== undefined) {
    const grant = ask === 'end_grant' ? await requireGrant(visit, subject, c.req.query('grant')) : undefined;
    const target = grant === undefined ? { person } : { grantId: grant.id };
    const { alive = 0 } = await revokeAll(parts, target, { counts: true, isDryRun: true });
    const asked = { user: person, ask, alive, sessions: sessions.length, ...(grant && { grant }) };
    return renderPage(c, askUserPage({ ...view, ...asked }, setting));
  }
  const [user, consents, grants] = await Promise.all([
    withState(parts, person),
    consentsOf(parts, subject),
    parts.storage.grantsOf(subject),
  ]);
  const isAdministrator = user.groups?.includes(of.adminGroup) === true;
  const shown = { user, isAdministrator, sessions, consents, grants };
  return renderPage(c, userPage({ ...view, ...shown }, setting));
}

function listOf(visit: Visit) {
  const { console: of, parts } = visit;
  return readList(
    visit,
    'users',
    async ({ search, after, limit }) => {
      const wish = { ...(search !== '' && { search }), ...(after !== '' && { after }), limit };
      const users: Listed[] = [];
      for await (const some of pagesOf(parts, wish)) users.push(...some);
      return users.map((user) => rowOf(user, of.adminGroup));
    },
    ({ name }) => name,
  );
}

/** @throws {OperationRefused} the user has no such grant, or no longer */
async function requireGrant({ parts }: Visit, subject: string, id: string | undefined): Promise<GrantRecord> {
  const grant = (await parts.storage.grantsOf(subject)).find((one) => one.id === id);
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
export function rowOf(user: Listed, adminGroup: string): ListRow {
  const { subject, name, claims, disabledAtMs, groups } = user;
  const isAdministrator = groups?.includes(adminGroup) === true;
  return {
    ...{ key: subject, name },
    details: [claims.name, claims.email].filter((one) => typeof one === 'string'),
    badges: badgesOf({ isAdministrator, disabledAtMs }),
  };
}

function badgesOf({
  isAdministrator,
  disabledAtMs,
}: {
  readonly isAdministrator: boolean;
  readonly disabledAtMs: number | undefined;
}): readonly Badge[] {
  return [
    ...(isAdministrator ? (['administrators'] as const) : []),
    ...(disabledAtMs === undefined ? [] : (['disabled'] as const)),
  ];
}

export interface UserView extends ConsoleView {
  readonly user: Listed;
  readonly isAdministrator: boolean;
  readonly sessions: readonly StoredSession[];
  readonly consents: readonly Consent[];
  readonly grants: readonly GrantRecord[];
}

/** One user: links `ask-disable`, `ask-end_sessions`, `ask-revoke` and `ask-end_grant`, button `enable`. */
export function userPage(view: UserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, isAdministrator, sessions, consents, grants } = view;
  const { subject, disabledAtMs } = user;
  const claims: readonly Row[] = Object.entries(user.claims).map(([name, value]) => [
    name,
    html`<bdi>${typeof value === 'string' ? value : JSON.stringify(value)}</bdi>`,
  ]);
  const ask = (what: Asked) =>
    askLink(thingUrl(base, 'users', subject, { ask: what }), what, words.userChanges[what].yes);
  const list = (rows: readonly Html[]) =>
    rows.length === 0
      ? html`<p class="empty">${words.none}</p>`
      : html`<ul class="rows" role="list">\n${rows}</ul>`;
  const client = (id: string) => html`<a href="${thingUrl(base, 'clients', id)}"><bdi>${id}</bdi></a>`;
  return consoleFrame(view, setting, {
    title: user.name,
    heading: html`${named(user.name)}${badges(badgesOf({ isAdministrator, disabledAtMs }), texts)}`,
    body: html`${section(
      'user',
      words.user,
      termList([
        [words.subject, html`<code>${subject}</code>`],
        [words.createdAt, timeOf(user.createdAtMs, texts)],
        [words.disabledSince, timeOf(disabledAtMs, texts)],
        [words.groups, groupLinks(base, user.groups ?? [])],
        ...claims,
      ]),
    )}${section(
      'sessions',
      words.sessions,
      list(
        sessions.map(
          (one) =>
            html`<li>${browserText(one.userAgent, texts)}<p class="detail">${texts.account.signedIn(timeOf(one.signedInAtMs, texts) ?? html``)}</p></li>\n`,
        ),
      ),
    )}${section(
      'grants',
      words.grants,
      list(
        grants.map(
          ({ id, clientId, scopes, createdAtMs }) =>
            html`<li class="row"><div>${client(clientId)}
<p class="detail">${words.created(timeOf(createdAtMs, texts) ?? html``)}</p>${codes(scopes) ?? ''}</div>
${askLink(thingUrl(base, 'users', subject, { ask: 'end_grant', grant: id }), `end_grant-${id}`, words.endGrant)}</li>\n`,
        ),
      ),
    )}${section(
      'consents',
      words.consents,
      list(
        consents.map(
          ({ clientId, entries }) =>
            html`<li>${client(clientId)}${codes([...new Set(entries.flatMap(({ scopes }) => scopes))]) ?? ''}</li>\n`,
        ),
      ),
    )}${section(
      'actions',
      words.actions,
      html`${actionForm(view, { sub: subject }, [
        ...(disabledAtMs === undefined
          ? isAdministrator
            ? []
            : [ask('disable')]
          : [html`<button id="enable" type="submit" name="do" value="enable">${words.enable}</button>\n`]),
        ask('end_sessions'),
        ask('revoke'),
      ])}
${isAdministrator && disabledAtMs === undefined ? html`<p class="note">${words.administratorStays}</p>\n` : ''}<p class="actions"><a href="${urlOf(base, 'audit', { user: subject })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

function groupLinks(base: string, groups: readonly string[]): Html | undefined {
  return groups.length === 0
    ? undefined
    : html`<span class="listed">${groups.map((name) => html`<a href="${thingUrl(base, 'groups', name)}"><bdi>${name}</bdi></a> `)}</span>`;
}

interface AskUserView extends ConsoleView {
  readonly user: Pick<Listed, 'subject' | 'name'>;
  readonly ask: Asked;
  /** The grant to end. */
  readonly grant?: GrantRecord;
  /** Active tokens. */
  readonly alive: number;
  readonly sessions: number;
}

/** The question before a change of a user: button `console-yes`, link `console-no`. */
export function askUserPage(view: AskUserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, ask, grant, alive, sessions } = view;
  const { title, text, yes } = words.userChanges[ask];
  return consoleFrame(view, setting, {
    title: title(user.name),
    body: html`<p>${text}</p>
${termList([
  [words.client, grant && html`<bdi>${grant.clientId}</bdi>`],
  [words.scopes, grant && codes(grant.scopes)],
  [words.activeTokens, texts.formats.number(alive)],
  [words.sessions, grant === undefined ? texts.formats.number(sessions) : undefined],
])}
${question(
  view,
  {
    ...{ action: urlOf(base, 'users'), does: ask, yes },
    fields: { sub: user.subject, ...(grant && { grant: grant.id }) },
    back: thingUrl(base, 'users', user.subject),
  },
  texts,
)}`,
  });
}
