import { html } from 'hono/html';
import type { MailQueue } from '../../people/mailing.ts';
import type { Html } from '../../texts/formats/html.ts';
import { textsIn } from '../../texts/texts.ts';
import type { PageContext } from '../browser/request.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';

export interface MailboxNeeds {
  readonly drawing: Drawing;
  readonly queue: MailQueue;
}

const MAX_SHOWN = 20;

/** `GET /demo/mailbox`: the emails of the demo, newest first. Exists only there, because emails contain links. */
export function showMailbox({ drawing, queue }: MailboxNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const mails = await Promise.all((await queue.mails.mailbox(MAX_SHOWN)).map((mail) => queue.open(mail)));
    const linked = mails.flatMap((mail) =>
      mail === undefined
        ? []
        : [{ to: String(mail.to), subject: String(mail.subject), text: String(mail.text) }],
    );
    return renderPage(
      c,
      mailboxPage({ mails: linked, here: `${drawing.basePath}/demo/mailbox` }, drawing.setting(c)),
    );
  };
}

interface MailboxView {
  readonly mails: readonly { readonly to: string; readonly subject: string; readonly text: string }[];
  readonly here: string;
}

/** `/demo/mailbox`: links `link-NUMBER` in the order of the page. */
export function mailboxPage({ mails, here }: MailboxView, setting: PageSetting): Page {
  const { mailbox } = textsIn(setting.language);
  let links = 0;
  const linked = (text: string): Html =>
    html`${text.split(/(https?:\/\/\S+)/).map((piece, index) => {
      if (index % 2 === 0) return piece;
      links += 1;
      return html`<a id="link-${links}" href="${piece}">${piece}</a>`;
    })}`;
  return {
    ...setting,
    title: mailbox.title,
    width: 'wide',
    body: html`<header>
<h1>${mailbox.title}</h1>
<p class="lead">${mailbox.lead}</p>
</header>
<a id="reload" class="button" href="${here}">${mailbox.reload}</a>
${
  mails.length === 0
    ? html`<p class="empty">${mailbox.empty}</p>`
    : mails.map(
        ({ to, subject, text }) => html`<article class="mail">
<h2>${subject}</h2>
<p class="detail">${mailbox.to(html`<bdi>${to}</bdi>`)}</p>
<div class="mail-text">${linked(text.replace(/\n-- \n/, '\n').trim())}</div>
</article>
`,
      )
}`,
  };
}
