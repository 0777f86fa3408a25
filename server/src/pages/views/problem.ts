import { html } from 'hono/html';
import { operatorMark } from '../brand.ts';
import type { Html } from '../html.ts';
import type { Page, PageSetting } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';
import { named, webAddress } from './name.ts';

export type Problem = keyof Texts['problems'];

export interface ProblemView {
  readonly problem: Problem;
  /** Where waiting helps. */
  readonly secondsToWait?: number;
  /** Why, if there is a text for it in the reader's language. */
  readonly reason?: string;
  readonly ways: ProblemWays;
  /** For those who develop the application: what the log and the specification call it. */
  readonly detail?: ProblemDetail;
}

/** Addresses to go on with. */
export interface ProblemWays {
  readonly home: string;
  readonly account: string;
  /** Of a page that may be tried again. */
  readonly again?: string;
  /** The application's own page, if somebody has checked the application. */
  readonly application?: { readonly name: string; readonly uri: string };
}

export interface ProblemDetail {
  /** Such as `invalid_request`. */
  readonly code?: string;
  /** In English, as it goes to clients. */
  readonly description?: string;
  readonly requestId?: string;
}

/** What is wrong, and what a person can do about it: links `try-again`, `to-application`, `to-home`, `to-account`. */
export function problemPage(view: ProblemView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { title, text, help } = texts.problems[view.problem];
  const reason = reasonText(view.reason, texts);
  const { problemDetail } = texts;
  return {
    ...setting,
    title: texts.problemTitle(title),
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${title}</h1>
</header>
<div role="alert" id="problem" tabindex="-1" autofocus>
<p>${text}</p>${reason === undefined ? '' : html`\n<p id="reason">${reason}</p>`}
<p>${view.secondsToWait === undefined ? help : problemDetail.waitFor(texts.formats.duration(view.secondsToWait))}</p>
</div>
${waysOf(view.ways, texts)}
${view.detail === undefined ? '' : detailOf(view.detail, texts)}`,
  };
}

/** The text for a reason code; `undefined` if the reason says nothing to people. */
function reasonText(reason: string | undefined, { reasons }: Texts): string | undefined {
  return Object.entries(reasons).find(([code]) => code === reason)?.[1];
}

function waysOf({ home, account, again, application }: ProblemWays, { problemWays }: Texts): Html {
  const applicationUri = webAddress(application?.uri);
  return html`${again === undefined ? '' : html`<a id="try-again" class="button" href="${again}">${problemWays.again}</a>`}
${application === undefined || applicationUri === undefined ? '' : html`<a id="to-application" class="button" href="${applicationUri}" rel="noreferrer">${problemWays.application(named(application.name))}</a>`}
<ul class="links" role="list">
<li><a id="to-home" href="${home}">${problemWays.home}</a></li>
<li><a id="to-account" href="${account}">${problemWays.account}</a></li>
</ul>`;
}

function detailOf({ code, description, requestId }: ProblemDetail, { problemDetail }: Texts): Html | '' {
  const rows = [
    { term: problemDetail.code, value: code, language: 'en' },
    { term: problemDetail.description, value: description, language: 'en' },
    { term: problemDetail.requestId, value: requestId, language: 'zxx' },
  ].filter(({ value }) => value !== undefined && value !== '');
  if (rows.length === 0) return '';
  return html`<details class="developers">
<summary>${problemDetail.heading}</summary>
<dl>
${rows.map(({ term, value, language }) => html`<dt>${term}</dt><dd lang="${language}">${value}</dd>\n`)}</dl>
</details>`;
}
