import { html } from 'hono/html';
import { type Consequences, endsOrNarrows } from '../admin/client_consequences.ts';
import type { ClientView as Client } from '../admin/client_documents.ts';
import { SCOPE_WARNINGS, type ScopeConcern } from '../admin/client_rules.ts';
import { CLIENT_KINDS, CLIENT_ORDERS, CLIENT_STATES } from '../admin/clients.ts';
import type { Document, Input } from '../admin/table.ts';
import { named } from '../pages/drawing/application_shown.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { languages, type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Act, type Acts, actLink, type Given } from './acts.ts';
import {
  addingAct,
  CLIENT_PARTS,
  choicesOf,
  keepSecret,
  MAX_CHOICES,
  NEW_CLIENT_KINDS,
  newClientPage,
  placeOf,
} from './client_forms.ts';
import { idOf, labelOf } from './forms.ts';
import { type ConsoleView, consoleFrame, type Row, rowsOr, section, termList, urlOf } from './frame.ts';
import type { ShownSecret } from './kept_secrets.ts';
import {
  type Badge,
  type Column,
  chosen,
  type ListRow,
  type ListView,
  listBody,
  listOf,
  type TableNeeds,
  wishOf,
} from './lists.ts';
import { clientCalled } from './names.ts';
import { type Counted, clientRefusals, isShared } from './refusals.ts';
import { secretSection, submitSaved } from './shown_once.ts';
import { thingPage } from './things.ts';
import { concernsOf, type TrialNeeds, trialNeeds, trialOffer } from './try_here.ts';
import { TRY_STYLE, trialUri, trySection } from './try_it.ts';
import { codes, copied, fullMoment, memberRow, moment, termOf, tokensCounted } from './values.ts';

/** Members whose change can end tokens, or keep users out. */
const CAN_END = [
  ...['allowed_groups', 'sign_in_policy', 'subject_type', 'sector_identifier_uri', 'redirect_uris'],
  ...['grant_types', 'token_endpoint_auth_method', 'scope', 'resource', 'api_scopes', 'apis', 'profile'],
];

const OF_CLIENT = { client_id: 'id' };

const TOKEN_PLACE = 'registration token';

/** Adds or removes the redirect URI with which the console signs in with a client. */
function trialAct(change: (uris: readonly string[], uri: string) => readonly string[]): Act {
  return {
    operation: 'updateClient',
    of: OF_CLIENT,
    stored: 'getClient',
    async form({ call, console: { issuer } }, { id = '' }) {
      const { redirect_uris: uris = [] } = await call('getClient', { client_id: id });
      return {
        schema: { properties: { redirect_uris: { type: 'array', items: { type: 'string' } } } },
        spec: { first: ['redirect_uris'] },
        values: { redirect_uris: change(uris, trialUri(issuer)) },
      };
    },
    ...{ asks: () => true, mayEnd: true, facts: consequences },
    tells: SCOPE_WARNINGS,
    done: 'client_changed',
  };
}

const activeTokens: Act['facts'] = async ({ call }, { id = '' }, texts) => [
  tokensCounted(await call('revokeAll', { client_id: id, dry_run: true }), texts),
];

/** What a change ends, before it is made; nothing if it ends no token and lets none give less. */
const consequences: NonNullable<Act['facts']> = async (
  { call },
  { id = '' },
  { console: words, formats },
  values,
) => {
  const { plan } = await call('updateClient', { ...values, client_id: id, dry_run: true });
  if (plan === undefined) return [];
  return consequenceRows(plan, { console: words, formats });
};

/** The numbers of a plan; nothing if it ends no token and lets none give less. */
export function consequenceRows(
  plan: Consequences,
  { console: words, formats }: Pick<Texts, 'console' | 'formats'>,
): readonly Row[] {
  if (!endsOrNarrows(plan)) return [];
  const { ends, narrows, has_more: hasMore } = plan;
  const counted = (reach: typeof ends) =>
    words.plan.reach(
      formats.number(reach.tokens),
      formats.number(reach.users),
      formats.number(reach.sessions),
    );
  return [
    [words.plan.ends, counted(ends)],
    [words.plan.narrows, counted(narrows)],
    ...(hasMore ? [[words.plan.all, words.plan.hasMore] as const] : []),
  ];
}

/** What a denial ends, before it is made. */
const counted: NonNullable<Act['facts']> = async ({ call }, _, texts, values) => {
  const {
    clients,
    tokens = 0,
    has_more: hasMore,
  } = await call('denyDocuments', {
    ...(values as Denial),
    dry_run: true,
  });
  return [
    [texts.console.pages.clients, texts.formats.number(clients)],
    tokensCounted({ revoked: false, active: tokens, has_more: hasMore === true }, texts),
  ];
};

type Denial = Input<'denyDocuments'>;

/** @param ruleOf what the form of a client contains at first */
function denying(ruleOf: (id: string) => string): Act {
  return {
    operation: 'denyDocuments',
    also: ['id'],
    form: async (_, { id = '' }) => ({
      spec: { first: ['rule', 'note'], without: ['dry_run'] },
      values: id === '' ? {} : { rule: ruleOf(id) },
    }),
    asks: () => true,
    facts: counted,
    done: 'documents_denied',
    next: () => ({}),
  };
}

function hostOf(id: string): string {
  return URL.parse(id)?.hostname ?? id;
}

export const CLIENTS: Acts = {
  page: 'clients',
  nameOf: async (visit, { id = '', rule }) => rule ?? clientCalled(visit, id),
  acts: {
    ...Object.fromEntries(NEW_CLIENT_KINDS.map((kind) => [`add_${kind}`, addingAct(kind)])),
    try_spa: addingAct('spa', true),
    edit: {
      operation: 'updateClient',
      of: OF_CLIENT,
      stored: 'getClient',
      async form(visit, { id = '' }) {
        const [choices, client] = await Promise.all([
          choicesOf(visit),
          visit.call('getClient', { client_id: id }),
        ]);
        const spec = { first: CLIENT_PARTS.first, parts: CLIENT_PARTS.parts, tags: languages(), choices };
        return { spec: { ...spec, without: client.registered_itself ? [] : ['set_by_operator'] } };
      },
      asks: (values) => CAN_END.some((member) => Object.hasOwn(values, member)),
      mayEnd: true,
      facts: consequences,
      after: keepSecret,
      tells: SCOPE_WARNINGS,
      done: 'client_changed',
    },
    allow_trial: trialAct((uris, uri) => [...uris, uri]),
    end_trial: trialAct((uris, uri) => uris.filter((one) => one !== uri)),
    rotate_secret: {
      operation: 'rotateClientSecret',
      of: OF_CLIENT,
      form: { first: ['overlap'], secret: ['client_secret'] },
      after: keepSecret,
      done: 'secret_rotated',
    },
    disable: {
      ...{ operation: 'disableClient', of: OF_CLIENT, asks: true, canUndo: true, facts: activeTokens },
      done: 'client_disabled',
    },
    enable: { operation: 'enableClient', of: OF_CLIENT, done: 'client_enabled' },
    revoke: {
      operation: 'revokeAll',
      of: OF_CLIENT,
      asks: true,
      facts: activeTokens,
      done: 'tokens_revoked',
    },
    remove: {
      operation: 'removeClient',
      of: OF_CLIENT,
      asks: true,
      facts: activeTokens,
      done: 'client_removed',
      next: () => ({}),
    },
    registration_token: {
      operation: 'newRegistrationToken',
      form: { first: ['lifetime', 'once'] },
      after: async ({ console: { shownOnce }, session }, { token }: Document<'newRegistrationToken'>) =>
        shownOnce.add(session.id, TOKEN_PLACE, token),
      done: 'registration_token_made',
    },
    remove_unused: {
      operation: 'removeUnusedClients',
      async form({ call, console: { pages } }) {
        const since = new Date(pages.clock() - UNUSED_MS).toISOString();
        const { items } = await call('listUnusedClients', { unused_since: since });
        const ids = items.slice(0, MAX_REMOVED).map(({ client_id: id }) => id);
        return {
          spec: { first: ['client_ids', 'unused_since'], choices: { client_ids: ids } },
          values: { unused_since: since },
        };
      },
      asks: () => true,
      mayEnd: true,
      done: ({ removed }: Document<'removeUnusedClients'>) =>
        removed.length === 0 ? 'nothing_changed' : 'clients_removed',
    },
    deny: denying((id) => id),
    deny_document: denying((id) => id),
    deny_host: denying(hostOf),
    allow: {
      operation: 'allowDocuments',
      of: { rule: 'rule' },
      ...{ asks: true, canUndo: true },
      done: 'documents_allowed',
      next: () => ({}),
    },
  },
};

/** Milliseconds for which a client that registered itself may be unused before the form offers its removal. */
const UNUSED_MS = 30 * 24 * 60 * 60 * 1000;

/** As many as the operation takes. */
const MAX_REMOVED = 500;

/** `GET /console/clients`: the list, with `add` the kinds of clients; with `id` one client; with `ask` a form or question. */
export async function showClients(visit: Visit): Promise<Response> {
  const { c, call, console: parts, session, setting, view } = visit;
  const { id, add } = c.req.query();
  const made = await parts.shownOnce.secrets(session.id, id === undefined ? TOKEN_PLACE : placeOf(id));
  if (id === undefined && add !== undefined) return renderPage(c, newClientPage(view, setting));
  if (id === undefined) {
    const clients = await call('listClients', {
      ...wishOf(visit),
      ...chosen(visit, 'kind', CLIENT_KINDS),
      ...chosen(visit, 'state', CLIENT_STATES),
      ...chosen(visit, 'sort', CLIENT_ORDERS),
    });
    const texts = textsIn(setting.language);
    const rows = listOf(visit, 'clients', clients, columnsOf(texts), (client) =>
      rowOf(client, { texts, nowMs: view.nowMs }),
    );
    const denied = await call('listDeniedDocuments', { limit: MAX_CHOICES });
    const list = { ...rows, denied, firstStep: texts.console.firstClient };
    return renderPage(c, clientsPage({ ...list, made }, setting));
  }
  const client = await call('getClient', { client_id: id });
  const { history } = parts;
  const shown = {
    ...{ client, trial: trialNeeds(visit), concerns: await concernsOf(visit, client), made },
    ...(history && {
      counted: { samples: history.samples, nowMs: parts.pages.clock(), isShared: isShared(visit) },
    }),
  };
  return renderPage(c, clientPage({ ...view, ...shown }, setting));
}

/** `POST /console/clients`: forgets a secret that the administrator has stored. */
export async function submitClients(visit: Visit): Promise<Response> {
  const id = visit.form.get('id') ?? '';
  return submitSaved(visit, id === '' ? TOKEN_PLACE : placeOf(id), id === '' ? {} : { id });
}

/** A client as a row of a list. @param table for the columns of a table */
export function rowOf(client: Client, table?: TableNeeds): ListRow {
  const { client_id: id, client_name: name } = client;
  return {
    ...{ key: id, name: id, details: name === undefined ? [] : [name], badges: badgesOf(client) },
    ...(table && { copies: true, cells: cellsOf(client, table) }),
  };
}

export function columnsOf({ console: words }: Texts): readonly Column[] {
  return [
    { title: words.columns.clientId, size: 'large', sort: 'client_id' },
    { title: words.columns.name, sort: 'client_name' },
    { title: words.clientType },
    { title: words.columns.grants, size: 'large' },
    { title: words.lastUsed, size: 'small' },
  ];
}

function cellsOf(
  { client_name: name, type, grant_types: grants = [], secrets = [] }: Client,
  { texts, nowMs }: TableNeeds,
) {
  const uses = secrets.flatMap(({ last_used_at: at }) => (at === undefined ? [] : [at]));
  return [
    name && html`<bdi title="${name}">${name}</bdi>`,
    texts.console.clientTypes[type],
    codes(grants.map((grant) => grant.replace(/^urn:.*:/, ''))),
    moment(uses.toSorted().at(-1), nowMs, texts),
  ];
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

export interface ClientsView extends ListView {
  /** Tokens for registrations that were just made. */
  readonly made?: readonly ShownSecret[];
  readonly denied: Document<'listDeniedDocuments'>;
}

/**
 * `/console/clients`: the list, links `add-client`, `ask-registration_token`, `ask-remove_unused` and `ask-deny`, and
 * `ask-allow-RULE` for each denial.
 */
export function clientsPage({ made = [], denied, ...view }: ClientsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base } = view;
  return consoleFrame(view, setting, {
    title: words.pages.clients,
    primary: html`<a id="add-client" class="button primary" href="${urlOf(base, 'clients', { add: 'yes' })}">${words.addClient}</a>`,
    style: TRY_STYLE,
    body: html`${secretSection(view, setting.language, made, {})}${listBody(view, texts)}
${section(
  'self-registered',
  words.selfRegistration,
  html`<p class="actions">${['registration_token', 'remove_unused'].map((name) => actLink(CLIENTS, name, base, {}, texts))}</p>`,
)}${section('denied', words.deniedDocuments, deniedList(denied, view, texts))}`,
  });
}

function deniedList(
  { items, next_cursor: next }: ClientsView['denied'],
  { base, nowMs }: ConsoleView,
  texts: Texts,
): Html {
  const { console: words } = texts;
  const rows = items.map(
    ({
      rule,
      note,
      denied_at: at,
    }) => html`<li class="row"><div><p>${copied(rule, texts, html`<code>${rule}</code>`)}</p>
<p class="detail">${moment(at, nowMs, texts)}${note === undefined ? '' : html` · <bdi>${note}</bdi>`}</p></div>${actLink(CLIENTS, 'allow', base, { rule }, texts, { id: rule, unseen: rule })}</li>\n`,
  );
  return html`${rowsOr(rows, words.none)}
${next === undefined ? '' : html`<p>${words.moreDenied}</p>`}<p class="actions">${actLink(CLIENTS, 'deny', base, {}, texts)}</p>`;
}

export interface ClientView extends ConsoleView {
  readonly client: Client;
  readonly trial: TrialNeeds;
  readonly concerns: readonly ScopeConcern[];
  /** Secrets that were just made. */
  readonly made?: readonly ShownSecret[];
  /** Present if this server counts what it does. */
  readonly counted?: Counted;
}

/** One client: links and buttons for its acts. */
export function clientPage(view: ClientView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, client, trial, concerns, nowMs, made = [], counted } = view;
  const {
    client_id: id,
    type,
    disabled_at: disabledAt,
    document_valid_at: documentValidAt,
    secrets = [],
    registered_itself: isSelfRegistered,
    ...metadata
  } = client;
  const members = Object.entries(metadata).map(([name, value]) => memberRow(name, value, texts));
  const given: Given = { id };
  const act = (name: string) => actLink(CLIENTS, name, base, given, texts);
  const isUnchecked = isSelfRegistered || documentValidAt !== undefined;
  const isDisabled = disabledAt !== undefined;
  const others = [
    ...(isDisabled ? ['edit'] : ['disable']),
    ...(secrets.length === 0 ? [] : ['rotate_secret']),
    ...['revoke', 'remove', ...(documentValidAt === undefined ? [] : ['deny_document', 'deny_host'])],
  ];
  const { client_name: name = id } = client;
  return thingPage(view, setting, {
    ...{ name, given, ...(name !== id && { id }), badges: badgesOf(client), style: TRY_STYLE },
    primary: actLink(CLIENTS, isDisabled ? 'enable' : 'edit', base, given, texts, {
      isPrimary: made.length === 0,
    }),
    ...{ events: { client: id }, acts: others.map(act) },
    above: html`${secretSection(view, setting.language, made, given)}${
      isUnchecked
        ? html`<p class="caution">${icon('alert')}<span>${isSelfRegistered ? words.uncheckedClient : words.documentClient}</span></p>\n`
        : ''
    }${concerns.map((concern) => scopeCaution(concern, urlOf(base, 'clients', { ...given, ask: 'edit' }), texts))}`,
    columns: [
      section(
        'client',
        words.client,
        termList([
          [termOf('client_id', words.columns.clientId), copied(id, texts, html`<code>${id}</code>`)],
          [termOf('type', words.clientType), words.clientTypes[type]],
          [termOf('disabled_at', words.disabledSince), fullMoment(disabledAt, nowMs, texts)],
          [words.documentHost, documentValidAt && named(URL.parse(id)?.host ?? id)],
          [termOf('document_valid_at', words.documentValidAt), fullMoment(documentValidAt, nowMs, texts)],
          ...members,
        ]),
      ),
      html`${trySection(client, trial.issuer, trialOffer(view, client, trial, act, texts), texts)}${
        secrets.length === 0
          ? ''
          : section(
              'secrets',
              words.secrets,
              html`<ul class="rows" role="list">
${secrets.map(
  (one) =>
    html`<li>${termList([
      [termOf('created_at', words.createdAt), fullMoment(one.created_at, nowMs, texts)],
      [termOf('ends_at', words.endsAt), fullMoment(one.ends_at, nowMs, texts)],
      [termOf('last_used_at', words.lastUsed), fullMoment(one.last_used_at, nowMs, texts)],
    ])}</li>\n`,
)}</ul>`,
            )
      }${
        counted === undefined
          ? ''
          : section('refusals', words.overview.refusalsOfClient, clientRefusals(counted, { base, id }, texts))
      }`,
    ],
  });
}

/** A link to the field that helps. */
function scopeCaution({ scope, owners }: ScopeConcern, edit: string, texts: Texts): Html {
  const { foreignScope, unknownScope, scopesInOne } = texts.console.forms;
  const [name, api] = [
    html`<code>${scope}</code>`,
    owners.map((uri, index) => html`${index === 0 ? '' : ', '}<code>${uri}</code>`),
  ];
  const [field, text] =
    owners.length > 0
      ? ['apis', foreignScope(name, html`${api}`)]
      : ['scope', (/[,;]/.test(scope) ? scopesInOne : unknownScope)(name)];
  return html`<p class="caution">${icon('alert')}<span>${text} <a href="${edit}#${idOf({ name: field })}">${labelOf(field, texts)}</a></span></p>\n`;
}
