import { type ClientRecord, documentOf } from '@grantd/core';
import { html } from 'hono/html';
import { requireClient, setClientDisabled, stateOf } from '../operations/clients.ts';
import { revokeAll } from '../operations/tokens.ts';
import { named } from '../pages/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../pages/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import {
  type ConsoleNotice,
  type ConsoleView,
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
import { disabledBadge } from './users.ts';

const CLIENTS_PER_PAGE = 50;

/** Changes that are asked about first. */
const ASKED = ['disable', 'revoke'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/clients`: the list. With `id`, one client; with `ask` too, the question before a change. */
export async function showClients({ c, parts, setting, view }: Visit): Promise<Response> {
  const id = c.req.query('id');
  if (id === undefined) {
    const { search = '', after = '' } = c.req.query();
    const part = search.toLowerCase();
    const found = (await parts.storage.clients.list())
      .filter((one) => one.id.toLowerCase().includes(part) || one.name?.toLowerCase().includes(part) === true)
      .filter((one) => one.id > after)
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    const clients = found.slice(0, CLIENTS_PER_PAGE);
    const last = found.length > CLIENTS_PER_PAGE ? clients.at(-1)?.id : undefined;
    const next = last === undefined ? undefined : urlOf(view.base, 'clients', { search, after: last });
    return renderPage(
      c,
      clientsPage({ ...view, clients, search, ...(next !== undefined && { next }) }, setting),
    );
  }
  const client = await requireClient(parts, id);
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  if (ask === undefined) return renderPage(c, clientPage({ ...view, ...shownClient(client) }, setting));
  const { alive = 0 } = await revokeAll(parts, { clientId: id }, { counts: true, isDryRun: true });
  return renderPage(c, askClientPage({ ...view, id, ask, alive }, setting));
}

/** `POST /console/clients`: does what `do` says with the client in `id`. */
export async function submitClients({
  c,
  console: { pages },
  parts,
  session,
  form,
  view,
}: Visit): Promise<Response> {
  const { id } = await requireClient(parts, form.get('id') ?? '');
  const changes: Readonly<Record<string, () => Promise<ConsoleNotice>>> = {
    async disable() {
      await setClientDisabled(parts, id, true);
      return 'client_disabled';
    },
    async enable() {
      await setClientDisabled(parts, id, false);
      return 'client_enabled';
    },
    async revoke() {
      await revokeAll(parts, { clientId: id }, { counts: false, isDryRun: false });
      return 'tokens_revoked';
    },
  };
  const does = form.get('do') ?? '';
  const notice = Object.hasOwn(changes, does) ? await changes[does]?.() : undefined;
  return toConsole(c, pages, session, urlOf(view.base, 'clients', { id }), notice ?? 'nothing_changed');
}

export interface ClientsView extends ConsoleView {
  readonly clients: readonly ClientRecord[];
  readonly search: string;
  /** URL of the next page. */
  readonly next?: string;
}

/** `/console/clients`: field `search`, link `next`. */
export function clientsPage(view: ClientsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, clients } = view;
  return consoleFrame(view, setting, {
    title: words.pages.clients,
    body: html`${searchForm(urlOf(base, 'clients'), words.searchClients, view.search, words.search)}
${
  clients.length === 0
    ? html`<p class="empty">${words.nothingFound}</p>`
    : html`<ul class="rows" role="list">
${clients.map((client) => html`<li><a href="${urlOf(base, 'clients', { id: client.id })}"><bdi>${client.id}</bdi></a>${badges({ ...client, isSelfRegistered: stateOf(client).isSelfRegistered }, texts)}${client.name === undefined ? '' : html`<p class="detail"><bdi>${client.name}</bdi></p>`}</li>\n`)}</ul>`
}
${nextLink(view.next, texts)}`,
  });
}

function badges(client: Pick<ShownClient, 'isSelfRegistered' | 'disabledAtMs'>, texts: Texts): Html {
  return html`${client.isSelfRegistered ? html` <span class="badge">${texts.console.selfRegistered}</span>` : ''}${disabledBadge(client, texts)}`;
}

/** A client as its page shows it. Secrets have no values here, only dates. */
interface ShownClient extends Omit<ReturnType<typeof stateOf>, 'secrets' | 'disabledAtMs'> {
  readonly id: string;
  readonly disabledAtMs?: number;
  readonly secrets: readonly {
    readonly createdAtMs?: number | undefined;
    readonly endsAtMs?: number | undefined;
    readonly lastUsedAtMs?: number | undefined;
  }[];
  /** Members of its metadata with their values. */
  readonly members: readonly (readonly [name: string, value: string])[];
}

function shownClient(client: ClientRecord): ShownClient {
  const { type, isSelfRegistered, disabledAtMs, secrets = [] } = stateOf(client);
  return {
    ...{ id: client.id, type, isSelfRegistered },
    ...(disabledAtMs !== undefined && { disabledAtMs }),
    secrets: secrets.map(({ serverSecret: _, ...dates }) => dates),
    members: Object.entries(documentOf(client)).map(([name, value]) => [name, textOf(value)]),
  };
}

export interface ClientView extends ConsoleView, ShownClient {}

/** One client: links `ask-disable` and `ask-revoke`, button `enable`. */
export function clientPage(view: ClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, id, type, disabledAtMs, secrets } = view;
  const members: readonly Row[] = view.members.map(([name, value]) => [name, html`<bdi>${value}</bdi>`]);
  return consoleFrame(view, setting, {
    title: id,
    heading: html`${named(id)}${badges(view, texts)}`,
    body: html`${section(
      'client',
      words.client,
      termList([
        [words.clientType, words.clientTypes[type]],
        [words.disabledSince, timeOf(disabledAtMs, texts)],
        ...members,
      ]),
    )}${
      secrets.length === 0
        ? ''
        : section(
            'secrets',
            words.secrets,
            html`<ul class="rows" role="list">
${secrets.map(
  (secret) =>
    html`<li>${termList([
      [words.createdAt, timeOf(secret.createdAtMs, texts)],
      [words.endsAt, timeOf(secret.endsAtMs, texts)],
      [words.lastUsed, timeOf(secret.lastUsedAtMs, texts)],
    ])}</li>\n`,
)}</ul>`,
          )
    }${section(
      'actions',
      words.actions,
      html`<form method="post" action="${base}/clients">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="id" value="${id}">
<div class="actions">
${disabledAtMs === undefined ? askLink(view, 'disable', texts) : html`<button id="enable" type="submit" name="do" value="enable">${words.enable}</button>`}
${askLink(view, 'revoke', texts)}
</div>
</form>
<p class="actions"><a href="${urlOf(base, 'events', { target: id })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.join(' ')
    : JSON.stringify(value);
}

function askLink({ base, id }: ClientView, ask: Asked, { console: words }: Texts): Html {
  return html`<a id="ask-${ask}" class="button" href="${urlOf(base, 'clients', { id, ask })}">${words.clientChanges[ask].yes}</a>`;
}

interface AskClientView extends ConsoleView {
  readonly id: string;
  readonly ask: Asked;
  /** Active tokens. */
  readonly alive: number;
}

/** The question before a change of a client: button `console-yes`, link `console-no`. */
export function askClientPage(view: AskClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, id, ask, alive } = view;
  const { title, text, yes } = words.clientChanges[ask];
  return consoleFrame(view, setting, {
    title: title(id),
    body: html`<p>${text}</p>
${termList([[words.activeTokens, texts.formats.number(alive)]])}
${question(view, { action: `${base}/clients`, does: ask, fields: { id }, yes, back: urlOf(base, 'clients', { id }) }, texts)}`,
  });
}
