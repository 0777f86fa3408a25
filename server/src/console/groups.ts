import { SIGN_IN_POLICIES } from '@grantd/core';
import { html } from 'hono/html';
import { MAX_DESCRIPTION } from '../admin/groups.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import type { Document } from '../admin/table.ts';
import type { User } from '../admin/users.ts';
import { trimmed } from '../data/names.ts';
import { named } from '../pages/drawing/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  askLink,
  type ConsoleNotice,
  type ConsoleView,
  consoleFrame,
  hiddenFields,
  nextLink,
  problemLine,
  question,
  questionFrame,
  section,
  termList,
  timeOf,
  urlOf,
} from './frame.ts';
import {
  badges,
  type ListRow,
  type ListView,
  listBody,
  listOf,
  nextAfter,
  thingUrl,
  wishOf,
} from './lists.ts';
import { rowOf as rowOfUser } from './users.ts';

/** `GET /console/groups`: the list. With `name`, one group; with `ask` too, the question before a change. */
export async function showGroups(visit: Visit): Promise<Response> {
  const { c, call, setting, view } = visit;
  const name = c.req.query('name');
  if (name === undefined) return renderPage(c, groupsPage(await groupsOf(visit), setting));
  const { ask, sub = '' } = c.req.query();
  if (ask !== 'remove' && ask !== 'leave')
    return renderPage(c, groupPage(await groupOf(visit, name), setting));
  const group = await call('getGroup', { group: name });
  if (ask === 'remove') await call('removeGroup', { group: group.name, dry_run: true });
  const member = ask === 'leave' ? { member: await call('getUser', { sub }) } : {};
  return renderPage(c, askGroupPage({ ...view, group, ask, ...member }, setting));
}

/** `POST /console/groups`: adds the group in `name`, or does what `do` says with it. */
export async function submitGroups(visit: Visit): Promise<Response> {
  const { c, call, versioned, setting, form, view } = visit;
  const typedName = form.get('name') ?? '';
  const does = form.get('do');
  if (does === 'add') {
    const typed = { name: trimmed(typedName), description: (form.get('description') ?? '').trim() };
    const problem = await problemOf(() => call('addGroup', typed));
    if (problem !== undefined)
      return renderPage(c, groupsPage({ ...(await groupsOf(visit)), typed, problem }, setting));
    return perform(visit, { add: async () => 'group_added' }, thingUrl(view.base, 'groups', typed.name));
  }
  const group = await call('getGroup', { group: typedName });
  const { name } = group;
  const username = trimmed(form.get('username') ?? '');
  const [joining] = does === 'join' && username !== '' ? (await call('listUsers', { username })).items : [];
  if (does === 'join' && joining === undefined)
    return renderPage(c, groupPage({ ...(await groupOf(visit, name)), username }, setting));
  const changes: Readonly<Record<string, () => Promise<ConsoleNotice>>> = {
    async join() {
      const { changed } = await call('addMember', { group: name, sub: joining?.sub ?? '' });
      return changed ? 'member_added' : 'nothing_changed';
    },
    async leave() {
      const { changed } = await call('removeMember', { group: name, sub: form.get('sub') ?? '' });
      return changed ? 'member_removed' : 'nothing_changed';
    },
    async change() {
      const policy = SIGN_IN_POLICIES.find((one) => one === form.get('policy')) ?? null;
      const description = (form.get('description') ?? '').trim();
      if (description === group.description && policy === (group.sign_in_policy ?? null))
        return 'nothing_changed';
      // A form that shows something else changes nothing.
      const shown = form.get('shown') ?? '';
      await versioned('updateGroup', { group: name, description, sign_in_policy: policy }, shown);
      return 'group_changed';
    },
    async remove() {
      await call('removeGroup', { group: name });
      return 'group_removed';
    },
  };
  return perform(
    visit,
    changes,
    does === 'remove' ? urlOf(view.base, 'groups') : thingUrl(view.base, 'groups', name),
  );
}

type AddProblem = 'taken' | 'invalid';

async function problemOf(add: () => Promise<unknown>): Promise<AddProblem | undefined> {
  try {
    await add();
    return undefined;
  } catch (error) {
    if (error instanceof InvalidInput) return 'invalid';
    if (error instanceof OperationRefused && error.kind === 'conflict') return 'taken';
    throw error;
  }
}

async function groupsOf(visit: Visit): Promise<GroupsView> {
  const {
    call,
    setting,
    console: { adminGroup },
  } = visit;
  const texts = textsIn(setting.language);
  const page = await call('listGroups', wishOf(visit));
  const list = listOf(visit, 'groups', page, (one) => rowOf(one, adminGroup, texts));
  return { ...list, typed: { name: '', description: '' } };
}

/** A group as a row of a list. */
export function rowOf(
  { name, members, description }: Document<'listGroups'>['items'][number],
  adminGroup: string,
  { formats, console: words }: Texts,
): ListRow {
  return {
    ...{ key: name, name },
    details: [words.memberCount(members, formats.number(members)), description].filter((one) => one !== ''),
    badges: name === adminGroup ? ['administrators'] : [],
  };
}

async function groupOf(visit: Visit, name: string): Promise<GroupView> {
  const {
    call,
    versioned,
    view,
    session,
    console: { adminGroup },
  } = visit;
  const { document: group, version } = await versioned('getGroup', { group: name });
  const { search: _, ...wish } = wishOf(visit);
  const members = await call('listUsers', { ...wish, group: group.name });
  const after = nextAfter(members);
  return {
    ...{ ...view, group, version },
    members: members.items.map((member) => rowOfUser(member, '')),
    isOfAdministrators: group.name === adminGroup,
    own: session.person.subject,
    ...(after !== undefined && { next: thingUrl(view.base, 'groups', group.name, { after }) }),
  };
}

export interface GroupsView extends ListView {
  readonly typed: { readonly name: string; readonly description: string };
  /** Why the group in `typed` was not added. */
  readonly problem?: AddProblem;
}

/** `/console/groups`: the list, and fields `name` and `description` with button `add-group`. */
export function groupsPage(view: GroupsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { typed, problem } = view;
  const invalid = problem === undefined ? '' : html` aria-describedby="problem" aria-invalid="true"`;
  return consoleFrame(view, setting, {
    title: words.pages.groups,
    isProblem: problem !== undefined,
    ...(problem !== undefined && { status: problem === 'taken' ? 409 : 400 }),
    body: html`${listBody(view, texts)}
${section(
  'new-group',
  words.newGroup,
  html`<form method="post" action="${urlOf(view.base, 'groups')}" class="fields">
${hiddenFields(view, {})}${problem === undefined ? '' : problemLine(words.groupProblems[problem])}
<label for="name">${words.groupName}</label>
<input id="name" name="name" value="${typed.name}" autocomplete="off" spellcheck="false" required${invalid}>
<label for="description">${words.description}</label>
<input id="description" name="description" value="${typed.description}" autocomplete="off">
<button id="add-group" type="submit" name="do" value="add">${words.addGroup}</button>
</form>`,
)}`,
  });
}

export interface GroupView extends ConsoleView {
  readonly group: Document<'getGroup'>;
  /** Sent back, so that the form changes only what it shows. */
  readonly version: string;
  readonly members: readonly ListRow[];
  readonly isOfAdministrators: boolean;
  /** Subject of the user who looks at it. */
  readonly own: string;
  /** URL of the next members. */
  readonly next?: string;
  /** A name that no user has. */
  readonly username?: string;
}

/** One group: field `username`, button `join`, fields `description` and `policy`, button `save`, links `ask-remove` and `ask-leave-SUB`. */
export function groupPage(view: GroupView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, group, isOfAdministrators, username } = view;
  const { clients } = group;
  const invalid = username === undefined ? '' : html` aria-describedby="problem" aria-invalid="true"`;
  return consoleFrame(view, setting, {
    title: group.name,
    heading: named(group.name),
    badges: badges(isOfAdministrators ? ['administrators'] : [], texts),
    isProblem: username !== undefined,
    ...(username !== undefined && { status: 404 }),
    body: html`${section(
      'group',
      words.group,
      termList([
        [words.description, group.description && html`<bdi>${group.description}</bdi>`],
        [words.signInPolicy, group.sign_in_policy && words.policies[group.sign_in_policy]],
        [words.createdAt, timeOf(group.created_at, texts)],
        [
          words.clientsFor,
          clients.length === 0
            ? undefined
            : html`<span class="listed">${clients.map((id) => html`<a href="${thingUrl(base, 'clients', id)}"><bdi>${id}</bdi></a> `)}</span>`,
        ],
      ]),
    )}${section('members', `${words.members} (${texts.formats.number(group.members)})`, membersOf(view, texts))}${section(
      'new-member',
      words.newMember,
      html`${isOfAdministrators ? html`<p class="note">${words.administratorsText}</p>\n` : ''}<form method="post" action="${urlOf(base, 'groups')}" class="fields">
${hiddenFields(view, { name: group.name })}${username === undefined ? '' : problemLine(words.noSuchUser)}
<label for="username">${words.username}</label>
<input id="username" name="username" value="${username ?? ''}" autocomplete="off" autocapitalize="none" spellcheck="false" required${invalid}>
<button id="join" type="submit" name="do" value="join">${words.addMember}</button>
</form>`,
    )}${section('change', words.changeGroup, changeForm(view, texts))}${section(
      'actions',
      words.actions,
      html`${
        isOfAdministrators
          ? ''
          : actionForm(view, { name: group.name }, [
              askLink(
                thingUrl(base, 'groups', group.name, { ask: 'remove' }),
                'remove',
                words.groupChanges.remove.yes,
              ),
            ])
      }<p class="actions"><a href="${urlOf(base, 'audit', { target: group.name })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

function changeForm(view: GroupView, { console: words }: Texts): Html {
  const { base, group, version } = view;
  return html`<form method="post" action="${urlOf(base, 'groups')}" class="fields">
${hiddenFields(view, { name: group.name, shown: version })}<label for="description">${words.description}</label>
<input id="description" name="description" value="${group.description}" maxlength="${String(MAX_DESCRIPTION)}" autocomplete="off">
<label for="policy">${words.signInPolicy}</label>
<select id="policy" name="policy" aria-describedby="policy-text">
<option value="">${words.policies.none}</option>
${SIGN_IN_POLICIES.map((policy) => html`<option value="${policy}"${policy === group.sign_in_policy ? html` selected` : ''}>${words.policies[policy]}</option>\n`)}</select>
<p class="note" id="policy-text">${words.policyText}</p>
<button id="save" type="submit" name="do" value="change">${words.saveGroup}</button>
</form>`;
}

function membersOf({ base, group, members, isOfAdministrators, own, next }: GroupView, texts: Texts): Html {
  const { console: words } = texts;
  if (members.length === 0) return html`<p class="empty">${words.none}</p>`;
  const leave = ({ key, name }: ListRow) =>
    html`<a id="ask-leave-${key}" class="button ending" href="${thingUrl(base, 'groups', group.name, { ask: 'leave', sub: key })}">${words.groupChanges.leave.yes}<span class="unseen"> ${name}</span></a>`;
  const isOwn = ({ key }: ListRow) => isOfAdministrators && key === own;
  return html`<ul class="rows" role="list">
${members.map((member) => html`<li class="row"><div><a href="${thingUrl(base, 'users', member.key)}"><bdi>${member.name}</bdi></a>${badges(member.badges, texts)}${isOwn(member) ? html`<p class="detail">${words.administratorItself}</p>` : ''}</div>${isOwn(member) ? '' : leave(member)}</li>\n`)}</ul>
${nextLink(next, texts)}`;
}

interface AskGroupView extends ConsoleView {
  readonly group: Document<'getGroup'>;
  readonly ask: 'remove' | 'leave';
  /** The member who leaves. */
  readonly member?: Pick<User, 'sub' | 'username'>;
}

/** The question before a change of a group: button `console-yes`, link `console-no`. */
export function askGroupPage(view: AskGroupView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, group, ask, member } = view;
  const { clients } = group;
  const { title, text, yes } = words.groupChanges[ask];
  return questionFrame(setting, {
    title: title(group.name, member?.username ?? ''),
    body: html`<p>${text}</p>
${termList([
  [words.members, member === undefined ? texts.formats.number(group.members) : undefined],
  [words.clientsFor, clients.length === 0 ? undefined : html`<bdi>${texts.formats.list(clients)}</bdi>`],
])}
${question(
  view,
  {
    ...{ action: urlOf(base, 'groups'), does: ask, yes },
    fields: { name: group.name, ...(member && { sub: member.sub }) },
    back: thingUrl(base, 'groups', group.name),
    canUndo: ask === 'leave',
  },
  texts,
)}`,
  });
}
