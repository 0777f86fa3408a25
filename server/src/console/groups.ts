import { html } from 'hono/html';
import { InvalidInput } from '../admin/operation_refused.ts';
import { object, text } from '../admin/schema.ts';
import type { Document } from '../admin/table.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Acts, actLink } from './acts.ts';
import { type ConsoleView, consoleFrame, rowsOr, section, termList } from './frame.ts';
import {
  badges,
  type Column,
  clientLinks,
  type ListRow,
  type ListView,
  listBody,
  listOf,
  type PageUrls,
  pageLinks,
  pagesAround,
  SEARCH_MS,
  thingUrl,
  wishOf,
} from './lists.ts';
import { clientsCalled, type Names, namesOf } from './names.ts';
import { thingPage } from './things.ts';
import { rowOf as rowOfUser } from './user_rows.ts';
import { copied, fullMoment, memberRow, termOf } from './values.ts';

const ABOUT = ['description', 'sign_in_policy'];

/** Also used by the page of a user. @throws {InvalidInput} there is no such user */
export async function subOf({ call }: Pick<Visit, 'call'>, username: unknown): Promise<string> {
  const [user] = (await call('listUsers', { username: String(username) })).items;
  if (user === undefined) throw new InvalidInput('username', ['no_such_username']);
  return user.sub;
}

/** Whether a name, as it was typed, is that of the group of administrators. */
export function isAdminGroup({ console: parts, session }: Visit, typed: unknown): boolean {
  return parts.partsOf(session.person.subject).caller.isAdminGroup(String(typed));
}

export const GROUPS: Acts = {
  page: 'groups',
  nameOf: async (_, { name = '' }) => name,
  acts: {
    add: {
      operation: 'addGroup',
      form: { first: ['name', ...ABOUT] },
      done: 'group_added',
      next: ({ name }: Document<'addGroup'>) => ({ name }),
    },
    edit: {
      operation: 'updateGroup',
      of: { group: 'name' },
      stored: 'getGroup',
      form: { first: ABOUT },
      asks: ({ sign_in_policy: policy }) => policy !== undefined,
      mayEnd: true,
      done: 'group_changed',
    },
    remove: {
      operation: 'removeGroup',
      of: { group: 'name' },
      asks: true,
      async facts({ call }, { name: group = '' }, { console: words, formats }) {
        const { members } = await call('removeGroup', { group, dry_run: true });
        return [[words.members, formats.number(members)]];
      },
      done: 'group_removed',
      next: () => ({}),
    },
    join: {
      operation: 'addMember',
      of: { group: 'name' },
      form: async () => ({
        schema: object({ username: text(undefined, { minLength: 1, maxLength: 128 }) }),
        spec: { first: ['username'] },
      }),
      input: async ({ username }, _, visit) => ({ sub: await subOf(visit, username) }),
      async changesAdministrators(visit, { name }, { username }) {
        if (!isAdminGroup(visit, name)) return undefined;
        const { groups } = await visit.call('getUser', { sub: await subOf(visit, username) });
        return groups.includes(visit.console.adminGroup) ? undefined : 'join_administrators';
      },
      names: async (visit, _, { username }) =>
        (await visit.call('getUser', { sub: await subOf(visit, username) })).username,
      done: ({ changed }: Document<'addMember'>) => (changed ? 'member_added' : 'nothing_changed'),
    },
    leave: {
      operation: 'removeMember',
      of: { group: 'name', sub: 'sub' },
      asks: true,
      canUndo: true,
      names: async ({ call }, { sub = '' }) => (await call('getUser', { sub })).username,
      changesAdministrators: async (visit, { name }) =>
        isAdminGroup(visit, name) ? 'leave_administrators' : undefined,
      async facts(visit, { name: group = '' }, { console: words, formats }) {
        const { clients } = await visit.call('getGroup', { group });
        const names = await clientsCalled(visit, clients);
        return [[words.clientsFor, names.length === 0 ? undefined : html`<bdi>${formats.list(names)}</bdi>`]];
      },
      done: ({ changed }: Document<'removeMember'>) => (changed ? 'member_removed' : 'nothing_changed'),
      next: (_, { name = '' }) => ({ name }),
    },
  },
};

/** `GET /console/groups`: the list. With `name`, one group; with `ask` too, a form or question. */
export async function showGroups(visit: Visit): Promise<Response> {
  const { c, setting } = visit;
  const name = c.req.query('name');
  return renderPage(
    c,
    name === undefined
      ? groupsPage(await groupsOf(visit), setting)
      : groupPage(await groupOf(visit, name), setting),
  );
}

async function groupsOf(visit: Visit): Promise<ListView> {
  const {
    call,
    setting,
    console: { adminGroup },
  } = visit;
  const texts = textsIn(setting.language);
  const page = await call('listGroups', wishOf(visit));
  return listOf(visit, 'groups', page, columnsOf(texts), (one) => rowOf(one, adminGroup, texts));
}

function columnsOf({ console: words }: Texts): readonly Column[] {
  return [
    { title: words.group, sort: 'name' },
    { title: words.description, size: 'large' },
    { title: words.members, size: 'small' },
    { title: words.signInPolicy },
  ];
}

/** A group as a row of a list. */
export function rowOf(
  { name, members, description, sign_in_policy: policy }: Document<'listGroups'>['items'][number],
  adminGroup: string,
  { formats, console: words }: Texts,
): ListRow {
  const about = description === '' ? undefined : html`<bdi>${description}</bdi>`;
  return {
    cells: [about, formats.number(members), policy && words.policies[policy]],
    ...{ key: name, name },
    details: [words.memberCount(members, formats.number(members)), description].filter((one) => one !== ''),
    badges: name === adminGroup ? ['administrators'] : [],
  };
}

async function groupOf(visit: Visit, name: string): Promise<GroupView> {
  const {
    call,
    view,
    session,
    console: { adminGroup, partsOf },
  } = visit;
  const group = await call('getGroup', { group: name });
  const { search: _, ...wish } = wishOf(visit);
  const members = await call('listUsers', { ...wish, group: group.name, within_ms: SEARCH_MS });
  return {
    ...{ ...view, group },
    names: await namesOf(partsOf(session.person.subject), { clientIds: group.clients }),
    members: members.items.map((member) => rowOfUser(member, '')),
    isOfAdministrators: group.name === adminGroup,
    own: session.person.subject,
    pages: pagesAround(members, (cursor) =>
      thingUrl(view.base, 'groups', group.name, cursor === undefined ? {} : { cursor }),
    ),
  };
}

/** `/console/groups`: the list, and link `ask-add`. */
export function groupsPage(view: ListView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  return consoleFrame(view, setting, {
    title: texts.console.pages.groups,
    primary: actLink(GROUPS, 'add', view.base, {}, texts),
    body: listBody(view, texts),
  });
}

export interface GroupView extends ConsoleView {
  readonly group: Document<'getGroup'>;
  readonly members: readonly ListRow[];
  readonly isOfAdministrators: boolean;
  /** Of its clients. */
  readonly names: Names;
  /** Subject of the user who looks at it. */
  readonly own: string;
  /** URLs of other members. */
  readonly pages: PageUrls;
}

/** One group: links `ask-join`, `ask-edit`, `ask-remove` and `ask-leave-SUB`. */
export function groupPage(view: GroupView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, group, isOfAdministrators } = view;
  const { clients, name } = group;
  const act = (one: string) => actLink(GROUPS, one, base, { name }, texts);
  return thingPage(view, setting, {
    ...{ name, given: { name }, badges: isOfAdministrators ? ['administrators'] : [] },
    primary: actLink(GROUPS, 'join', base, { name }, texts, { isPrimary: true }),
    ...{ events: { target: name }, acts: ['edit', ...(isOfAdministrators ? [] : ['remove'])].map(act) },
    columns: [
      section(
        'group',
        words.group,
        termList([
          [termOf('name', words.columns.name), copied(name, texts, html`<code>${name}</code>`)],
          memberRow('description', group.description || undefined, texts),
          [
            termOf('sign_in_policy', words.signInPolicy),
            group.sign_in_policy && words.policies[group.sign_in_policy],
          ],
          [termOf('created_at', words.createdAt), fullMoment(group.created_at, view.nowMs, texts)],
          [termOf('clients', words.clientsFor), clientLinks(base, clients, view.names)],
        ]),
      ),
      section(
        'members',
        `${words.members} (${texts.formats.number(group.members)})`,
        html`${isOfAdministrators ? html`<p class="note">${words.administratorsText}</p>\n` : ''}${membersOf(view, texts)}`,
      ),
    ],
  });
}

function membersOf({ base, group, members, isOfAdministrators, own, pages }: GroupView, texts: Texts): Html {
  const { console: words } = texts;
  const leave = ({ key, name }: ListRow) =>
    actLink(GROUPS, 'leave', base, { name: group.name, sub: key }, texts, { id: key, unseen: name });
  const isOwn = ({ key }: ListRow) => isOfAdministrators && key === own;
  const rows = members.map(
    (member) =>
      html`<li class="row"><div><a href="${thingUrl(base, 'users', member.key)}"><bdi>${member.name}</bdi></a>${badges(member.badges, texts)}${isOwn(member) ? html`<p class="detail">${words.administratorItself}</p>` : ''}</div>${isOwn(member) ? '' : leave(member)}</li>\n`,
  );
  return html`${rowsOr(rows, pages.next === undefined ? words.none : '')}
${pageLinks(pages, texts)}`;
}
