// The search field of every page: finds users, clients, groups and tokens.
import { isIP } from 'node:net';
import { EVENT_TYPES } from '@grantd/core';
import { html } from 'hono/html';
import { cursorOf, type Page as List } from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { pastedToken } from '../admin/tokens.ts';
import type { User } from '../admin/users.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { rowOf as rowOfClient } from './clients.ts';
import { type ConsoleView, consoleFrame, section, urlOf } from './frame.ts';
import { rowOf as rowOfGroup } from './groups.ts';
import { type ListRow, rowList } from './lists.ts';
import { explain, explainedPage } from './tokens.ts';
import { rowOf as rowOfUser } from './user_rows.ts';

/** Rows of each kind on the page. */
const MAX_SHOWN = 5;

/** Things of each kind that are counted. */
const MAX_COUNTED = 100;

/** Operations refuse longer texts. */
const MAX_TEXT = 200;

/** No token or identifier of one is shorter. */
const MIN_TOKEN = 16;

const SEARCHED = ['users', 'clients', 'groups'] as const;

/** What was found, by kind. */
type Found = Readonly<Record<(typeof SEARCHED)[number], FoundRows>>;

interface FoundRows {
  readonly rows: readonly ListRow[];
  /** At most `MAX_COUNTED`. */
  readonly count: number;
  readonly hasMore: boolean;
}

/** `GET /console/search`: what contains the text in `q`. */
export async function showSearch(visit: Visit): Promise<Response> {
  const { c, setting, view } = visit;
  const text = (c.req.query('q') ?? '').trim();
  const found = text === '' ? undefined : (await find(visit, text)).found;
  return renderPage(c, searchPage({ ...view, text, ...(found && { found }) }, setting));
}

/**
 * `POST /console/search`: leads to the one thing that `q` names, or to all that contain it. A token is explained at once.
 * The text may be a secret, which must not get into URLs, histories and logs. Therefore it gets into the URL only if it is
 * a part of something that was found (ADR 188).
 */
export async function submitSearch(visit: Visit): Promise<Response> {
  const { c, call, setting, view, form } = visit;
  const text = (form.get('q') ?? '').trim();
  if (text === '') return c.redirect(urlOf(view.base, 'search'), 303);
  const token = pastedToken(text);
  if (token.length >= MIN_TOKEN) {
    const { kind } = await call('explainToken', { token });
    if (kind !== 'unknown' || TOKEN_FORM.test(token) || text.length > MAX_TEXT)
      return renderPage(c, explainedPage(await explain(visit, token), setting));
  }
  const exact = await urlsOf(visit, text);
  const [url] = exact;
  if (url !== undefined && exact.size === 1) return c.redirect(url, 303);
  const { found, named } = await find(visit, text);
  if (exact.size === 0 && named !== undefined) return c.redirect(named, 303);
  if (SEARCHED.some((kind) => found[kind].count > 0))
    return c.redirect(urlOf(view.base, 'search', { q: text }), 303);
  if (IDENTIFIER.test(text) && (await call('listAudit', { target: text, limit: 1 })).items.length > 0)
    return c.redirect(urlOf(view.base, 'audit', { target: text }), 303);
  return renderPage(c, searchPage({ ...view, text: '', found, isRequest: REQUEST.test(text) }, setting));
}

/** The number of a request, as pages of errors show it. */
const REQUEST = /^[\w-]{8}-[0-9a-z]{1,12}-[0-9a-z]{1,6}$/;

/** The identifier of a grant, session or token, or the digest of an opaque one. */
const IDENTIFIER = /^[\w-]{16,64}$/;

/** A JWT, also of another server, or an opaque token of this one. It may be cut off. */
const TOKEN_FORM = /^(?:eyJ[\w-]+(?:\.|$)|grantd_(?:at|rt|ac)_)/;

/** URLs of the things that have exactly this name or identifier. */
async function urlsOf(visit: Visit, text: string): Promise<ReadonlySet<string>> {
  const {
    call,
    view: { base },
  } = visit;
  const [byName, byEmail, bySub, client, group, filter] = await Promise.all([
    known(() => call('listUsers', { username: text })),
    known(() => call('listUsers', { email: text })),
    known(() => call('getUser', { sub: text })),
    known(() => call('getClient', { client_id: text })),
    known(() => call('getGroup', { group: text })),
    filterFor(visit, text),
  ]);
  const users = [...(byName?.items ?? []), ...(byEmail?.items ?? []), ...(bySub ? [bySub] : [])];
  return new Set([
    ...users.map(({ sub }) => urlOf(base, 'users', { sub })),
    ...(client ? [urlOf(base, 'clients', { id: client.client_id })] : []),
    ...(group ? [urlOf(base, 'groups', { name: group.name })] : []),
    ...(filter === undefined ? [] : [filter]),
  ]);
}

/**
 * The list that an address, a scope, a type of event, or the number of an event or request leads to.
 * @returns `undefined` if the text is none of these, or nothing stored has the scope or number
 */
async function filterFor({ call, view: { base } }: Visit, text: string): Promise<string | undefined> {
  if (isIP(text) !== 0) return urlOf(base, 'audit', { address: text });
  if (EVENT_TYPES.some((type) => type === text)) return urlOf(base, 'audit', { type: text });
  const [, number] = /^#?([1-9]\d{0,14})$/.exec(text) ?? [];
  if (number !== undefined) {
    const { items } = await call('listAudit', { cursor: cursorOf(Number(number) + 1), limit: 1 });
    return String(items[0]?.number) === number ? urlOf(base, 'audit', { event: number }) : undefined;
  }
  if (REQUEST.test(text)) {
    const { items } = await call('listAudit', { request_id: text, limit: 1 });
    if (items.length > 0) return urlOf(base, 'audit', { request: text });
  }
  const { items: scopes } = await call('listScopeTexts', { limit: MAX_COUNTED });
  return scopes.some(({ scope }) => scope === text) ? urlOf(base, 'scopes') : undefined;
}

/** @returns `undefined` if there is nothing with this name, or nothing can have it */
async function known<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    if (error instanceof OperationRefused && error.kind === 'not_found') return undefined;
    throw error;
  }
}

/** Things that contain the text, and the URL of the only user with this address, also if it is not verified. */
async function find(visit: Visit, text: string): Promise<{ readonly found: Found; readonly named?: string }> {
  const {
    call,
    view: { base },
    setting,
    console: { adminGroup },
  } = visit;
  const texts = textsIn(setting.language);
  const wish = { search: text, limit: MAX_COUNTED };
  const nothing = { items: [] };
  const [users, clients, groups] =
    text.length > MAX_TEXT
      ? [nothing, nothing, nothing]
      : await Promise.all([call('listUsers', wish), call('listClients', wish), call('listGroups', wish)]);
  const hasAddress = ({ claims: { email } }: User) =>
    typeof email === 'string' && email.toLowerCase() === text.toLowerCase();
  const [user, ...others] = users.items.filter(hasAddress);
  const found = {
    users: shownOf(users, (one) => rowOfUser(one, adminGroup)),
    clients: shownOf(clients, (one) => rowOfClient(one)),
    groups: shownOf(groups, (one) => rowOfGroup(one, adminGroup, texts)),
  };
  return {
    found,
    ...(user !== undefined && others.length === 0 && { named: urlOf(base, 'users', { sub: user.sub }) }),
  };
}

function shownOf<T>({ items, next_cursor: next }: List<T>, rowOf: (one: T) => ListRow): FoundRows {
  return {
    rows: items.slice(0, MAX_SHOWN).map((one) => rowOf(one)),
    count: items.length,
    hasMore: next !== undefined,
  };
}

export interface SearchView extends ConsoleView {
  /** Empty if the URL must not have it. */
  readonly text: string;
  /** Absent before a search. */
  readonly found?: Found;
  /** Whether the text looks like the number of a request, of which there is no event. */
  readonly isRequest?: boolean;
}

/** `/console/search`: links `all-users`, `all-clients` and `all-groups`. */
export function searchPage(view: SearchView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { found, text, isRequest = false } = view;
  const kinds = SEARCHED.filter((kind) => found !== undefined && found[kind].count > 0);
  return consoleFrame(view, setting, {
    title: words.pages.search,
    lead: text === '' || found === undefined ? words.searchText : words.searchedFor(text),
    body:
      found === undefined
        ? html``
        : kinds.length === 0
          ? html`<p class="empty" role="status">${words.nothingFound} ${isRequest ? words.requestNotInTrail : ''}</p>
<p class="note">${words.notFoundText}</p>`
          : html`${kinds.map((kind) => section(`found-${kind}`, words.pages[kind], rowsOf(view, kind, found[kind], texts)))}`,
  });
}

function rowsOf(
  { base, text }: SearchView,
  kind: keyof Found,
  { rows, count, hasMore }: FoundRows,
  texts: Texts,
): Html {
  const { console: words, formats } = texts;
  const all = (hasMore ? words.moreIn : words.allIn)(formats.number(count), words.pages[kind]);
  return html`${rowList(base, kind, rows, texts)}
${
  count <= rows.length
    ? ''
    : html`<p class="actions"><a id="all-${kind}" href="${urlOf(base, kind, { search: text })}">${all}</a></p>`
}`;
}
