// The forms of clients: what each kind of client needs at first, how it is added, and the parts of the form that changes
// one.
import { EXCHANGE_GRANT, MEMBER_NAMES } from '@grantd/core';
import { html } from 'hono/html';
import { SCOPE_WARNINGS } from '../admin/client_rules.ts';
import type { Schema } from '../admin/schema.ts';
import { type Document, OPERATIONS } from '../admin/table.ts';
import { newIdentifier } from '../data/tables.ts';
import type { Page, PageSetting } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import type { Act } from './acts.ts';
import type { FormSpec } from './fields.ts';
import { type ConsoleView, consoleFrame, section, urlOf } from './frame.ts';
import { beginTrial, trialNeeds } from './try_here.ts';
import { type ClientUse, trialUri } from './try_it.ts';

interface NewClientForm {
  /** Members of the form, in order. */
  readonly first: readonly string[];
  /** Members that a closed part of the form has. */
  readonly more: readonly string[];
  /** What the fields contain at first. */
  readonly values: object;
  /** Members that follow from the kind. */
  readonly members: { readonly token_endpoint_auth_method?: 'none'; readonly [member: string]: unknown };
}

const SIGNS_IN = {
  first: ['client_name', 'redirect_uris'],
  more: ['client_id', 'scope', 'apis', 'allowed_groups', 'post_logout_redirect_uris'],
};
const SCOPES = { scope: 'openid profile email' };
const OF_USERS = ['authorization_code', 'refresh_token'];
const IN_BROWSERS = { grant_types: OF_USERS, application_type: 'web' };

/** What each kind of client needs at first. Everything else can be changed later. */
export const NEW_CLIENTS: Readonly<Record<ClientUse, NewClientForm>> = {
  web: { ...SIGNS_IN, values: SCOPES, members: IN_BROWSERS },
  spa: {
    ...SIGNS_IN,
    values: { ...SCOPES, redirect_uris: ['http://localhost:5173/'] },
    members: { ...IN_BROWSERS, token_endpoint_auth_method: 'none' },
  },
  native: {
    ...SIGNS_IN,
    values: { ...SCOPES, redirect_uris: ['http://127.0.0.1/callback'] },
    members: { grant_types: OF_USERS, token_endpoint_auth_method: 'none', application_type: 'native' },
  },
  machine: {
    first: ['client_name', 'apis', 'scope'],
    more: ['client_id'],
    values: {},
    members: { grant_types: ['client_credentials'] },
  },
  api: {
    first: ['client_name', 'resource', 'api_scopes'],
    more: ['client_id'],
    values: {},
    members: { grant_types: [] },
  },
  agent: {
    first: ['client_name', 'resource', 'apis', 'scope', 'exchange_scopes', 'access_token_lifetime'],
    more: ['client_id'],
    values: { access_token_lifetime: 300 },
    members: { kind: 'agent', grant_types: [EXCHANGE_GRANT] },
  },
};

export const NEW_CLIENT_KINDS = Object.keys(NEW_CLIENTS) as readonly ClientUse[];

const named = (...patterns: readonly RegExp[]) =>
  MEMBER_NAMES.filter((name) => patterns.some((pattern) => pattern.test(name)));

/** The form that changes a client. */
export const CLIENT_PARTS = {
  first: [
    'client_name',
    'redirect_uris',
    'post_logout_redirect_uris',
    'scope',
    'grant_types',
    'token_endpoint_auth_method',
  ],
  parts: {
    users: [
      ...['consent_required', 'allowed_groups', 'sign_in_policy', 'subject_type', 'sector_identifier_uri'],
      ...['default_max_age', 'default_acr_values', 'require_auth_time', 'initiate_login_uri'],
      ...named(/logout_uri$|logout_session/),
    ],
    about: [
      'kind',
      'client_uri',
      'logo_uri',
      'brand_color',
      'policy_uri',
      'tos_uri',
      'contacts',
      'software_id',
      'software_version',
      'application_type',
    ],
    apis: [
      'resource',
      'api_scopes',
      'apis',
      'follow_all',
      'strict_scopes',
      'authorization_details_types',
      'ignore_unknown_token_type_hint',
    ],
    tokens: [
      ...['access_token_format', 'access_token_lifetime', 'rotate_refresh_tokens', 'id_token_user_claims'],
      ...['dpop_bound_access_tokens', 'tls_client_certificate_bound_access_tokens'],
    ],
    exchange: named(/^exchange_|^identity_assertions$/),
    authentication: [
      ...['jwks_uri', 'jwks', 'token_endpoint_auth_signing_alg', 'assertion_audience', 'assertion_lifetime'],
      ...named(/^tls_client_auth_/),
    ],
    requests: [
      ...['profile', 'require_pushed_authorization_requests', 'require_signed_request_object'],
      ...['request_uris', 'request_object_signing_alg', 'response_modes'],
      ...['insecure_allow_missing_pkce', 'insecure_redirect_uris'],
    ],
    cryptography: named(/_(?:signed|encrypted)_response_(?:alg|enc)$/),
  },
  /** Every member. */
  all: Object.fromEntries(MEMBER_NAMES.map((name) => [name, true])),
} as const;

/** More groups and APIs than fit on a page are typed. */
export const MAX_CHOICES = 200;

/** The groups and APIs that a client can name. */
export async function choicesOf({ call }: Visit): Promise<NonNullable<FormSpec['choices']>> {
  const [groups, clients] = await Promise.all([
    call('listGroups', { limit: MAX_CHOICES }),
    call('listClients', { limit: MAX_CHOICES, kind: 'operator' }),
  ]);
  const apis = clients.items.flatMap(({ resource }) => (resource === undefined ? [] : [resource]));
  const scopes = clients.items.flatMap(({ resource, api_scopes: own = [] }) =>
    resource === undefined ? [] : own,
  );
  return {
    ...(groups.next_cursor === undefined && { allowed_groups: groups.items.map(({ name }) => name) }),
    ...(clients.next_cursor === undefined && { apis, [API_FIELD]: [...new Set(scopes)] }),
  };
}

/** Shows a generated secret on the page that follows. */
export const keepSecret: NonNullable<Act['after']> = async (
  { console: { shownOnce }, session },
  { client_id: id, client_secret: secret }: Document<'rotateClientSecret'>,
) => {
  if (secret !== undefined) await shownOnce.add(session.id, placeOf(id), secret);
};

export function placeOf(id: string): string {
  return `client ${id}`;
}

/** The field of a new client with scopes of APIs, which its `scope` gets too. */
const API_FIELD = 'scopes_of_apis';

function withScopesOfApis(schema: Schema = {}): Schema {
  const own = { [API_FIELD]: { type: 'array', items: { type: 'string' } } };
  return { ...schema, properties: { ...Object(schema.properties), ...own } };
}

function withScopes(scope: unknown, chosen: unknown): { readonly scope?: string } {
  if (!Array.isArray(chosen) || chosen.length === 0) return {};
  const typed = typeof scope === 'string' ? scope.split(' ').filter((one) => one !== '') : [];
  return { scope: [...new Set([...typed, ...chosen])].join(' ') };
}

function withTrial(uris: unknown, issuer: string): readonly unknown[] {
  return [...new Set([...(Array.isArray(uris) ? uris : []), trialUri(issuer)])];
}

/** @param isTried whether the client also gets the redirect URI of the console, and a sign-in with it begins */
export function addingAct(kind: ClientUse, isTried = false): Act {
  const { first, more, values, members } = NEW_CLIENTS[kind];
  const named = [...first, ...more];
  return {
    operation: 'addClient',
    async form(visit) {
      const choices = await choicesOf(visit);
      const others = Object.keys(CLIENT_PARTS.all).filter((name) => !named.includes(name));
      const secret = members.token_endpoint_auth_method === 'none' ? ['client_secret'] : [];
      const apis = choices.apis?.length === 0 ? ['apis'] : [];
      const hasScopes = named.includes('scope') && named.includes('apis') && choices[API_FIELD]?.length;
      const ofApis = hasScopes ? [API_FIELD] : [];
      const withOfApis = (names: readonly string[]) =>
        names.flatMap((name) => (name === 'apis' ? [name, ...ofApis] : name));
      return {
        schema: withScopesOfApis(OPERATIONS.addClient.body),
        spec: {
          first: withOfApis(first),
          parts: { more: withOfApis(more) },
          without: [...others, ...secret, ...apis, ...(hasScopes ? [] : [API_FIELD])],
          required: named.filter(isNeeded),
          ofConsole: ofApis,
          choices,
        },
        values: { client_id: newClientId(kind), ...values },
      };
    },
    ...(kind === 'spa' && {
      buttons: (visit: Visit) => [...(trialNeeds(visit).isAtIssuer ? ['try_spa'] : []), 'add_spa'],
    }),
    input: ({ [API_FIELD]: chosen, ...typed }, _, { console: { issuer } }) => ({
      ...{ ...members, ...typed, ...withScopes(typed.scope, chosen) },
      ...(isTried && { redirect_uris: withTrial(typed.redirect_uris, issuer) }),
    }),
    ...(isTried && {
      leads: (visit: Visit, { client_id: id }: Document<'addClient'>) => beginTrial(visit, id),
    }),
    after: keepSecret,
    tells: SCOPE_WARNINGS,
    done: 'client_added',
    next: ({ client_id: id }: Document<'addClient'>) => ({ id }),
  };
}

/** A client ID for operators who have no other in mind. It is not a secret. */
function newClientId(kind: string): string {
  return `${kind}-${newIdentifier()
    .replaceAll(/[^a-z\d]/gi, '')
    .slice(0, 6)
    .toLowerCase()}`;
}

/** Without them, a client of its kind cannot do anything. */
function isNeeded(member: string): boolean {
  return ['redirect_uris', 'resource'].includes(member);
}

/** The kinds of clients to add: a link `ask-add_KIND` for each, those first that users sign in to. */
export function newClientPage(view: ConsoleView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  return consoleFrame(view, setting, {
    title: words.addClient,
    style: CARD_STYLE,
    body: html`${section('signing-in', words.usersSignIn, cards(NEW_CLIENT_KINDS.filter(isForUsers), view, texts))}${section(
      'others',
      words.otherClients,
      cards(
        NEW_CLIENT_KINDS.filter((kind) => !isForUsers(kind)),
        view,
        texts,
      ),
    )}`,
  });
}

function isForUsers(kind: ClientUse): boolean {
  return NEW_CLIENTS[kind].first.includes('redirect_uris');
}

function cards(kinds: readonly ClientUse[], { base }: ConsoleView, { console: { clientUses } }: Texts): Html {
  return html`<ul class="cards" role="list">
${kinds.map((kind) => html`<li><a id="ask-add_${kind}" href="${urlOf(base, 'clients', { ask: `add_${kind}` })}">${clientUses[kind].name}</a><p class="note">${clientUses[kind].about}</p></li>\n`)}</ul>`;
}

const CARD_STYLE = `
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: .75rem; margin-top: .75rem; }
.cards li { position: relative; padding: .875rem 1rem; border: 1px solid var(--line); border-radius: var(--radius, .625rem); }
.cards li:hover { background: var(--ground); border-color: var(--edge); }
.cards a { font-weight: 600; color: inherit; text-decoration: none; }
.cards a::after { content: ''; position: absolute; inset: 0; }
.cards .note { margin-top: .25rem; }
`;
