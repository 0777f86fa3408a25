import { type ClientRecord, documentOf } from '@grantd/core';
import { html } from 'hono/html';
import { requireClient, stateOf } from '../admin/client_rules.ts';
import { revokeAll } from '../admin/tokens.ts';
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
  type Row,
  section,
  termList,
  timeOf,
  urlOf,
} from './frame.ts';
import { type Badge, badges, type ListRow, pageOfRows, readList, renderList, thingUrl } from './lists.ts';

/** Changes that are asked about first. */
const ASKED = ['disable', 'revoke'] as const;

type Asked = (typeof ASKED)[number];

/** `GET /console/clients`: the list. With `id`, one client; with `ask` too, the question before a change. */
export async function showClients(visit: Visit): Promise<Response> {
  const { c, parts, setting, view } = visit;
  const id = c.req.query('id');
  if (id === undefined) {
    const rows = async () => (await parts.storage.clients.list()).map(rowOf);
    return renderList(
      visit,
      await readList(visit, 'clients', async (wish) => pageOfRows(await rows(), wish)),
    );
  }
  const client = await requireClient(parts, id);
  const ask = ASKED.find((one) => one === c.req.query('ask'));
  if (ask === undefined) return renderPage(c, clientPage({ ...view, ...shownClient(client) }, setting));
  const { alive = 0 } = await revokeAll(parts, { clientId: id }, { counts: true, isDryRun: true });
  return renderPage(c, askClientPage({ ...view, id, ask, alive }, setting));
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

function rowOf(client: ClientRecord): ListRow {
  const { id, name } = client;
  return { key: id, name: id, details: name === undefined ? [] : [name], badges: badgesOf(stateOf(client)) };
}

function badgesOf({
  isSelfRegistered,
  disabledAtMs,
}: {
  readonly isSelfRegistered: boolean;
  readonly disabledAtMs?: number | undefined;
}): readonly Badge[] {
  return [
    ...(isSelfRegistered ? (['self_registered'] as const) : []),
    ...(disabledAtMs === undefined ? [] : (['disabled'] as const)),
  ];
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

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.join(' ')
    : JSON.stringify(value);
}

export interface ClientView extends ConsoleView, ShownClient {}

/** One client: links `ask-disable` and `ask-revoke`, button `enable`. */
export function clientPage(view: ClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, id, type, disabledAtMs, secrets } = view;
  const members: readonly Row[] = view.members.map(([name, value]) => [name, html`<bdi>${value}</bdi>`]);
  const ask = (what: Asked) =>
    askLink(thingUrl(base, 'clients', id, { ask: what }), what, words.clientChanges[what].yes);
  return consoleFrame(view, setting, {
    title: id,
    heading: html`${named(id)}${badges(badgesOf(view), texts)}`,
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
      html`${actionForm(view, { id }, [
        disabledAtMs === undefined
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
${question(view, { action: `${base}/clients`, does: ask, fields: { id }, yes, back: thingUrl(base, 'clients', id) }, texts)}`,
  });
}
