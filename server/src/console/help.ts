// Explains what the overview calls wrong, and the reason codes: what each means, where to look, and what to do.
import type { InactiveReason } from '@grantd/core';
import { html } from 'hono/html';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type ReasonKind, reasonIn, reasonKindOf, type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsolePageName, type ConsoleView, consoleFrame, section, termList, urlOf } from './frame.ts';
import { LIMITS, PLACES_OF_TROUBLES, type Trouble } from './troubles.ts';

/** `GET /console/help`: everything that it explains; with `about`, one trouble or reason code. */
export async function showHelp({ c, setting, view }: Visit): Promise<Response> {
  const about = c.req.query('about') ?? '';
  return renderPage(c, helpPage({ ...view, about }, setting));
}

export interface HelpView extends ConsoleView {
  /** A trouble or a reason code; empty for the list of all. */
  readonly about: string;
}

/** Reasons why a token is inactive whose refresh token has ended with it. */
const ENDED: ReadonlySet<string> = new Set<InactiveReason>([
  ...(['revoked', 'grant_revoked', 'session_revoked', 'subject_revoked', 'subject_disabled'] as const),
  ...([
    'client_revoked',
    'client_disabled',
    'client_gone',
    'issued_before_cutoff',
    'ancestor_ended',
  ] as const),
]);

const PLACES: Readonly<Record<ReasonKind | 'limit' | 'ended', readonly ConsolePageName[]>> = {
  inactive: ['tokens', 'audit'],
  ended: ['tokens', 'audit'],
  refused: ['clients', 'audit'],
  page: ['users', 'audit'],
  limit: ['users', 'audit'],
};

/** `/console/help`: link `all`. */
export function helpPage(view: HelpView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { pages, overview } = texts.console;
  const { base, about } = view;
  if (about === '')
    return consoleFrame(view, setting, {
      title: pages.help,
      lead: overview.help.lead,
      body: listOfAll(base, texts),
    });
  const { title, body } = trouble(about, base, texts) ?? reason(about, base, texts);
  return consoleFrame(view, setting, {
    title,
    body: html`${body}
<p class="note"><a id="all" href="${urlOf(base, 'help')}">${overview.help.all}</a></p>`,
  });
}

interface Explained {
  readonly title: string;
  readonly body: Html;
}

/** @returns `undefined` if the code is that of no trouble */
function trouble(code: string, base: string, { console: words }: Texts): Explained | undefined {
  const { help } = words.overview;
  if (!Object.hasOwn(help.ofTroubles, code)) return undefined;
  const { title, means, look, act } = help.ofTroubles[code as Trouble['code']];
  const place = PLACES_OF_TROUBLES[code as Trouble['code']];
  return {
    title,
    body: explanation(
      means,
      html`${look}${links(place === undefined ? [] : [place], base, words.pages)}`,
      act,
      help,
    ),
  };
}

function reason(code: string, base: string, texts: Texts): Explained {
  const { pages, overview } = texts.console;
  const meaning = reasonIn(texts, code);
  if (meaning === undefined)
    return { title: pages.help, body: html`<p class="empty">${overview.help.unknown}</p>` };
  const kind = LIMITS.has(code) ? 'limit' : ENDED.has(code) ? 'ended' : reasonKindOf(code);
  const { look, act } = overview.help.ofReasons[kind];
  return {
    title: code,
    body: explanation(meaning, html`${look}${links(PLACES[kind], base, pages)}`, act, overview.help),
  };
}

function explanation(
  means: string,
  look: Html,
  act: string,
  terms: Texts['console']['overview']['help'],
): Html {
  return termList([
    [terms.means, html`${means}`],
    [terms.look, look],
    [terms.act, html`${act}`],
  ]);
}

function links(names: readonly ConsolePageName[], base: string, pages: Texts['console']['pages']): Html {
  return html`${names.map((name) => html` <a href="${urlOf(base, name)}">${pages[name]}</a>`)}`;
}

function listOfAll(base: string, { console: { overview, reasons } }: Texts): Html {
  const { help } = overview;
  const link = (code: string, text: string) =>
    html`<a href="${urlOf(base, 'help', { about: code })}">${text}</a>`;
  return html`${section(
    'troubles',
    help.troubles,
    html`<ul class="rows" role="list">
${Object.entries(help.ofTroubles).map(([code, { title }]) => html`<li>${link(code, title)}</li>\n`)}</ul>`,
  )}${section(
    'reasons',
    help.reasons,
    html`<p class="note">${help.reasonsText}</p>
<ul class="rows" role="list">
${Object.entries(reasons)
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(
    ([code, text]) => html`<li id="${code}"><p><code>${code}</code></p><p class="detail">${text}</p></li>\n`,
  )}</ul>`,
  )}`;
}
