// The applications that reach a user's data: grants, services and agents that act, consents and personal access tokens.
import { type ClientRecord, isUnchecked } from '@grantd/core';
import { html } from 'hono/html';
import type { PersonalTokenView } from '../admin/personal_tokens.ts';
import type { ActingView, ConsentView, GrantView } from '../admin/sessions.ts';
import { hourOfUse, named } from '../pages/drawing/application_shown.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import { type Cell, dataTable, type Head, thingUrl } from './lists.ts';
import { codes, moment } from './values.ts';

/** What the server knows about the access to a user's data. */
export interface ReachView {
  readonly base: string;
  readonly grants: readonly GrantView[];
  readonly acting: readonly ActingView[];
  readonly consents: readonly ConsentView[];
  /** Their grants have the same identifiers. */
  readonly tokens: readonly PersonalTokenView[];
  /** The client that a list names; `undefined` if it was removed. */
  readonly client: (id: string) => Pick<ClientRecord, 'name' | 'registeredAt' | 'metadata'> | undefined;
  readonly nowMs: number;
}

type Lists = Pick<ReachView, 'grants' | 'acting' | 'consents' | 'tokens'>;

type ReachKind = 'grant' | 'personal_token' | 'acting' | 'consent';

/** One way in which a client reaches the data. */
interface Reach {
  readonly kind: ReachKind;
  readonly clientId: string;
  /** Whether it has live tokens. */
  readonly isActive: boolean;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly since: string | undefined;
  readonly lastUsed?: string | undefined;
  /** Of services and agents: the applications through which they act. */
  readonly applications?: readonly string[];
  readonly isAgent?: boolean;
  /** Of personal access tokens. */
  readonly tokenName?: string;
  /** Of grants. */
  readonly grantId?: string;
}

/** The clients that the lists name. */
export function clientsIn({ grants, acting, consents }: Omit<Lists, 'tokens'>): readonly string[] {
  return [
    ...[...grants, ...acting, ...consents].map(({ client_id: id }) => id),
    ...acting.flatMap(({ applications }) => applications),
  ];
}

/** Those with live tokens come first, then the latest. */
function reachesIn(lists: Lists): readonly Reach[] {
  const { grants, acting, consents, tokens } = lists;
  const held: readonly Reach[] = [
    ...grants.map(({ id, client_id: clientId, scopes, resources, created_at: since }): Reach => {
      const token = tokens.find((one) => one.id === id);
      const grant = { clientId, isActive: true, scopes, since, grantId: id };
      if (token === undefined) return { ...grant, kind: 'grant', resources };
      const { name: tokenName, resource, last_used_at: lastUsed } = token;
      return { ...grant, kind: 'personal_token', resources: [resource], tokenName, lastUsed };
    }),
    ...acting.map(
      ({ client_id: clientId, active: isActive, agent: isAgent, last_used_at: lastUsed, ...one }): Reach => ({
        ...{ kind: 'acting', clientId, isActive, isAgent, lastUsed, since: one.since },
        ...{ scopes: one.scopes, resources: one.resources, applications: one.applications },
      }),
    ),
  ];
  const atMs = ({ lastUsed, since }: Reach) => Date.parse(lastUsed ?? since ?? '') || 0;
  return [...held, ...consents.flatMap((consent) => beyond(consent, held))].toSorted(
    (one, other) => Number(other.isActive) - Number(one.isActive) || atMs(other) - atMs(one),
  );
}

/** A consent allows new tokens without a question. It is left out if the client has live tokens for all of it. */
function beyond({ client_id: clientId, entries }: ConsentView, held: readonly Reach[]): readonly Reach[] {
  const own = held.filter((one) => one.clientId === clientId && one.isActive);
  const all = (member: 'scopes' | 'resources') => [...new Set(entries.flatMap((entry) => entry[member]))];
  const more = (member: 'scopes' | 'resources') =>
    all(member).some((value) => !own.some((one) => one[member].includes(value)));
  if (own.length > 0 && !more('scopes') && !more('resources')) return [];
  const [since] = entries.map(({ given_at: at }) => at).toSorted();
  const access = { scopes: all('scopes'), resources: all('resources'), since };
  return [{ kind: 'consent', clientId, isActive: false, ...access }];
}

/** What an administrator can end: a grant, the access of a client, or a consent. */
export type Ending =
  | { readonly end_grant: { readonly grant: string } }
  | { readonly end_client: { readonly client: string } }
  | { readonly withdraw_consent: { readonly client: string } };

/** The table, without columns in which no row has anything. @param ending the link that begins the end */
export function reachTable(
  view: ReachView,
  ending: (what: Ending, name: string) => Html,
  texts: Texts,
): Html {
  const { console: words } = texts;
  const { reach: own } = words;
  const reaches = reachesIn(view);
  if (reaches.length === 0) return html`<p class="empty">${words.none}</p>`;
  const active = new Set(reaches.filter(({ isActive }) => isActive).map(({ clientId }) => clientId));
  const endOf = ({ kind, isActive, clientId, grantId, tokenName = clientId }: Reach) => {
    if (grantId !== undefined) return ending({ end_grant: { grant: grantId } }, tokenName);
    if (kind === 'consent') return ending({ withdraw_consent: { client: clientId } }, clientId);
    return isActive ? ending({ end_client: { client: clientId } }, clientId) : undefined;
  };
  const heads: readonly Head[] = [
    ...[own.application, own.through, own.access].map((title) => ({ title })),
    { title: words.since, size: 'small' },
    { title: own.lastUsed, size: 'small' },
    { title: words.actions, size: 'large' },
  ];
  const rows = reaches.map((one): readonly Cell[] => [
    nameOf({ ...one, hasAccess: active.has(one.clientId) }, view, texts),
    throughOf(one, view, texts),
    accessOf(one),
    one.since && moment(one.since, view.nowMs, texts),
    usedOf(one, view.nowMs, texts),
    endOf(one),
  ]);
  const isUsed = (_: unknown, at: number) => rows.some((cells) => cells[at] !== undefined);
  return html`<p class="note">${own.active(active.size)}</p>
${dataTable(
  {
    name: own.title,
    heads: heads.filter(isUsed),
    rows: rows.map((cells) => ({ cells: cells.filter(isUsed) })),
  },
  texts,
)}`;
}

function nameOf(
  { clientId, isActive, kind, tokenName, hasAccess, ...one }: Reach & { readonly hasAccess: boolean },
  view: ReachView,
  texts: Texts,
): Html {
  const client = view.client(clientId);
  const { reach: own, inactive } = texts.console;
  const marks = [
    ...(one.isAgent === true || client?.metadata?.kind === 'agent' ? [texts.account.agent] : []),
    ...(client !== undefined && isUnchecked(client) ? [texts.unchecked.badge] : []),
    ...(kind === 'personal_token' ? [own.personalToken] : []),
    ...(kind === 'consent' || isActive ? [] : [inactive]),
  ];
  const consent = hasAccess ? own.consentToMore : own.consent;
  const link = clientLink(clientId, view);
  const name = tokenName === undefined ? link : html`${named(tokenName)} (${link})`;
  return html`${name}${marks.map((mark) => html` <span class="badge">${mark}</span>`)}${kind === 'consent' ? html`<p class="detail">${consent}</p>` : ''}`;
}

function clientLink(id: string, { base, client }: ReachView): Html {
  return html`<a href="${thingUrl(base, 'clients', id)}"><bdi>${client(id)?.name ?? id}</bdi></a>`;
}

function throughOf({ clientId, applications = [] }: Reach, view: ReachView, texts: Texts): Cell {
  const parts = applications.map((id) =>
    id === clientId ? html`${texts.console.reach.byAssertion}` : clientLink(id, view),
  );
  return parts.length === 0
    ? undefined
    : html`${parts.map((part, at) => html`${at === 0 ? '' : ', '}${part}`)}`;
}

function accessOf({ scopes, resources }: Reach): Cell {
  const apis = resources.map((uri) => html`<p class="detail"><bdi title="${uri}">${uri}</bdi></p>`);
  return scopes.length + apis.length === 0 ? undefined : html`${codes(scopes) ?? ''}${apis}`;
}

/** The server does not record when an application used a grant. */
function usedOf({ kind, lastUsed }: Reach, nowMs: number, texts: Texts): Cell {
  if (lastUsed !== undefined)
    return moment(lastUsed, nowMs, texts, hourOfUse(Date.parse(lastUsed), nowMs, texts));
  return kind === 'personal_token' ? texts.personalTokens.neverUsed : undefined;
}
