import { html } from 'hono/html';
import type { ClientView as Client } from '../admin/client_documents.ts';
import { CLIENT_KINDS } from '../admin/clients.ts';
import { named } from '../pages/drawing/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  askLink,
  type ConsoleView,
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

/** Changes that are asked about first. */
const ASKED = ['disable', 'revoke'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/clients`: the list. With `id`, one client; with `ask` too, the question before a change. */
export async function showClients(visit: Visit): Promise<Response> {
  const { c, call, setting, view } = visit;
  const id = c.req.query('id');
  if (id === undefined)
    return renderList(
      visit,
      listOf(visit, 'clients', await call('listClients', wishOfClients(visit)), rowOf),
    );
  const client = await call('getClient', { client_id: id });
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  if (ask === undefined) return renderPage(c, clientPage({ ...view, client }, setting));
  const { active = 0 } = await call('revokeAll', { client_id: id, dry_run: true });
  return renderPage(c, askClientPage({ ...view, id, ask, active }, setting));
}

/** `POST /console/clients`: does what `do` says with the client in `id`. */
export async function submitClients(visit: Visit): Promise<Response> {
  const { call, form, view } = visit;
  const id = form.get('id') ?? '';
  return perform(
    visit,
    {
      async disable() {
        await call('disableClient', { client_id: id });
        return 'client_disabled';
      },
      async enable() {
        await call('enableClient', { client_id: id });
        return 'client_enabled';
      },
      async revoke() {
        await call('revokeAll', { client_id: id });
        return 'tokens_revoked';
      },
    },
    thingUrl(view.base, 'clients', id),
  );
}

/** A kind that does not exist counts as none. */
function wishOfClients(visit: Visit) {
  const kind = CLIENT_KINDS.find((one) => one === visit.c.req.query('kind'));
  return { ...wishOf(visit), ...(kind !== undefined && { kind }) };
}

/** A client as a row of a list. */
export function rowOf(client: Client): ListRow {
  const { client_id: id, client_name: name } = client;
  return { key: id, name: id, details: name === undefined ? [] : [name], badges: badgesOf(client) };
}

function badgesOf({
  registered_itself: isSelfRegistered,
  document_valid_at: documentValidAt,
  disabled_at: disabledAt,
}: Client): readonly Badge[] {
  return [
    ...(isSelfRegistered ? (['self_registered'] as const) : []),
    ...(documentValidAt === undefined ? [] : (['by_document'] as const)),
    ...(disabledAt === undefined ? [] : (['disabled'] as const)),
  ];
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.join(' ')
    : JSON.stringify(value);
}

export interface ClientView extends ConsoleView {
  readonly client: Client;
}

/** One client: links `ask-disable` and `ask-revoke`, button `enable`. */
export function clientPage(view: ClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, client } = view;
  const {
    client_id: id,
    type,
    disabled_at: disabledAt,
    document_valid_at: documentValidAt,
    secrets = [],
    registered_itself: _,
    ...metadata
  } = client;
  const members = Object.entries(metadata).map(
    ([name, value]): Row => [name, html`<bdi>${textOf(value)}</bdi>`],
  );
  const ask = (what: Asked) =>
    askLink(thingUrl(base, 'clients', id, { ask: what }), what, words.clientChanges[what].yes);
  return consoleFrame(view, setting, {
    title: id,
    heading: named(id),
    badges: badges(badgesOf(client), texts),
    body: html`${section(
      'client',
      words.client,
      termList([
        [words.clientType, words.clientTypes[type]],
        [words.disabledSince, timeOf(disabledAt, texts)],
        [words.documentHost, documentValidAt && named(URL.parse(id)?.host ?? id)],
        [words.documentValidAt, timeOf(documentValidAt, texts)],
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
      [words.createdAt, timeOf(secret.created_at, texts)],
      [words.endsAt, timeOf(secret.ends_at, texts)],
      [words.lastUsed, timeOf(secret.last_used_at, texts)],
    ])}</li>\n`,
)}</ul>`,
          )
    }${section(
      'actions',
      words.actions,
      html`${actionForm(view, { id }, [
        disabledAt === undefined
          ? ask('disable')
          : html`<button id="enable" type="submit" name="do" value="enable">${words.enable}</button>\n`,
        ask('revoke'),
      ])}
<p class="actions"><a href="${urlOf(base, 'audit', { client: id })}">${words.eventsAbout}</a></p>`,
    )}`,
  });
}

interface AskClientView extends ConsoleView {
  readonly id: string;
  readonly ask: Asked;
  /** Number of active tokens. */
  readonly active: number;
}

/** The question before a change of a client: button `console-yes`, link `console-no`. */
export function askClientPage(view: AskClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, id, ask, active } = view;
  const { title, text, yes } = words.clientChanges[ask];
  return questionFrame(setting, {
    title: title(id),
    body: html`<p>${text}</p>
${termList([[words.activeTokens, texts.formats.number(active)]])}
${question(view, { action: `${base}/clients`, does: ask, fields: { id }, yes, back: thingUrl(base, 'clients', id) }, texts)}`,
  });
}
