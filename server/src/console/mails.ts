import { html } from 'hono/html';
import type { MailView } from '../admin/mails.ts';
import type { Document } from '../admin/table.ts';
import { MAIL_FAILURES, MAIL_LEASE_MS } from '../data/mails.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Acts, actLink } from './acts.ts';
import { actionForm, type ConsoleView, consoleFrame, rowsOr } from './frame.ts';
import { ago } from './values.ts';

export const MAILS: Acts = {
  page: 'mails',
  nameOf: async () => '',
  acts: {
    retry: { operation: 'retryMail', of: { mail: 'mail' }, done: 'mail_due', next: () => ({}) },
    test: {
      operation: 'testMail',
      form: { first: ['address'], labels: { address: 'recipient' } },
      done: 'mail_sent',
      warns: ({ server, tls, answer }: Document<'testMail'>) => [['mail_accepted', server, tls, answer]],
    },
  },
};

/** `GET /console/mails`: emails that wait to be sent or have failed; with `ask` a form. */
export async function showMails(visit: Visit): Promise<Response> {
  const { c, call, setting, view } = visit;
  const { items: mails } = await call('listMails', {});
  return renderPage(c, mailsPage({ ...view, mails }, setting));
}

export interface MailsView extends ConsoleView {
  readonly mails: readonly MailView[];
}

/** Whether the operation takes the email: it may be in an attempt at this moment if it is due earlier. */
function canRetry({ state, due_at: dueAt }: MailView, nowMs: number): boolean {
  return state === 'failed' || (dueAt !== undefined && Date.parse(dueAt) > nowMs + MAIL_LEASE_MS);
}

function badgeOf({ state, last_error: error }: MailView, { console: words }: Texts): Html {
  if (state === 'waiting' && error === undefined)
    return html`<span class="badge">${words.mailStates.waiting}</span>`;
  return html`<span class="badge bad">${words.mailStates[state === 'failed' ? 'failed' : 'retrying']}</span>`;
}

/** In words of the page, with those of the mail server as a quotation. */
function failureShown(error: string, { console: words }: Texts): Html {
  const [, server = '', rest = error] = /^(\S+:\d+): (.*)$/s.exec(error) ?? [];
  const found = Object.entries(MAIL_FAILURES).find(
    ([, text]) => rest === text || rest.startsWith(`${text}: `),
  );
  if (found === undefined) return html`<bdi lang="en">${error}</bdi>`;
  const [kind, text] = found as [keyof typeof MAIL_FAILURES, string];
  const said = rest.slice(text.length + 2);
  return html`${server === '' ? '' : html`<code>${server}</code>: `}${words.mailFailures[kind]}${said === '' ? '' : html`: <q><bdi>${said}</bdi></q>`}`;
}

/** `/console/mails`: link `ask-test`, and the button `retry-ID` for each email that can be tried now. */
export function mailsPage({ mails, ...view }: MailsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const retry = ({ id, recipient }: MailView) =>
    actionForm(view, { mail: id }, [
      actLink(MAILS, 'retry', view.base, { mail: id }, texts, { id, unseen: recipient }),
    ]);
  return consoleFrame(view, setting, {
    title: words.pages.mails,
    lead: words.mailsText,
    primary: actLink(MAILS, 'test', view.base, {}, texts),
    body: rowsOr(
      mails.map(
        (mail) => html`<li class="row"><div><bdi>${mail.recipient}</bdi> ${badgeOf(mail, texts)}
<p class="detail"><code>${mail.template}</code> <span>${words.created(ago(mail.created_at, view.nowMs, texts))}</span> <span>${words.attempts(mail.attempts, texts.formats.number(mail.attempts))}</span>${
          mail.due_at === undefined || mail.attempts === 0
            ? ''
            : html` <span>${words.nextAttempt(html`<time datetime="${mail.due_at}">${texts.formats.instant(Date.parse(mail.due_at))}</time>`)}</span>`
        }</p>${
          mail.last_error === undefined
            ? ''
            : html`<p class="detail">${words.lastError} <span>${failureShown(mail.last_error, texts)}</span></p>`
        }</div>${canRetry(mail, view.nowMs) ? retry(mail) : ''}</li>\n`,
      ),
      words.none,
    ),
  });
}
