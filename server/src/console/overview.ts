import { html } from 'hono/html';
import type { Document } from '../admin/table.ts';
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
  call,
  console: { clock, history },
  setting,
  view,
}: Visit): Promise<Response> {
  const [counts, { status, issuer }] = await Promise.all([
    call('countStored', { all: c.req.query('count') === 'yes' }),
    call('showHealth', {}),
  ]);
  const shown: OverviewView = {
    ...{ ...view, counts, issuer },
    ...(history !== undefined && { samples: history.samples }),
    ...{ isReady: status === 'ok', skewSeconds: clock.skewSeconds },
  };
  return renderPage(c, overviewPage(shown, setting));
}

export interface OverviewView extends ConsoleView {
  /** With users and tokens if asked for. */
  readonly counts: Document<'countStored'>;
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
  const { clients, groups, users, active_tokens: tokens } = view.counts;
  const figure = (term: string, count: number | undefined): Html | '' =>
    count === undefined ? '' : html`<div><dt>${term}</dt><dd>${formats.number(count)}</dd></div>\n`;
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
${figure(words.pages.clients, clients)}${figure(words.pages.groups, groups)}${figure(words.pages.users, users)}${figure(words.activeTokens, tokens)}</dl>
${users === undefined ? html`<p class="actions"><a id="count" class="button" href="${urlOf(view.base, 'overview', { count: 'yes' })}">${words.count}</a></p>\n<p class="note">${words.countText}</p>` : ''}`,
    )}${section(
      'last-hour',
      words.charts.title,
      view.samples === undefined
        ? html`<p class="empty">${words.charts.absent}</p>`
        : chartsSection(view.base, view.samples, texts),
    )}`,
  });
}
