// The page of one thing: a user, a client or a group. Its state and its acts are at the top.
import { html } from 'hono/html';
import { named } from '../pages/drawing/application_shown.ts';
import type { Page, PageSetting } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Given } from './acts.ts';
import { actionForm, type ConsoleView, consoleFrame, urlOf } from './frame.ts';
import { type Badge, badges } from './lists.ts';
import { copied } from './values.ts';

export interface Thing {
  readonly name: string;
  /** What the URL of the page has. */
  readonly given: Given;
  /** Beside the name, if it says something else. */
  readonly id?: string;
  readonly badges: readonly Badge[];
  /** What the state of the thing asks for, or the change of what is stored. */
  readonly primary: Html;
  /** Links to further pages about it. */
  readonly links?: Html;
  /** Parameters of the audit trail that find its events. */
  readonly events: Given;
  /** The acts of the menu. */
  readonly acts: readonly Html[];
  /** Below the acts of the menu. */
  readonly note?: string | undefined;
  /** Above the columns. */
  readonly above?: Html;
  /** What is stored about it, and what it does. One below the other on narrow screens. */
  readonly columns: readonly [Html, Html];
  readonly below?: Html;
  readonly style?: string;
}

/** Link `events`, and the menu `more` of acts, which works without scripts. */
export function thingPage(view: ConsoleView, setting: PageSetting, thing: Thing): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { name, given, id, primary, links, events, acts, note, above, columns, below, style } = thing;
  const menu = html`<details class="menu"><summary id="more" class="button">${words.actions}</summary>
<div>${acts}${note === undefined ? '' : html`<p class="note">${note}</p>`}</div></details>`;
  return consoleFrame(view, setting, {
    title: name,
    heading: named(name),
    badges: html`${badges(thing.badges, texts)}${id === undefined ? '' : copied(id, texts)}`,
    primary: actionForm(view, given, [
      html`${primary}${links ?? ''}<a id="events" class="button" href="${urlOf(view.base, 'audit', events)}">${words.eventsAbout}</a>`,
      ...(acts.length === 0 && note === undefined ? [] : [menu]),
    ]),
    ...(style !== undefined && { style }),
    body: html`${above ?? ''}<div class="columns">${columns.map((column) => html`<div>${column}</div>\n`)}</div>
${below ?? ''}`,
  });
}
