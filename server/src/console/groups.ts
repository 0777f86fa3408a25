import { SIGN_IN_POLICIES } from '@grantd/core';
import { html } from 'hono/html';
import {
  clientsFor,
  groupVersion,
  MAX_DESCRIPTION,
  requireGroup,
  requireNotAdminGroup,
  requireSubject,
} from '../admin/groups.ts';
import { etagOf } from '../admin/in_process.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { type Listed, pagesOf } from '../admin/user_rules.ts';
import type { Group } from '../data/groups.ts';
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
  section,
  termList,
  timeOf,
  urlOf,
} from './frame.ts';
import { badges, type ListRow, type ListView, listBody, pageOfRows, readList, thingUrl } from './lists.ts';
import { rowOf as rowOfUser } from './users.ts';

const MEMBERS_PER_PAGE = 50;

/** `GET /console/groups`: the list. With `name`, one group; with `ask` too, the question before a change. */
export async function showGroups(visit: Visit): Promise<Response> {
  const { c, parts, setting, view } = visit;
  const name = c.req.query('name');
  if (name === undefined) return renderPage(c, groupsPage(await listOf(visit), setting));
  const group = await requireGroup(parts, name);
  const { ask, sub } = c.req.query();
  if (ask === 'remove') {
    requireNotAdminGroup(parts, group.name);
    const clients = await clientsFor(parts, group.name);
    return renderPage(c, askGroupPage({ ...view, group, ask, clients }, setting));
  }
  if (ask === 'leave') {
    const member = await requireSubject(parts, sub ?? '');
    const clients = await clientsFor(parts, group.name);
    return renderPage(c, askGroupPage({ ...view, group, ask, member, clients }, setting));
  }
  return renderPage(c, groupPage(await groupOf(visit, group), setting));
}

/** `POST /console/groups`: adds the group in `name`, or does what `do` says with it. */
export async function submitGroups(visit: Visit): Promise<Response> {
  const { c, call, parts, setting, form, view } = visit;
  const name = form.get('name') ?? '';
  if (form.get('do') === 'add') {
    const typed = { name: name.trim(), description: (form.get('description') ?? '').trim() };
    const problem = await problemOf(() => call('addGroup', typed));
    if (problem !== undefined)
      return renderPage(c, groupsPage({ ...(await listOf(visit)), typed, problem }, setting));
    return perform(visit, { add: async () => 'group_added' }, thingUrl(view.base, 'groups', typed.name));
  }
  const group = await requireGroup(parts, name);
  const username = (form.get('username') ?? '').trim();
  const joining = form.get('do') === 'join' ? await parts.people.byName(username) : undefined;
  if (form.get('do') === 'join' && joining === undefined)
    return renderPage(c, groupPage({ ...(await groupOf(visit, group)), username }, setting));
  const isRemoval = form.get('do') === 'remove';
  const changes: Readonly<Record<string, () => Promise<ConsoleNotice>>> = {
    async join() {
      const membership = { group: group.name, sub: joining?.subject ?? '' };
      const { document } = await call('addMember', membership);
      return document.changed ? 'member_added' : 'nothing_changed';
    },
    async leave() {
      const membership = { group: group.name, sub: form.get('sub') ?? '' };
      const { document } = await call('removeMember', membership);
      return document.changed ? 'member_removed' : 'nothing_changed';
    },
    async change() {
      const policy = form.get('policy') ?? '';
      const signInPolicy = SIGN_IN_POLICIES.find((one) => one === policy) ?? null;
      const description = (form.get('description') ?? '').trim();
      if (description === group.description && signInPolicy === (group.signInPolicy ?? null))
        return 'nothing_changed';
      const wanted = { group: group.name, description, sign_in_policy: signInPolicy };
      // A form that shows something else changes nothing.
      await call('updateGroup', wanted, form.get('shown') ?? '');
      return 'group_changed';
    },
    async remove() {
      await call('removeGroup', { group: group.name });
      return 'group_removed';
    },
  };
  return perform(
    visit,
    changes,
    isRemoval ? urlOf(view.base, 'groups') : thingUrl(view.base, 'groups', group.name),
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

async function listOf(visit: Visit): Promise<GroupsView> {
  const { console: of, parts, setting } = visit;
  const { formats, console: words } = textsIn(setting.language);
  const rowOf = ({ name, members, description }: Group): ListRow => ({
    ...{ key: name, name },
    details: [words.memberCount(members, formats.number(members)), description].filter((one) => one !== ''),
    badges: name === of.adminGroup ? ['administrators'] : [],
  });
  const list = await readList(visit, 'groups', async (wish) =>
    pageOfRows((await parts.groups.list()).map(rowOf), wish),
  );
  return { ...list, typed: { name: '', description: '' } };
}

async function groupOf(visit: Visit, group: Group): Promise<GroupView> {
  const { c, console: of, parts, view } = visit;
  const { after = '' } = c.req.query();
  const wish = {
    ...{ group: group.name, limit: MEMBERS_PER_PAGE + 1 },
    ...(after !== '' && { after }),
  };
  const found: Listed[] = [];
  for await (const some of pagesOf(parts, wish)) found.push(...some);
  const members = found.slice(0, MEMBERS_PER_PAGE);
  const last = found.length > MEMBERS_PER_PAGE ? members.at(-1)?.name : undefined;
  const next = last === undefined ? undefined : thingUrl(view.base, 'groups', group.name, { after: last });
  return {
    ...view,
    group,
    members: members.map((member) => rowOfUser(member, '')),
    clients: await clientsFor(parts, group.name),
    isOfAdministrators: group.name === of.adminGroup,
    own: visit.session.person.subject,
    ...(next !== undefined && { next }),
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
  readonly group: Group;
  readonly members: readonly ListRow[];
  /** IDs of the clients that are for the group. */
  readonly clients: readonly string[];
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
  const { base, group, clients, isOfAdministrators, username } = view;
  const invalid = username === undefined ? '' : html` aria-describedby="problem" aria-invalid="true"`;
  return consoleFrame(view, setting, {
    title: group.name,
    heading: html`${named(group.name)}${badges(isOfAdministrators ? ['administrators'] : [], texts)}`,
    isProblem: username !== undefined,
    ...(username !== undefined && { status: 404 }),
    body: html`${section(
      'group',
      words.group,
      termList([
        [words.description, group.description && html`<bdi>${group.description}</bdi>`],
        [words.signInPolicy, group.signInPolicy && words.policies[group.signInPolicy]],
        [words.createdAt, timeOf(group.createdAtMs, texts)],
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
  const { base, group } = view;
  return html`<form method="post" action="${urlOf(base, 'groups')}" class="fields">
${hiddenFields(view, { name: group.name, shown: etagOf(groupVersion(group)) })}<label for="description">${words.description}</label>
<input id="description" name="description" value="${group.description}" maxlength="${String(MAX_DESCRIPTION)}" autocomplete="off">
<label for="policy">${words.signInPolicy}</label>
<select id="policy" name="policy" aria-describedby="policy-text">
<option value="">${words.policies.none}</option>
${SIGN_IN_POLICIES.map((policy) => html`<option value="${policy}"${policy === group.signInPolicy ? html` selected` : ''}>${words.policies[policy]}</option>\n`)}</select>
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
  readonly group: Group;
  readonly ask: 'remove' | 'leave';
  /** The member who leaves. */
  readonly member?: Pick<Listed, 'subject' | 'name'>;
  readonly clients: readonly string[];
}

/** The question before a change of a group: button `console-yes`, link `console-no`. */
export function askGroupPage(view: AskGroupView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, group, ask, member, clients } = view;
  const { title, text, yes } = words.groupChanges[ask];
  return consoleFrame(view, setting, {
    title: title(group.name, member?.name ?? ''),
    body: html`<p>${text}</p>
${termList([
  [words.members, member === undefined ? texts.formats.number(group.members) : undefined],
  [words.clientsFor, clients.length === 0 ? undefined : html`<bdi>${texts.formats.list(clients)}</bdi>`],
])}
${question(
  view,
  {
    ...{ action: urlOf(base, 'groups'), does: ask, yes },
    fields: { name: group.name, ...(member && { sub: member.subject }) },
    back: thingUrl(base, 'groups', group.name),
  },
  texts,
)}`,
  });
}
