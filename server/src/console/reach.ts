// The applications that reach a user's data, one row for each: with grants, as services and agents that act, and by consents.
import { type ClientRecord, isUnchecked } from '@grantd/core';
import { html } from 'hono/html';
import type { PersonalTokenView } from '../admin/personal_tokens.ts';
import type { ActingView, ConsentView, GrantView } from '../admin/sessions.ts';
import { hourOfUse, isInHour, named } from '../pages/drawing/application_shown.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import type { Given } from './acts.ts';
import { type Cell, dataTable, type Head, thingUrl } from './lists.ts';
import { codes, moment } from './values.ts';

/** What the server knows about the access to a user's data. */
export interface ReachView extends AccessLists {
  readonly base: string;
  /** When a client last got a token for the user, if it is known, in milliseconds. */
  readonly issuedAt: (clientId: string) => number | undefined;
  /** Their grants have the same identifiers. */
  readonly tokens: readonly PersonalTokenView[];
  /** The client that a list names; `undefined` if it was removed. */
  readonly client: (id: string) => Pick<ClientRecord, 'name' | 'registeredAt' | 'metadata'> | undefined;
  readonly nowMs: number;
}

export interface AccessLists {
  readonly grants: readonly GrantView[];
  readonly acting: readonly ActingView[];
  readonly consents: readonly ConsentView[];
}

interface Access {
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
}

/** An application that reaches the data, or a personal access token. */
interface Reach extends Access {
  readonly clientId: string;
  /** Whether it has live tokens. Their scopes and APIs are shown, otherwise those of the consent. */
  readonly isActive: boolean;
  readonly since: string | undefined;
  /** To the hour. */
  readonly lastUsed: string | undefined;
  /** Of services and agents: the applications through which they act. */
  readonly applications?: readonly string[];
  readonly isAgent?: boolean;
  /** What a consent allows without a question, besides what is shown. */
  readonly consent?: Access;
  /** A personal access token: the ID of its grant, and its name. */
  readonly personal?: { readonly grant: string; readonly name: string };
}

/** The clients that the lists name. */
export function clientsIn({ grants, acting, consents }: AccessLists): readonly string[] {
  return [
    ...[...grants, ...acting, ...consents].map(({ client_id: id }) => id),
    ...acting.flatMap(({ applications }) => applications),
  ];
}

/** Those with live tokens come first, then the latest. */
function reachesIn({ tokens, issuedAt, ...lists }: ReachView): readonly Reach[] {
  const made = new Set(tokens.map(({ id }) => id));
  const granted = { ...lists, grants: lists.grants.filter(({ id }) => !made.has(id)) };
  const all = [...granted.grants, ...lists.acting, ...lists.consents].map(({ client_id: id }) => id);
  const personal = lists.grants.flatMap(({ id, client_id: clientId, ...grant }): readonly Reach[] => {
    const token = tokens.find((one) => one.id === id);
    if (token === undefined) return [];
    const { name, resource, last_used_at: lastUsed } = token;
    const access = { scopes: grant.scopes, resources: [resource] };
    const times = { since: grant.created_at, lastUsed };
    return [{ clientId, isActive: true, ...access, ...times, personal: { grant: id, name } }];
  });
  const atMs = ({ clientId, lastUsed, since, personal: token }: Reach) =>
    (token ? undefined : issuedAt(clientId)) ?? (Date.parse(lastUsed ?? since ?? '') || 0);
  return [...personal, ...[...new Set(all)].map((id) => reachOf(id, granted))].toSorted(
    (one, other) => Number(other.isActive) - Number(one.isActive) || atMs(other) - atMs(one),
  );
}

/** What one client reaches. */
export function reachOf(clientId: string, { grants, acting, consents }: AccessLists): Reach {
  const isOwn = (one: { readonly client_id: string }) => one.client_id === clientId;
  const held = grants.filter(isOwn);
  const acts = acting.filter(isOwn);
  const allowed = consents.filter(isOwn).flatMap(({ entries }) => entries);
  const isActive = held.length > 0 || acts.some(({ active }) => active);
  const shown = accessOf(isActive ? [...held, ...acts] : allowed);
  const consent = accessOf(allowed);
  const [since] = [
    ...held.map(({ created_at: at }) => at),
    ...acts.map(({ since: at }) => at),
    ...allowed.map(({ given_at: at }) => at),
  ].toSorted();
  return {
    ...{ clientId, isActive, ...shown, since, lastUsed: acts[0]?.last_used_at },
    ...(acts[0] && { applications: acts[0].applications, isAgent: acts[0].agent }),
    ...(allowed.length > 0 && {
      consent: {
        scopes: consent.scopes.filter((scope) => !shown.scopes.includes(scope)),
        resources: consent.resources.filter((uri) => !shown.resources.includes(uri)),
      },
    }),
  };
}

function accessOf(all: readonly Access[]): Access {
  const united = (member: keyof Access) => [...new Set(all.flatMap((one) => one[member]))];
  return { scopes: united('scopes'), resources: united('resources') };
}

/** The act that ends all that a row shows, with its parameters. */
export interface Ending {
  readonly act: 'end_grant' | 'end_client' | 'end_application' | 'withdraw_consent';
  readonly given: Given;
}

/** @returns `undefined` if there is nothing to end */
function endingOf({ clientId: client, isActive, consent, personal }: Reach): Ending | undefined {
  if (personal !== undefined) return { act: 'end_grant', given: { grant: personal.grant } };
  if (isActive) return { act: consent === undefined ? 'end_client' : 'end_application', given: { client } };
  return consent && { act: 'withdraw_consent', given: { client } };
}

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
  const heads: readonly Head[] = [
    ...[own.application, own.through, own.access].map((title) => ({ title })),
    { title: words.since, size: 'small' },
    { title: own.lastUsed, size: 'small' },
    { title: words.actions, size: 'large' },
  ];
  const rows = reaches.map((one): readonly Cell[] => {
    const end = endingOf(one);
    return [
      nameOf(one, view, texts),
      throughOf(one, view, texts),
      accessShown(one, texts),
      one.since && moment(one.since, view.nowMs, texts),
      usedOf(one, view, texts),
      end && ending(end, one.personal?.name ?? view.client(one.clientId)?.name ?? one.clientId),
    ];
  });
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
  { clientId, isActive, consent, personal, ...one }: Reach,
  view: ReachView,
  texts: Texts,
): Html {
  const client = view.client(clientId);
  const { reach: own, inactive } = texts.console;
  const marks = [
    ...(one.isAgent === true || client?.metadata?.kind === 'agent' ? [texts.account.agent] : []),
    ...(client !== undefined && isUnchecked(client) ? [texts.unchecked.badge] : []),
    ...(personal === undefined ? [] : [own.personalToken]),
    ...(consent !== undefined || isActive ? [] : [inactive]),
  ];
  const link = clientLink(clientId, view);
  const name = personal === undefined ? link : html`${named(personal.name)} (${link})`;
  return html`${name}${marks.map((mark) => html` <span class="badge">${mark}</span>`)}${consent === undefined || isActive ? '' : html`<p class="detail">${own.consent}</p>`}`;
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

function accessShown({ isActive, consent, ...shown }: Reach, { console: { reach: own } }: Texts): Cell {
  const listed = ({ scopes, resources }: Access) =>
    html`${codes(scopes) ?? ''}${resources.map((uri) => html`<p class="detail"><bdi>${uri}</bdi></p>`)}`;
  const isEmpty = ({ scopes, resources }: Access) => scopes.length + resources.length === 0;
  if (consent === undefined || !isActive) return isEmpty(shown) ? undefined : listed(shown);
  return html`${listed(shown)}<p class="detail">${isEmpty(consent) ? own.consentToThis : own.consentToMore}</p>${listed(consent)}`;
}

/** Of ordinary grants, the server records when tokens were issued. */
function usedOf(
  { clientId, lastUsed, since, personal }: Reach,
  { issuedAt, nowMs }: ReachView,
  texts: Texts,
): Cell {
  const issued = personal === undefined ? issuedAt(clientId) : undefined;
  if (issued !== undefined) return moment(issued, nowMs, texts);
  if (lastUsed !== undefined) {
    const [hourMs, sinceMs] = [Date.parse(lastUsed), Date.parse(since ?? lastUsed)];
    const said = hourOfUse(hourMs, nowMs, texts);
    // What is kept is the beginning of the hour, perhaps from before the token was there.
    return isInHour(hourMs, nowMs) ? said : moment(Math.max(hourMs, sinceMs), nowMs, texts, said);
  }
  return personal === undefined ? undefined : texts.personalTokens.neverUsed;
}
