import { EVENT_TYPES, type EventRecord } from '@grantd/core';
import { html } from 'hono/html';
import { eventsBefore } from '../operations/events.ts';
import { type Page, type PageSetting, renderPage } from '../pages/layout.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, consoleFrame, nextLink, timeOf, urlOf } from './frame.ts';

const EVENTS_PER_PAGE = 50;

/** Maximum events that one page reads. */
const MAX_EVENTS_READ = 20_000;

/** `GET /console/events`: the newest events first, with filters `type` and `target`. */
export async function showEvents({ c, parts, setting, view }: Visit): Promise<Response> {
  const { target = '', before = '' } = c.req.query();
  const type = EVENT_TYPES.find((one) => one === c.req.query('type'));
  const { events, next } = await eventsBefore(
    parts,
    /^[1-9]\d{0,15}$/.test(before) ? Number(before) : undefined,
    { type, target: target === '' ? undefined : target },
    { most: EVENTS_PER_PAGE, mostRead: MAX_EVENTS_READ },
  );
  const shown: EventsView = {
    ...view,
    ...{ events, target, type: type ?? '' },
    ...(next !== undefined && { next: urlOf(view.base, 'events', { type, target, before: String(next) }) }),
  };
  return renderPage(c, eventsPage(shown, setting));
}

export interface EventsView extends ConsoleView {
  readonly events: readonly EventRecord[];
  readonly type: string;
  readonly target: string;
  /** URL of earlier events. */
  readonly next?: string;
}

/** `/console/events`: fields `type` and `target`, link `next`. */
export function eventsPage(view: EventsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, events } = view;
  return consoleFrame(view, setting, {
    title: words.pages.events,
    lead: words.eventsText,
    body: html`<form method="get" action="${urlOf(base, 'events')}" role="search" class="search">
<label for="type">${words.eventType}</label>
<select id="type" name="type">
<option value="">${words.allTypes}</option>
${EVENT_TYPES.map((type) => html`<option${type === view.type ? html` selected` : ''}>${type}</option>\n`)}</select>
<label for="target">${words.eventTarget}</label>
<input id="target" name="target" value="${view.target}" autocomplete="off" spellcheck="false">
<button id="search-submit" type="submit">${words.search}</button>
</form>
${
  events.length === 0
    ? html`<p class="empty">${words.nothingFound}</p>`
    : html`<ul class="rows" role="list">
${events.map((event) => eventRow(event, base, texts))}</ul>`
}
${nextLink(view.next, texts)}`,
  });
}

function eventRow({ sequence, atMs, type, target, actor }: EventRecord, base: string, texts: Texts): Html {
  // An event about the whole server, such as a loaded configuration, has no target.
  const about =
    target === '' ? '' : html` <a href="${urlOf(base, 'events', { target })}"><bdi>${target}</bdi></a>`;
  return html`<li><code>${type}</code>${about}
<p class="detail"><span>${String(sequence)}</span> ${timeOf(atMs, texts) ?? ''}${actor === undefined ? '' : html` <span>${texts.console.by(html`<bdi>${actor}</bdi>`)}</span>`}</p></li>
`;
}
