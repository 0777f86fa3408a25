import { html } from 'hono/html';
import { revokeAll } from '../admin/tokens.ts';
import { pagesOf } from '../admin/user_rules.ts';
import type { Sample } from '../monitoring/history.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { CHART_STYLE } from './chart_library.ts';
import { CHARTS_SCRIPT, chartsSection } from './charts.ts';
import { type ConsoleView, consoleFrame, section, termList, urlOf } from './frame.ts';

/** `GET /console`. With `count=yes`, also counts users and active tokens, which reads all their rows. */
export async function showOverview({
  c,
  console: { isReady, clock, history },
  parts,
  setting,
  view,
}: Visit): Promise<Response> {
  const [clients, groups, ready] = await Promise.all([
    parts.storage.clients.list(),
    parts.groups.list(),
    isReady(),
  ]);
  const counted =
    c.req.query('count') === 'yes'
      ? {
          users: await countUsers(parts),
          tokens:
            (await revokeAll(parts, { issuedBeforeMs: parts.clock() }, { counts: true, isDryRun: true }))
              .alive ?? 0,
        }
      : undefined;
  const shown: OverviewView = {
    ...view,
    clients: clients.length,
    groups: groups.length,
    ...(counted !== undefined && { counted }),
    ...(history !== undefined && { samples: history.samples }),
    isReady: ready,
    skewSeconds: clock.skewSeconds,
    issuer: parts.issuer,
  };
  return renderPage(c, overviewPage(shown, setting));
}

async function countUsers(parts: Visit['parts']): Promise<number> {
  let users = 0;
  for await (const some of pagesOf(parts, {})) users += some.length;
  return users;
}

export interface OverviewView extends ConsoleView {
  readonly clients: number;
  readonly groups: number;
  /** Present if asked for. */
  readonly counted?: { readonly users: number; readonly tokens: number };
  readonly isReady: boolean;
  /** Seconds by which the clock of this server is ahead; 0 if it agrees with others. */
  readonly skewSeconds: number;
  /** Present if this server counts what it does. */
  readonly samples?: readonly Sample[];
  readonly issuer: string;
}

/** `/console`: link `count`. */
export function overviewPage(view: OverviewView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words, formats } = texts;
  const { counted } = view;
  const figure = (term: string, count: number): Html =>
    html`<div><dt>${term}</dt><dd>${formats.number(count)}</dd></div>\n`;
  const health = view.isReady
    ? html`<span class="badge good">${words.ready}</span>`
    : html`<span class="badge bad">${words.notReady}</span>`;
  return consoleFrame(view, setting, {
    title: words.pages.overview,
    ...(view.samples !== undefined && { style: CHART_STYLE, scripts: [CHARTS_SCRIPT] }),
    body: html`${section(
      'health',
      words.health,
      termList([
        [words.state, health],
        [words.issuer, html`<bdi>${view.issuer}</bdi>`],
        ...(view.skewSeconds === 0
          ? []
          : [
              [
                words.clock,
                html`<span class="badge bad">${view.skewSeconds > 0 ? words.clockAhead(view.skewSeconds) : words.clockBehind(-view.skewSeconds)}</span>`,
              ] as const,
            ]),
      ]),
    )}${section(
      'figures',
      words.figures,
      html`<dl class="figures">
${figure(words.pages.clients, view.clients)}${figure(words.pages.groups, view.groups)}${counted === undefined ? '' : html`${figure(words.pages.users, counted.users)}${figure(words.activeTokens, counted.tokens)}`}</dl>
${counted === undefined ? html`<p class="actions"><a id="count" class="button" href="${urlOf(view.base, 'overview', { count: 'yes' })}">${words.count}</a></p>\n<p class="note">${words.countText}</p>` : ''}`,
    )}${section(
      'last-hour',
      words.charts.title,
      view.samples === undefined
        ? html`<p class="empty">${words.charts.absent}</p>`
        : chartsSection(view.base, view.samples, texts),
    )}`,
  });
}
