import { html } from 'hono/html';
import type { KeyView } from '../admin/keys.ts';
import type { AdminParts } from '../admin/operation.ts';
import type { Document } from '../admin/table.ts';
import type { StoredMail } from '../data/mails.ts';
import { askStorage } from '../data/tables.ts';
import type { Sample } from '../monitoring/history.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { CHART_STYLE } from './chart_library.ts';
import { CHARTS_SCRIPT, chartsSection, secondsOf } from './charts.ts';
import { changesAdministrators, type EventRow, eventTable, readActs, rowsOf } from './event_rows.ts';
import { type ConsoleView, consoleFrame, section, urlOf } from './frame.ts';
import { namesOf } from './names.ts';
import { isShared, refusalsTable, refusedClients, refusedName } from './refusals.ts';
import { identifiersIn, type SentenceView } from './sentences.ts';
import {
  certificateEnd,
  type Facts,
  newestBackup,
  PLACES_OF_TROUBLES,
  type Topic,
  type Trouble,
  troublesIn,
} from './troubles.ts';
import { ago, atLeastShown, reasonLine } from './values.ts';

/** Changes on the page, at most. */
const MAX_CHANGES = 10;

/** Changes that are counted, at most. */
const MAX_COUNTED = 500;

/** Events that are read to find them, at most. A busy server records as many issuances in between. */
const MAX_EVENTS_READ = 5000;

const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_SECONDS = 3590;

/** Emails that are looked at, at most. */
const MAX_MAILS = 1000;

/** Locked users that are counted, at most. */
const MAX_LOCKED = 100;

/** An email that failed so often is a trouble. One failure may be the pause that a mail server asks of strangers. */
const MAIL_FAILURES = 2;

/** `GET /console`. With `count=yes`, also counts users and active tokens, which reads all their rows. */
export async function showOverview(visit: Visit): Promise<Response> {
  const { c, call, setting, view, console: parts, session } = visit;
  const admin = parts.partsOf(session.person.subject);
  const { samples } = parts.history ?? {};
  const nowMs = parts.pages.clock();
  const [counts, { items: keys }, { items: locked }, since, others] = await Promise.all([
    call('countStored', { all: c.req.query('count') === 'yes' }),
    call('listKeys', {}),
    // An index has exactly these users.
    call('listUsers', { state: 'locked', limit: MAX_LOCKED }),
    changesSince(admin, nowMs - (nowMs % DAY_MS) - DAY_MS),
    knownBesides(admin),
  ]);
  const facts = {
    nowMs,
    ...(visit.notReady && { notReady: visit.notReady }),
    skewSeconds: parts.clock.skewSeconds,
    ...(samples && { samples }),
    lockedUsers: locked.length,
    ...{ ...others, keys, oldSecrets: admin.secretTexts().length - 1 },
  };
  const { changes } = since;
  const { clientIds, ...mentioned } = identifiersIn(changes.map(({ event }) => event));
  const refused = refusedClients(samples ?? []).map(({ clientId }) => clientId);
  const shown: OverviewView = {
    ...{
      ...view,
      counts,
      ...since,
      keys,
      nowMs,
      adminGroup: parts.adminGroup,
      issuer: parts.issuer,
    },
    names: await namesOf(admin, { ...mentioned, clientIds: [...refused, ...clientIds] }),
    isShared: isShared(visit),
    ...troublesIn(facts),
    ...(samples !== undefined && { samples }),
  };
  return renderPage(c, overviewPage(shown, setting));
}

/** The latest changes by operators and by the server itself. Later ones do not hide those of administrators. */
async function changesSince(admin: Pick<AdminParts, 'auditTrail' | 'configuration'>, sinceMs: number) {
  const filter = { sinceMs, changes: true, operators: true };
  const page = await readActs(admin, filter, { most: MAX_COUNTED, mostRead: MAX_EVENTS_READ });
  const { adminGroup } = admin.configuration.settings;
  const rank = (act: (typeof page.items)[number]) => (changesAdministrators(act, adminGroup) ? 0 : 1);
  const byRank = page.items.toSorted((one, other) => rank(one) - rank(other));
  const shown = new Set(byRank.slice(0, MAX_CHANGES));
  const items = page.items.filter((act) => shown.has(act));
  return {
    changes: await rowsOf(admin, { ...page, items }),
    ...(page.next_cursor === undefined && { allChanges: page.items.length }),
  };
}

/** What can be wrong besides what the process counts. */
async function knownBesides({
  mails,
  storage,
  configuration: { settings },
}: Pick<AdminParts, 'mails' | 'storage' | 'configuration'>): Promise<Partial<Facts>> {
  const [unsent, clients, certificateEndsAtMs, newestAtMs] = await Promise.all([
    mails.list(false, MAX_MAILS),
    settings.registration === 'off' ? undefined : askStorage(() => storage.clients.list()),
    certificateEnd(settings, process.env),
    settings.backupFolder === undefined ? undefined : newestBackup(settings.backupFolder, process.env),
  ]);
  const registered = clients?.filter((client) => client.registrationTokenDigest !== undefined).length;
  const { registrationLimit: limit, backupInterval: intervalSeconds } = settings;
  return {
    mails: {
      failed: unsent.filter(({ failedAtMs }) => failedAtMs !== undefined).length,
      delayed: unsent.filter(isDelayed).length,
    },
    ...(registered !== undefined && { registrations: { count: registered, limit } }),
    ...(certificateEndsAtMs !== undefined && { certificateEndsAtMs }),
    ...(settings.backupFolder !== undefined && { backups: { newestAtMs, intervalSeconds } }),
  };
}

/** Whether the server still tries to send an email that has failed several times. */
function isDelayed({ attempts, failedAtMs, lastError }: StoredMail): boolean {
  return failedAtMs === undefined && lastError !== undefined && attempts >= MAIL_FAILURES;
}

export interface OverviewView extends ConsoleView, SentenceView {
  readonly base: string;
  /** With users and tokens if asked for. */
  readonly counts: Document<'countStored'>;
  readonly troubles: readonly Trouble[];
  /** What was looked at. */
  readonly topics: readonly Topic[];
  /** Present while the server cannot yet tell what is usual: for how long it has counted. */
  readonly countedSeconds?: number;
  /** Whether other servers use the same database. */
  readonly isShared: boolean;
  /** Since yesterday, the latest first. */
  readonly changes: readonly EventRow[];
  /** How many rows there would be without a limit; absent if the server has not counted all. */
  readonly allChanges?: number;
  /** Present if this server counts what it does. */
  readonly samples?: readonly Sample[];
  readonly issuer: string;
  readonly keys: readonly KeyView[];
  readonly nowMs: number;
}

/** `/console`: link `count`. */
export function overviewPage(view: OverviewView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { clients, groups, users, active_tokens: tokens, has_more_tokens: hasMore } = view.counts;
  const figure = (term: string, count: number | undefined, isLeast = false): Html | '' =>
    count === undefined
      ? ''
      : html`<div><dt>${term}</dt><dd>${atLeastShown(count, isLeast, texts)}</dd></div>\n`;
  return consoleFrame(view, setting, {
    title: words.pages.overview,
    primary: html`<a id="add-client" class="button" href="${urlOf(view.base, 'clients', { add: 'yes' })}">${words.addClient}</a>`,
    ...(view.samples !== undefined && { style: CHART_STYLE, scripts: [CHARTS_SCRIPT] }),
    body: html`${section('health', words.overview.title, troublesShown(view, texts))}${section(
      'changes',
      words.overview.changed,
      html`${
        view.changes.length === 0
          ? html`<p class="empty">${words.overview.unchanged}</p>`
          : eventTable(view.changes, view, texts)
      }
<p class="note">${words.overview.changedText} ${shownOf(view, texts)} <a id="all-changes" href="${urlOf(view.base, 'audit', { changes: 'yes', operators: 'yes', range: 'yesterday' })}">${words.overview.allEvents}</a></p>`,
    )}${
      view.samples === undefined
        ? ''
        : section('refusals', words.overview.refusals, refusalsTable(view.samples, view, texts))
    }${section('signing', words.overview.signing, signingShown(view, texts))}${section(
      'figures',
      words.figures,
      html`<dl class="figures">
${figure(words.pages.clients, clients)}${figure(words.pages.groups, groups)}${figure(words.pages.users, users)}${figure(words.activeTokens, tokens, hasMore)}</dl>
${users === undefined ? html`<p class="actions"><a id="count" class="button" href="${urlOf(view.base, 'overview', { count: 'yes' })}">${words.count}</a></p>\n<p class="note">${words.countText}</p>` : ''}`,
    )}${section(
      'last-hour',
      spanOf(view.samples, texts),
      view.samples === undefined
        ? html`<p class="empty">${words.charts.absent}</p>`
        : chartsSection(view.base, view.samples, texts),
    )}`,
  });
}

/** How many of the changes the page shows, if not all. */
function shownOf({ changes, allChanges }: OverviewView, { console: { overview }, formats }: Texts): string {
  if (changes.length < MAX_CHANGES || allChanges === changes.length) return '';
  const shown = formats.number(changes.length);
  return allChanges === undefined
    ? overview.lastChanges(shown)
    : overview.someChanges(shown, formats.number(allChanges));
}

/** What is wrong, or what was looked at. */
function troublesShown(view: OverviewView, texts: Texts): Html {
  const { troubles, topics, issuer, countedSeconds, isShared, samples, nowMs } = view;
  const { overview: state } = texts.console;
  const early =
    countedSeconds === undefined ? undefined : state.cannotCompare(texts.formats.duration(countedSeconds));
  const looked = html`<p class="note">${state.lookedAt(texts.formats.list(topics.map((topic) => state.topics[topic])))}${
    isShared ? html` ${state.ofThisServer}` : ''
  } ${texts.console.issuer}: <bdi>${issuer}</bdi></p>`;
  const lookedAtMs = samples?.at(-1)?.atMs;
  if (troubles.length === 0 && samples !== undefined && lookedAtMs === undefined)
    return html`<p><span class="badge">${state.notLooked}</span></p>\n${looked}`;
  if (troubles.length === 0) {
    const nothing =
      lookedAtMs === undefined
        ? state.nothing
        : state.nothingBefore(texts.formats.duration((nowMs - lookedAtMs) / 1000));
    return early === undefined
      ? html`<p><span class="badge good">${nothing}</span></p>\n${looked}`
      : html`<p><span class="badge">${nothing}</span> ${early}</p>\n${looked}`;
  }
  return html`<ul class="rows troubles" role="list">
${troubles.map((trouble) => troubleRow(trouble, view, texts))}</ul>
${early === undefined ? '' : html`<p class="note">${early}</p>\n`}${looked}`;
}

function troubleRow({ code, count, refused, outage }: Trouble, view: OverviewView, texts: Texts): Html {
  const { overview: state } = texts.console;
  const help = urlOf(view.base, 'help', { about: code });
  if (outage !== undefined) {
    const { kind, name, sinceMs, lastMs } = outage;
    const since = state.outage[code === 'peer' ? 'goesOn' : 'untried'];
    const link = kind === 'issuer' ? placeOf(code, view.base, texts) : '';
    return html`<li class="trouble-peer">${state.peers[kind](html`<bdi>${name}</bdi>`)} ${since(ago(sinceMs, view.nowMs, texts), ago(lastMs, view.nowMs, texts))}${link} <a href="${help}">${state.help.link}</a></li>\n`;
  }
  if (refused === undefined)
    return html`<li id="trouble-${code}">${state.troubles[code](count)}${placeOf(code, view.base, texts)} <a id="help-${code}" href="${help}">${state.help.link}</a></li>\n`;
  const last = Math.max(...refused.reasons.map(({ lastAtMs }) => lastAtMs));
  const name = refusedName(refused.clientId, view, texts);
  return html`<li class="trouble-client">${name}: ${state.troubles[code](count)} ${state.last(ago(last, view.nowMs, texts))} <a href="${help}">${state.help.link}</a>
${refused.reasons.map(({ reason, count: times }) => html`<div class="detail">${texts.formats.number(times, 0)} × ${reasonLine(reason, texts)}</div>\n`)}</li>
`;
}

/** Which keys sign, since when, and whether they can be rotated now. */
function signingShown({ base, keys, nowMs }: OverviewView, { console: words, formats }: Texts): Html {
  const isKnown = ({ known_at: knownAt }: KeyView) => knownAt !== undefined && Date.parse(knownAt) <= nowMs;
  const line = ({ algorithm, created_at: at }: KeyView) => {
    const isNextKnown = keys.some((key) => key.algorithm === algorithm && isKnown(key));
    const { signs, nextKnown, nextWaits } = words.overview;
    return `${signs(algorithm, formats.past(Date.parse(at), nowMs))} ${isNextKnown ? nextKnown : nextWaits}`;
  };
  return html`<ul class="rows" role="list">
${keys.filter(({ status }) => status === 'current').map((key) => html`<li>${line(key)}</li>\n`)}</ul>
<p class="note"><a href="${urlOf(base, 'keys')}">${words.pages.keys}</a> · <a href="${urlOf(base, 'secrets')}">${words.pages.secrets}</a></p>`;
}

/** What the pages of troubles show then. */
const FILTERS: Partial<Record<Trouble['code'], Readonly<Record<string, string>>>> = {
  sign_ins: { type: 'sign_in_failed', range: 'hour' },
  registrations: { kind: 'registered' },
  locked: { state: 'locked' },
};

/** Where to look at a trouble. */
function placeOf(code: Trouble['code'], base: string, { console: words }: Texts): Html | '' {
  const page = PLACES_OF_TROUBLES[code];
  if (page === undefined) return '';
  return page === 'overview'
    ? html` <a href="#refusals">${words.overview.refusals}</a>`
    : html` <a href="${urlOf(base, page, FILTERS[code])}">${words.pages[page]}</a>`;
}

/** Over which time the figures are. */
function spanOf(samples: readonly Sample[] | undefined, { console: words, formats }: Texts): string {
  const seconds = secondsOf(samples ?? []);
  return seconds === 0 || seconds >= HOUR_SECONDS
    ? words.charts.title
    : words.overview.span(formats.duration(seconds));
}
