// Which clients are refused, which get inactive answers, and why, from what the server has counted.
import { html } from 'hono/html';
import { isPostgresUrl } from '../config/options.ts';
import { OTHERS, type Sample, UNNAMED } from '../monitoring/history.ts';
import type { Html } from '../texts/formats/html.ts';
import { reasonKindOf, type Texts } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { topReasons } from './charts.ts';
import { urlOf } from './frame.ts';
import { ago, clientLink, type NamingView, reasonLine } from './values.ts';

/** What happened to a request: it was refused, or an introspection was answered with `{"active":false}`. */
type Answer = 'refused' | 'inactive';

interface CountedReason {
  readonly answer: Answer;
  readonly reason: string;
  readonly count: number;
  readonly lastAtMs: number;
}

/** What refused one client, and why the tokens that it introspected were inactive. */
export interface RefusedClient {
  /** `UNNAMED` for requests without a known client, `OTHERS` for clients that are not counted by name. */
  readonly clientId: string;
  /** All requests at times when some were refused or answered inactive. */
  readonly requests: number;
  /** The most frequent first. */
  readonly reasons: readonly CountedReason[];
}

/** The refusals and inactive answers of each client. */
export function refusedClients(samples: readonly Sample[]): readonly RefusedClient[] {
  const found = new Map<string, { requests: number; readonly reasons: Map<string, CountedReason> }>();
  for (const { atMs, clients } of samples)
    for (const [clientId, { requests, refusals, inactive = {} }] of Object.entries(clients)) {
      const client = found.get(clientId) ?? { requests: 0, reasons: new Map() };
      found.set(clientId, client);
      client.requests += requests;
      for (const [answer, counts] of [
        ['refused', refusals],
        ['inactive', inactive],
      ] as const)
        for (const [reason, count] of Object.entries(counts)) {
          const key = `${answer} ${reason}`;
          const sum = (client.reasons.get(key)?.count ?? 0) + count;
          client.reasons.set(key, { answer, reason, count: sum, lastAtMs: atMs });
        }
    }
  return [...found].map(([clientId, { requests, reasons }]) => ({
    ...{ clientId, requests },
    reasons: [...reasons.values()].toSorted(({ count: some }, { count: others }) => others - some),
  }));
}

/** Refusals or inactive answers of one reason that are a trouble of a client, whether or not they are usual. */
const MIN_REFUSED = 10;

/** Without a known client, strangers send some all the time. */
const MIN_UNNAMED = 100;

/** Refusals that are part of a protocol, or that users cause. */
const EXPECTED: ReadonlySet<string> = new Set([
  ...['device_pending', 'device_polls_early', 'device_denied', 'device_code_expired'],
  ...['dpop_nonce_missing', 'dpop_nonce_wrong'],
  ...['sign_in_required', 'sign_in_too_old', 'consent_required', 'consent_denied', 'interaction_required'],
  ...['account_selection_required', 'acr_unmet', 'person_not_allowed', 'other_person'],
]);

/** Refusals that a correct client meets too, when access ends, besides those of dead tokens. They are a trouble if they are most of what it sends. */
const TIMELY: ReadonlySet<string> = new Set([
  ...['code_expired', 'code_reused', 'issuance_overtaken', 'access_token_missing'],
  ...['refresh_token_inactive', 'refresh_token_reused', 'authorization_request_expired'],
]);

function isTimely(reason: string): boolean {
  return TIMELY.has(reason) || reasonKindOf(reason) === 'inactive';
}

/** Why tokens end that this server has issued. Every API meets them. */
const ENDED: ReadonlySet<string> = new Set([
  ...['expired', 'revoked', 'superseded', 'ancestor_ended', 'issued_before_cutoff'],
  ...['grant_revoked', 'session_revoked', 'subject_revoked', 'subject_disabled'],
  ...['client_revoked', 'client_disabled', 'client_gone', 'code_unknown', 'code_redeemed'],
]);

/** Tokens that are active, but not for the API that asks. They are a trouble if they are most of what it asks. */
const OF_OTHERS: ReadonlySet<string> = new Set(['need_unmet', 'policy']);

/** The share of damaged, unknown and foreign tokens that is a trouble. An API passes on what strangers send to it. */
const DAMAGED_SHARE = 0.1;

/** Page reasons that are about clients or addresses. */
const LIMITS_OF_CLIENTS: ReadonlySet<string> = new Set([
  'too_many_wrong_secrets',
  'too_many_unknown_tokens',
  'too_many_requests',
]);

/** A client that is refused, or gets inactive answers, as no correct client does. */
export interface TroubledClient extends RefusedClient {
  /** Of all its reasons. */
  readonly answer: Answer;
}

/** Clients with a trouble of their own. @param samples of the time that counts as now */
export function troubledClients(samples: readonly Sample[]): readonly TroubledClient[] {
  return refusedClients(samples).flatMap(({ clientId, requests, reasons }) => {
    const least = clientId === UNNAMED ? MIN_UNNAMED : MIN_REFUSED;
    const isWrong: Readonly<Record<Answer, (reason: string, count: number) => boolean>> = {
      refused: (reason, count) =>
        !EXPECTED.has(reason) &&
        (clientId !== UNNAMED || !LIMITS_OF_CLIENTS.has(reason)) &&
        (LIMITS_OF_CLIENTS.has(reason) || reasonKindOf(reason) !== 'page') &&
        (!isTimely(reason) || count * 2 >= requests),
      inactive: (reason, count) =>
        !ENDED.has(reason) && count >= requests * (OF_OTHERS.has(reason) ? 0.5 : DAMAGED_SHARE),
    };
    return (['refused', 'inactive'] as const).flatMap((answer) => {
      const wrong = reasons.filter(
        (one) => one.answer === answer && one.count >= least && isWrong[answer](one.reason, one.count),
      );
      return wrong.length === 0 ? [] : [{ answer, clientId, requests, reasons: wrong }];
    });
  });
}

/** The name of a client with a link, or what stands for several. */
export function refusedName(clientId: string, view: NamingView, { console: { overview } }: Texts): Html {
  if (clientId === UNNAMED) return html`${overview.unnamedClient}`;
  return clientId === OTHERS && view.names.client(clientId) === undefined
    ? html`${overview.otherClients}`
    : clientLink(view, clientId);
}

/** Clients of each row. */
const MAX_CLIENTS_SHOWN = 3;

/** Inactive answers have rows of their own, so that frequent ones do not hide refusals. */
const MAX_INACTIVE_SHOWN = 5;

/** Reasons of refusals, then those of inactive answers, with their number and their clients, the most frequent first. */
export function refusalsTable(samples: readonly Sample[], view: NamingView, texts: Texts): Html {
  const { overview: state, charts } = texts.console;
  const { counts, reasons } = topReasons(samples);
  const refused = refusedClients(samples);
  const inactive = new Map<string, number>();
  for (const { answer, reason, count } of refused.flatMap((client) => client.reasons))
    if (answer === 'inactive') inactive.set(reason, (inactive.get(reason) ?? 0) + count);
  const rows: readonly (readonly [Answer, reason: string, count: number])[] = [
    ...reasons.map((code) => ['refused', code, counts.get(code) ?? 0] as const),
    ...[...inactive]
      .toSorted(([, some], [, others]) => others - some)
      .slice(0, MAX_INACTIVE_SHOWN)
      .map(([code, count]) => ['inactive', code, count] as const),
  ];
  if (rows.length === 0) return html`<p class="empty">${state.noRefusals}</p>`;
  const shown = (answer: Answer, code: string) => {
    const clients = refused
      .flatMap(({ clientId, reasons: own }) =>
        own
          .filter((one) => one.answer === answer && one.reason === code)
          .map(({ count }) => ({ clientId, count })),
      )
      .toSorted(({ count: some }, { count: others }) => others - some);
    return html`${clients
      .slice(0, MAX_CLIENTS_SHOWN)
      .map(
        ({ clientId, count }) =>
          html`<div>${refusedName(clientId, view, texts)}: ${texts.formats.number(count, 0)}</div>`,
      )}${clients.length > MAX_CLIENTS_SHOWN ? html`<div>${state.moreClients(clients.length - MAX_CLIENTS_SHOWN)}</div>` : ''}`;
  };
  return html`<table class="refusals">
<thead><tr><th scope="col">${state.refusalCount}</th><th scope="col">${state.refusalReason}</th><th scope="col">${state.refusalClients}</th></tr></thead>
<tbody>
${rows.map(
  ([answer, code, count]) =>
    html`<tr><td>${texts.formats.number(count, 0)}</td><td>${
      code === 'fault' ? charts.faults : answerLine(answer, code, texts)
    } ${helpLink(view.base, code === 'fault' ? 'faults' : code, texts)}</td><td>${shown(answer, code)}</td></tr>\n`,
)}</tbody>
</table>`;
}

/** A reason. Those of inactive answers are marked, because their requests succeeded. */
function answerLine(answer: Answer, reason: string, texts: Texts): Html {
  const line = reasonLine(reason, texts);
  return answer === 'refused'
    ? html`${line}`
    : html`<span class="badge">${texts.console.overview.answeredInactive}</span> ${line}`;
}

function helpLink(base: string, about: string, { console: { overview } }: Texts): Html {
  return html`<a href="${urlOf(base, 'help', { about })}">${overview.help.link}<span class="unseen"> ${about}</span></a>`;
}

/** What a server has counted. */
export interface Counted {
  readonly samples: readonly Sample[];
  readonly nowMs: number;
  /** Whether other servers use the same database, and count for themselves. */
  readonly isShared: boolean;
}

export function isShared({ console: { partsOf }, session }: Visit): boolean {
  return isPostgresUrl(partsOf(session.person.subject).configuration.settings.database);
}

/** The refusals and inactive answers of one client in the last hour, for its page. */
export function clientRefusals(
  { samples, nowMs, isShared: hasOtherServers }: Counted,
  { base, id: clientId }: { readonly base: string; readonly id: string },
  texts: Texts,
): Html {
  const { overview: state } = texts.console;
  const refused = refusedClients(samples);
  const own = refused.find((one) => one.clientId === clientId);
  const hasOthers = refused.some((one) => one.clientId === OTHERS);
  const rows = own?.reasons ?? [];
  return html`${
    rows.length === 0
      ? html`<p class="empty">${state.noRefusals}</p>`
      : html`<table class="refusals">
<thead><tr><th scope="col">${state.refusalCount}</th><th scope="col">${state.refusalReason}</th><th scope="col">${state.refusalLast}</th></tr></thead>
<tbody>
${rows.map(({ answer, reason, count, lastAtMs }) => html`<tr><td>${texts.formats.number(count, 0)}</td><td>${answerLine(answer, reason, texts)} ${helpLink(base, reason, texts)}</td><td>${ago(lastAtMs, nowMs, texts)}</td></tr>\n`)}</tbody>
</table>`
  }
<p class="note">${state.countedSince}${hasOtherServers ? html` ${state.ofThisServer}` : ''}${hasOthers ? html` ${state.notByName}` : ''} <a href="${urlOf(base, 'overview')}#refusals">${texts.console.pages.overview}</a></p>`;
}
