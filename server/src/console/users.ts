import { html } from 'hono/html';
import { firstOf } from '../admin/audit.ts';
import type { FactorsView, LinkView, LockView } from '../admin/factors.ts';
import { OperationRefused } from '../admin/operation_refused.ts';
import { flag, object, text } from '../admin/schema.ts';
import type { GrantView, SessionView } from '../admin/sessions.ts';
import type { Document } from '../admin/table.ts';
import type { User } from '../admin/users.ts';
import { LISTED_FACTORS, PEOPLE_ORDERS, PEOPLE_STATES } from '../data/people_list.ts';
import { browserText } from '../pages/drawing/browser_names.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { languages, type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Act, type Acts, actLink, type Given } from './acts.ts';
import { labelOf, PERSON_LABELS } from './forms.ts';
import { type ConsoleView, consoleFrame, rowsOr, section, termList } from './frame.ts';
import { isAdminGroup } from './groups.ts';
import { chosen, type ListView, listBody, listOf, SEARCH_MS, thingUrl, wishOf } from './lists.ts';
import { clientCalled, clientsOf } from './names.ts';
import { type AccessLists, clientsIn, type ReachView, reachOf, reachTable } from './reach.ts';
import { locksShown, showSupport } from './support.ts';
import { thingPage } from './things.ts';
import { badgesOf, columnsOf, rowOf } from './user_rows.ts';
import { ago, codes, copied, fullMoment, memberRow, termOf, tokensCounted } from './values.ts';

/** Standard claims with a field of their own (OpenID Connect Core §5.1). */
const CLAIMS = {
  ...{ email: text(), email_verified: flag(), name: text(), given_name: text(), family_name: text() },
  ...{ phone_number: text(), phone_number_verified: flag(), nickname: text(), birthdate: text() },
  ...{ locale: text(), zoneinfo: text(), picture: text(), profile: text(), website: text() },
};

const SHOWN_FIRST = ['email', 'email_verified', 'name'].map((name) => `claims.${name}`);

const PERSON = {
  parts: {
    profile: Object.keys(CLAIMS)
      .map((name) => `claims.${name}`)
      .filter((name) => !SHOWN_FIRST.includes(name)),
  },
  inner: { claims: CLAIMS },
  labels: PERSON_LABELS,
} as const;

/** More groups than fit on a page are typed. */
const MAX_CHOICES = 200;

async function groupChoices({ call }: Visit, except: readonly string[] = []) {
  const { items, next_cursor: next } = await call('listGroups', { limit: MAX_CHOICES });
  return next === undefined
    ? items.map(({ name }) => name).filter((name) => !except.includes(name))
    : undefined;
}

/** What ends with a change: numbers of active tokens and sessions. */
const endings: Act['facts'] = async ({ call }, { sub = '' }, texts) => {
  const [tokens, { items: sessions }] = await Promise.all([
    call('revokeAll', { sub, dry_run: true }),
    call('listSessions', { sub }),
  ]);
  return [tokensCounted(tokens, texts), [texts.console.sessions, texts.formats.number(sessions.length)]];
};

const OF_USER = { sub: 'sub' };

/** Grants whose active tokens a question counts. */
const MAX_GRANTS_COUNTED = 20;

/** What ends with the access of one application. */
const applicationEnds: NonNullable<Act['facts']> = async ({ call }, { sub = '', client = '' }, texts) => {
  const { console: words, formats } = texts;
  const lists = await accessLists({ call }, sub);
  const grants = lists.grants.filter(({ client_id: id }) => id === client);
  const { isActive, consent, scopes, resources, applications = [] } = reachOf(client, lists);
  if (!isActive && consent === undefined) throw new OperationRefused('not_found', ['not_of_user']);
  const tokens = await Promise.all(
    grants.slice(0, MAX_GRANTS_COUNTED).map(({ id }) => call('revokeAll', { grant_id: id, dry_run: true })),
  );
  const active = tokens.reduce((total, one) => total + (one.active ?? 0), 0);
  const isLeast = grants.length > tokens.length || tokens.some(({ has_more: hasMore }) => hasMore);
  const through = applications.filter((id) => id !== client);
  return [
    [words.client, html`<bdi>${client}</bdi>`],
    [words.reach.through, through.length === 0 ? undefined : html`<bdi>${formats.list(through)}</bdi>`],
    [words.reach.access, codes([...scopes, ...resources])],
    [words.reach.grants, grants.length === 0 ? undefined : formats.number(grants.length)],
    ...(isActive ? [tokensCounted({ revoked: false, active, has_more: isLeast }, texts)] : []),
    [words.reach.given, consent && words.reach.isWithdrawn],
  ];
};

const applicationName: NonNullable<Act['names']> = (visit, { client = '' }) => clientCalled(visit, client);

/** Ends what a consent has allowed, and the consent. */
function withdrawing(done: 'application_ended' | 'consent_withdrawn'): Act {
  return {
    operation: 'withdrawConsent',
    of: { sub: 'sub', client: 'client' },
    ...{ asks: true, names: applicationName, facts: applicationEnds, done },
    next: (_, { sub = '' }) => ({ sub }),
  };
}

/** What applications have of a user. */
async function accessLists({ call }: Pick<Visit, 'call'>, sub: string): Promise<AccessLists> {
  const [consents, grants, acting] = await Promise.all([
    call('listConsents', { sub }),
    call('listGrants', { sub }),
    call('listActing', { sub }),
  ]);
  return { consents: consents.items, grants: grants.items, acting: acting.items };
}

/** Issuances on the page of a user, at most. */
const MAX_ISSUANCES = 200;

/** Events that are read to find them, at most: some milliseconds, however long the trail is. */
const MAX_EVENTS_READ = 5000;

/** When clients last got a token for a user, among the latest issuances. */
async function issuancesOf(
  { console: parts, session }: Visit,
  subject: string,
): Promise<ReachView['issuedAt']> {
  const { auditTrail } = parts.partsOf(session.person.subject);
  const found = auditTrail.before(undefined, { type: 'token_issued', subject }, MAX_EVENTS_READ);
  const { events } = await firstOf(found, MAX_ISSUANCES);
  return (clientId) => events.find((event) => event.clientId === clientId)?.atMs;
}

export const USERS: Acts = {
  page: 'users',
  nameOf: async ({ call }, { sub }) => (sub === undefined ? '' : (await call('getUser', { sub })).username),
  acts: {
    add: {
      operation: 'addUser',
      async form(visit) {
        const groups = await groupChoices(visit);
        const first = ['username', 'password', ...SHOWN_FIRST, 'groups'];
        return {
          spec: {
            ...PERSON,
            ...{
              first,
              secret: ['password'],
              required: ['password'],
              without: ['invitation.email', 'invitation.language'],
            },
            ...(groups !== undefined && { choices: { groups } }),
          },
        };
      },
      changesAdministrators: async (visit, _, { groups = [] }) =>
        [groups].flat().some((group) => isAdminGroup(visit, group)) ? 'add_administrator' : undefined,
      names: async (_, __, { username }) => String(username),
      done: 'user_added',
      next: ({ user }: Document<'addUser'>) => ({ sub: user.sub }),
    },
    invite: {
      operation: 'addUser',
      form: async () => ({
        spec: {
          ...PERSON,
          first: ['username', 'invitation.email', 'invitation.language', 'claims.name'],
          without: ['password', 'groups', 'claims.email', 'claims.email_verified'],
          choices: { 'invitation.language': languages() },
          required: ['invitation.email'],
        },
      }),
      done: 'user_invited',
      next: ({ user }: Document<'addUser'>) => ({ sub: user.sub }),
    },
    edit: {
      operation: 'updateUser',
      of: OF_USER,
      stored: 'getUser',
      form: { ...PERSON, first: ['username', ...SHOWN_FIRST] },
      done: 'user_changed',
    },
    password_link: {
      operation: 'sendPasswordLink',
      of: OF_USER,
      asks: true,
      canUndo: true,
      async facts({ call }, { sub = '' }, texts) {
        const { email = '' } = (await call('getUser', { sub })).claims;
        return [[labelOf('claims.email', texts, PERSON), html`<bdi>${String(email)}</bdi>`]];
      },
      done: 'password_link_sent',
    },
    set_password: {
      operation: 'setPassword',
      of: OF_USER,
      form: { first: ['password'], secret: ['password'] },
      done: 'password_set',
    },
    disable: {
      ...{ operation: 'disableUser', of: OF_USER, asks: true, canUndo: true, facts: endings },
      done: 'user_disabled',
    },
    enable: { operation: 'enableUser', of: OF_USER, done: 'user_enabled' },
    end_sessions: {
      ...{ operation: 'endSessions', of: OF_USER, asks: true, canUndo: true, facts: endings },
      done: 'sessions_ended',
    },
    end_session: {
      operation: 'endSession',
      of: { sub: 'sub', session: 'session' },
      asks: true,
      canUndo: true,
      names: async (visit, given) =>
        browserText((await requireSession(visit, given)).user_agent, textsIn(visit.setting.language)),
      async facts(visit, given, texts) {
        const { signed_in_at: signedInAt } = await requireSession(visit, given);
        return [[texts.console.signedInAt, fullMoment(signedInAt, visit.view.nowMs, texts)]];
      },
      done: 'session_ended',
      next: (_, { sub = '' }) => ({ sub }),
    },
    end_access: { operation: 'endAccess', of: OF_USER, asks: true, facts: endings, done: 'access_ended' },
    end_grant: {
      operation: 'revokeAll',
      also: ['sub', 'grant'],
      asks: true,
      async facts(visit, { sub = '', grant }, texts) {
        const { console: words } = texts;
        const { id, scopes } = await requireGrant(visit, sub, grant);
        const tokens = await visit.call('revokeAll', { grant_id: id, dry_run: true });
        return [[words.scopes, codes(scopes)], tokensCounted(tokens, texts)];
      },
      names: async (visit, { sub = '', grant }) =>
        applicationName(visit, { client: (await requireGrant(visit, sub, grant)).client_id }, {}),
      input: async (_, { sub = '', grant }, visit) => ({
        grant_id: (await requireGrant(visit, sub, grant)).id,
      }),
      done: 'grant_ended',
      next: (_, { sub = '' }) => ({ sub }),
    },
    end_client: {
      operation: 'revokeAll',
      of: { sub: 'sub', client_id: 'client' },
      asks: true,
      ...{ names: applicationName, facts: applicationEnds },
      done: ({ revoked }: Document<'revokeAll'>) => (revoked ? 'application_ended' : 'nothing_changed'),
      next: (_, { sub = '' }) => ({ sub }),
    },
    end_application: withdrawing('application_ended'),
    withdraw_consent: withdrawing('consent_withdrawn'),
    reset_factors: {
      ...{ operation: 'resetFactors', of: OF_USER, asks: true, facts: endings, done: 'factors_removed' },
    },
    remove_factor: {
      operation: 'removeFactor',
      of: { sub: 'sub', factor: 'factor' },
      asks: true,
      async facts(visit, given, texts, values) {
        const found = await requireFactor(visit, given);
        return [[found.kind, found.said], ...((await endings?.(visit, given, texts, values)) ?? [])];
      },
      names: async (visit, given) => (await requireFactor(visit, given)).unseen,
      done: 'factor_removed',
      next: (_, { sub = '' }) => ({ sub }),
    },
    confirm_factors: {
      operation: 'confirmFactors',
      of: OF_USER,
      asks: true,
      canUndo: true,
      done: ({ factors_confirmed: isConfirmed }: Document<'confirmFactors'>) =>
        isConfirmed ? 'factors_confirmed' : 'nothing_changed',
    },
    unlink: {
      operation: 'removeLink',
      of: { sub: 'sub', link: 'link' },
      asks: true,
      names: async (visit, given) => (await requireLink(visit, given)).provider,
      facts: async (visit, given, { console: words }) => [
        [words.accountThere, html`<bdi>${(await requireLink(visit, given)).label}</bdi>`],
      ],
      done: 'link_removed',
      next: (_, { sub = '' }) => ({ sub }),
    },
    unlock: { operation: 'unlockUser', of: OF_USER, done: 'user_unlocked' },
    join: {
      operation: 'addMember',
      of: OF_USER,
      async form(visit, { sub = '' }) {
        const { groups } = await visit.call('getUser', { sub });
        const group = await groupChoices(visit, groups);
        return {
          schema: object({ group: text(undefined, { minLength: 1, maxLength: 128 }) }),
          spec: { first: ['group'], ...(group !== undefined && { choices: { group } }) },
        };
      },
      changesAdministrators: async (visit, _, { group }) =>
        isAdminGroup(visit, group) ? 'join_administrators' : undefined,
      done: ({ changed }: Document<'addMember'>) => (changed ? 'member_added' : 'nothing_changed'),
    },
    leave: {
      operation: 'removeMember',
      of: { sub: 'sub', group: 'group' },
      asks: true,
      canUndo: true,
      names: async (_, { group = '' }) => group,
      changesAdministrators: async (visit, { group }) =>
        isAdminGroup(visit, group) ? 'leave_administrators' : undefined,
      done: ({ changed }: Document<'removeMember'>) => (changed ? 'member_removed' : 'nothing_changed'),
      next: (_, { sub = '' }) => ({ sub }),
    },
    remove: {
      operation: 'removeUser',
      of: OF_USER,
      asks: true,
      facts: endings,
      done: 'user_removed',
      next: () => ({}),
    },
  },
};

/** `GET /console/users`: the list. With `sub`, one user; with `ask` too, a form or question. */
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
    const { group = '' } = c.req.query();
    const users = await call('listUsers', {
      ...wishOf(visit),
      ...chosen(visit, 'state', PEOPLE_STATES),
      ...chosen(visit, 'factor', LISTED_FACTORS),
      ...chosen(visit, 'sort', PEOPLE_ORDERS),
      ...(group !== '' && { group }),
      activity: true,
      within_ms: SEARCH_MS,
    });
    const texts = textsIn(setting.language);
    const list = listOf(visit, 'users', users, columnsOf(texts), (user) =>
      rowOf(user, adminGroup, { texts, nowMs: view.nowMs }),
    );
    return renderPage(c, usersPage({ ...list, shortcuts: shortcutsOf(adminGroup, texts) }, setting));
  }
  if (c.req.query('show') === 'sign_in') {
    const unlock = (texts: Texts) => actLink(USERS, 'unlock', view.base, { sub }, texts);
    return showSupport(visit, sub, unlock);
  }
  const user = await call('getUser', { sub });
  const [sessions, access, issuedAt, links, locks, factors, tokens] = await Promise.all([
    call('listSessions', { sub }),
    accessLists(visit, sub),
    issuancesOf(visit, sub),
    call('listLinks', { sub }),
    call('listLocks', { sub }),
    call('getFactors', { sub }),
    call('listUserTokens', { sub }),
  ]);
  const clients = await clientsOf(visit.console.partsOf(visit.session.person.subject), clientsIn(access));
  const shown = {
    ...{ user, factors, sessions: sessions.items },
    ...{ ...access, issuedAt, tokens: tokens.items },
    client: (id: string) => clients.get(id),
    ...{ links: links.items, locks: locks.items },
    adminGroup,
    isOwn: sub === visit.session.person.subject,
  };
  return renderPage(c, userPage({ ...view, ...shown }, setting));
}

/** @throws {OperationRefused} the user has no such thing, or no longer */
function requireOf<T extends { readonly id: string }>(all: readonly T[], wanted: string | undefined): T {
  const found = all.find(({ id }) => id === wanted);
  if (found === undefined) throw new OperationRefused('not_found', ['not_of_user']);
  return found;
}

async function requireSession({ call }: Visit, { sub = '', session }: Given): Promise<SessionView> {
  return requireOf((await call('listSessions', { sub })).items, session);
}

async function requireLink({ call }: Visit, { sub = '', link }: Given): Promise<LinkView> {
  return requireOf((await call('listLinks', { sub })).items, link);
}

async function requireFactor(
  { call, setting, view }: Visit,
  { sub = '', factor }: Given,
): Promise<FactorRow> {
  const factors = await call('getFactors', { sub });
  return requireOf(factorRows(factors, view.nowMs, textsIn(setting.language)), factor);
}

/** @throws {OperationRefused} the user has no such grant, or no longer */
async function requireGrant({ call }: Visit, sub: string, id: string | undefined): Promise<GrantView> {
  return requireOf((await call('listGrants', { sub })).items, id);
}

function shortcutsOf(adminGroup: string, { console: words }: Texts): ListView['shortcuts'] {
  return [
    { title: words.filters.all, parameters: {} },
    { title: words.badges.administrators, parameters: { group: adminGroup } },
    { title: words.badges.disabled, parameters: { state: 'disabled' } },
    { title: words.badges.locked, parameters: { state: 'locked' } },
    { title: words.withoutFactor, parameters: { factor: 'none' } },
  ];
}

/** `/console/users`: the list, links `ask-add` and `ask-invite`. */
export function usersPage(view: ListView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const acts = ['add', 'invite'].map((name) =>
    actLink(USERS, name, view.base, {}, texts, { isPrimary: name === 'add' }),
  );
  return consoleFrame(view, setting, {
    title: texts.console.pages.users,
    primary: html`<div class="actions">${acts}</div>`,
    body: listBody(view, texts),
  });
}

export interface UserView extends ConsoleView, ReachView {
  readonly user: User;
  readonly adminGroup: string;
  /** Whether the administrator looks at themselves. */
  readonly isOwn: boolean;
  readonly sessions: readonly SessionView[];
  readonly links: readonly LinkView[];
  readonly locks: readonly LockView[];
  readonly factors: FactorsView;
}

/** One user: a link or button for each act. */
export function userPage(view: UserView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, user, adminGroup, isOwn, sessions, nowMs } = view;
  const { sub, disabled_at: disabledAt } = user;
  const isAdministrator = user.groups.includes(adminGroup);
  const claims = Object.entries(user.claims).map(([name, value]) =>
    memberRow(name, value, texts, labelOf(`claims.${name}`, texts, PERSON)),
  );
  const act = (name: string) => actLink(USERS, name, base, { sub }, texts);
  const rowAct = (name: string, given: Given, id: string, unseen = '') =>
    actLink(USERS, name, base, { sub, ...given }, texts, { id, unseen });
  const { countFrom, mayGetLink, held } = signInOf(view, texts);
  const isDisabled = disabledAt !== undefined;
  const isLocked = view.locks.length > 0;
  const primary = isLocked ? 'unlock' : isDisabled ? 'enable' : 'edit';
  const others = [
    ...['edit', ...(isLocked && isDisabled ? ['enable'] : [])].filter((name) => name !== primary),
    ...(!isOwn && mayGetLink ? ['password_link'] : []),
    ...(isOwn ? [] : ['set_password']),
    ...(!isOwn && countFrom !== undefined ? ['confirm_factors'] : []),
    ...(!isOwn && held.length > 0 ? ['reset_factors'] : []),
    ...(isDisabled || isAdministrator ? [] : ['disable']),
    ...['end_sessions', 'end_access', ...(isOwn ? [] : ['remove'])],
  ];
  return thingPage(view, setting, {
    ...{ name: user.username, given: { sub }, id: sub, badges: badgesOf(user, isAdministrator, isLocked) },
    primary: actLink(USERS, primary, base, { sub }, texts, { isPrimary: true }),
    links: html`<a id="sign-in" class="button" href="${thingUrl(base, 'users', sub, { show: 'sign_in' })}">${words.support.link}</a>\n`,
    ...{ events: { user: sub }, acts: others.map(act) },
    note: isAdministrator && !isDisabled ? words.administratorStays : undefined,
    columns: [
      html`${section(
        'user',
        words.user,
        termList([
          [termOf('created_at', words.createdAt), fullMoment(user.created_at, nowMs, texts)],
          [termOf('disabled_at', words.disabledSince), fullMoment(disabledAt, nowMs, texts)],
          ...claims,
        ]),
      )}${section(
        'user-groups',
        words.groups,
        rowsOr(
          user.groups.map(
            (name) =>
              html`<li class="row"><div><a href="${thingUrl(base, 'groups', name)}"><bdi>${name}</bdi></a></div>${isOwn && name === adminGroup ? html`<p class="detail">${words.administratorItself}</p>` : rowAct('leave', { group: name }, name, name)}</li>\n`,
          ),
          words.none,
        ),
        act('join'),
      )}`,
      html`${signInSection(view, texts)}${section(
        'sessions',
        words.sessions,
        rowsOr(
          sessions.map(
            (one) =>
              html`<li class="row"><div>${browserText(one.user_agent, texts)}<p class="detail">${texts.account.signedIn(ago(one.signed_in_at, nowMs, texts))} ${copied(one.id, texts)}</p></div>${rowAct('end_session', { session: one.id }, one.id, browserText(one.user_agent, texts))}</li>\n`,
          ),
          words.none,
        ),
      )}`,
    ],
    below: section(
      'applications',
      words.reach.title,
      reachTable(
        view,
        ({ act, given }, name) => rowAct(act, given, Object.values(given).join(), name),
        texts,
      ),
    ),
  });
}

/** What the acts of a sign-in depend on. */
function signInOf({ user, factors, nowMs }: UserView, texts: Texts) {
  return {
    countFrom: factors.count_from,
    held: factorRows(factors, nowMs, texts),
    mayGetLink:
      user.claims.email_verified === true &&
      user.directory_id === undefined &&
      user.disabled_at === undefined,
  };
}

/** How the user signs in: password, factors, links to providers, and what too many attempts have locked. */
function signInSection(view: UserView, texts: Texts): Html {
  const { console: words } = texts;
  const { base, user, links, locks, isOwn, nowMs } = view;
  const { sub } = user;
  const { countFrom, held } = signInOf(view, texts);
  return section(
    'ways-in',
    words.signIn,
    html`${termList([
      [words.password, user.has_password ? words.present : words.absent],
      [words.countFrom, fullMoment(countFrom, nowMs, texts)],
      [words.support.locks, locks.length === 0 ? undefined : locksShown(locks, texts)],
    ])}
${
  held.length + links.length === 0
    ? ''
    : html`<ul class="rows" role="list">
${held.map(
  ({ id, kind, said, unseen }) =>
    html`<li class="row"><div>${kind}: ${said}</div>${isOwn ? '' : actLink(USERS, 'remove_factor', base, { sub, factor: id }, texts, { id, unseen })}</li>\n`,
)}${links.map(
  ({ id, provider, label }) =>
    html`<li class="row"><div><bdi>${provider}</bdi>: <bdi>${label}</bdi></div>${isOwn ? '' : actLink(USERS, 'unlink', base, { sub, link: id }, texts, { id, unseen: label })}</li>\n`,
)}</ul>`
}
${isOwn ? html`<p class="note">${words.ownSignIn}</p>\n` : ''}`,
  );
}

/** A factor on the page of its user. */
interface FactorRow {
  readonly id: string;
  readonly kind: string;
  readonly said: Html;
  /** What names it for screen readers. */
  readonly unseen: string;
}

function factorRows(factors: FactorsView, nowMs: number, texts: Texts): readonly FactorRow[] {
  const { console: words, formats } = texts;
  const { authenticator_app_added_at: appAddedAt, recovery_codes: codesLeft } = factors;
  const keyRow =
    (kind: string) =>
    ({ id, name }: FactorsView['security_keys'][number]): FactorRow => ({
      ...{ id, kind, unseen: `${kind}: ${name}` },
      said: html`<bdi>${name}</bdi>`,
    });
  return [
    ...factors.passkeys.map(keyRow(words.filterValues.factor.passkey)),
    ...factors.security_keys.map(keyRow(words.filterValues.factor.security_key)),
    ...(appAddedAt === undefined
      ? []
      : [
          {
            ...{ id: 'authenticator_app', kind: words.authenticatorApp, unseen: words.authenticatorApp },
            said: html`${words.created(ago(appAddedAt, nowMs, texts))}`,
          },
        ]),
    ...(codesLeft === 0
      ? []
      : [
          {
            ...{ id: 'recovery_codes', kind: words.recoveryCodes, unseen: words.recoveryCodes },
            said: html`${formats.number(codesLeft)}`,
          },
        ]),
  ];
}
