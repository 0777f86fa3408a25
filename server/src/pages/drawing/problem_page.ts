import { html } from 'hono/html';
import type { Html } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { Problem } from '../browser/request.ts';
import { named, webAddress } from './application_shown.ts';
import { operatorMark } from './brand.ts';
import { COPY_SCRIPT, copyScript, requestNumber } from './copying.ts';
import type { Page, PageSetting } from './layout.ts';

export interface ProblemView {
  readonly problem: Problem;
  /** Present if waiting helps. */
  readonly secondsToWait?: number;
  /** Reason code, shown if it has a text. */
  readonly reason?: string;
  readonly ways: ProblemWays;
  /** With which an operator finds the request in the log. */
  readonly requestId: string;
  /** For developers: the terms of the log and the specification. */
  readonly detail?: ProblemDetail;
}

/** URLs to continue with. */
interface ProblemWays {
  readonly home: string;
  readonly account: string;
  /** A page to try again. */
  readonly again?: string;
  /** The page that sends links. */
  readonly newLink?: string;
  /** The application’s own page, if the application is checked. */
  readonly application?: { readonly name: string; readonly uri: string };
}

interface ProblemDetail {
  /** Such as `invalid_request`. */
  readonly code?: string;
  /** The English `error_description`. */
  readonly description?: string;
}

/** Explains the problem and what the user can do. Links: `try-again`, `new-link`, `to-application`, `to-home`, `to-account`. */
export function problemPage(view: ProblemView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { title } = texts.problems[view.problem];
  const { home, account } = view.ways;
  return {
    ...setting,
    title: texts.problemTitle(title),
    scripts: [COPY_SCRIPT],
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${title}</h1>
</header>
${problemBody(
  view,
  html`<ul class="links" role="list">
<li><a id="to-home" href="${home}">${texts.problemWays.home}</a></li>
<li><a id="to-account" href="${account}">${texts.problemWays.account}</a></li>
</ul>`,
  texts,
)}
${copyScript()}`,
  };
}

/** What follows the headline of a problem. The page needs `copyScript`. @param links after the ways to continue with */
export function problemBody(view: ProblemView, links: Html, texts: Texts): Html {
  const { text, help } = texts.problems[view.problem];
  const reason = reasonText(view.reason, texts);
  const { problemDetail } = texts;
  return html`${requestNumber(view.requestId, texts)}
<div role="alert" id="problem" tabindex="-1" autofocus>
<p>${text}</p>${reason === undefined ? '' : html`\n<p id="reason">${reason}</p>`}
<p>${view.secondsToWait === undefined ? help : problemDetail.waitFor(texts.formats.duration(view.secondsToWait))}</p>
</div>
${waysOf(view.ways, texts)}
${links}
${view.detail === undefined ? '' : detailOf(view.detail, texts)}`;
}

/** The text for a reason code; `undefined` for codes without a text. */
function reasonText(reason: string | undefined, { reasons }: Texts): string | undefined {
  return Object.entries(reasons).find(([code]) => code === reason)?.[1];
}

function waysOf({ again, newLink, application }: ProblemWays, { problemWays }: Texts): Html {
  const applicationUri = webAddress(application?.uri);
  const primary = again === undefined && newLink === undefined ? ' primary' : '';
  return html`${again === undefined ? '' : html`<a id="try-again" class="button primary" href="${again}">${problemWays.again}</a>`}
${newLink === undefined ? '' : html`<a id="new-link" class="button primary" href="${newLink}">${problemWays.newLink}</a>`}
${application === undefined || applicationUri === undefined ? '' : html`<a id="to-application" class="button${primary}" href="${applicationUri}" rel="noreferrer">${problemWays.application(named(application.name))}</a>`}`;
}

function detailOf({ code, description }: ProblemDetail, { problemDetail }: Texts): Html | '' {
  const rows = [
    { term: problemDetail.code, value: code },
    { term: problemDetail.description, value: description },
  ].filter(({ value }) => value !== undefined && value !== '');
  if (rows.length === 0) return '';
  return html`<details class="developers">
<summary>${problemDetail.heading}</summary>
<dl>
${rows.map(({ term, value }) => html`<dt>${term}</dt><dd lang="en">${value}</dd>\n`)}</dl>
</details>`;
}
