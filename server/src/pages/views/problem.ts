import { html } from 'hono/html';
import { brandMark } from '../brand.ts';
import type { Html } from '../html.ts';
import type { Page, PageSetting } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { textsIn } from '../texts/texts.ts';

export type Problem = keyof Texts['problems'];

export interface ProblemView {
  readonly problem: Problem;
  /** Where waiting helps. */
  readonly secondsToWait?: number;
  /** For those who develop the application: what the log and the specification call it. */
  readonly detail?: ProblemDetail;
}

export interface ProblemDetail {
  /** Such as `invalid_request`. */
  readonly code?: string;
  /** In English, as it goes to clients. */
  readonly description?: string;
  readonly requestId?: string;
}

/** What is wrong, and what a person can do about it. */
export function problemPage(view: ProblemView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { title, text, help } = texts.problems[view.problem];
  const { problemDetail } = texts;
  return {
    ...setting,
    title: texts.problemTitle(title),
    body: html`<header>
${brandMark(setting.operator)}
<h1>${title}</h1>
</header>
<div role="alert" id="problem" tabindex="-1" autofocus>
<p>${text}</p>
<p>${view.secondsToWait === undefined ? help : problemDetail.waitFor(texts.formats.duration(view.secondsToWait))}</p>
</div>
${view.detail === undefined ? '' : detailOf(view.detail, texts)}`,
  };
}

function detailOf({ code, description, requestId }: ProblemDetail, { problemDetail }: Texts): Html | '' {
  const rows = [
    { term: problemDetail.code, value: code, language: 'en' },
    { term: problemDetail.description, value: description, language: 'en' },
    { term: problemDetail.requestId, value: requestId, language: 'zxx' },
  ].filter(({ value }) => value !== undefined && value !== '');
  if (rows.length === 0) return '';
  return html`<section class="developers" aria-labelledby="developers">
<h2 id="developers">${problemDetail.heading}</h2>
<dl>
${rows.map(({ term, value, language }) => html`<dt>${term}</dt><dd lang="${language}">${value}</dd>\n`)}</dl>
</section>`;
}
