import type { AuthorizationServer } from '@grantd/core';
import { html } from 'hono/html';
import type { MailQueue } from '../../people/mailing.ts';
import { textsIn } from '../../texts/texts.ts';
import type { PageContext } from '../browser/request.ts';
import { operatorMark } from '../drawing/brand.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import type { Flow } from '../steps/routes.ts';
import { showMailbox } from './mailbox.ts';
import { type PictureNeeds, showFont, showLogo } from './pictures.ts';

export interface HomeNeeds extends PictureNeeds {
  readonly server: Pick<AuthorizationServer, 'issuer' | 'serves'>;
  /** Whose emails a page shows, in the demo. */
  readonly mailbox: MailQueue | undefined;
}

/** `/`, the pictures and the font of all pages, and the mailbox of the demo. */
export function homeFlow(needs: HomeNeeds): Flow {
  const { drawing, mailbox } = needs;
  return {
    mount(routes) {
      routes.page('/', showHome(needs));
      routes.page('/logo', showLogo(needs));
      routes.page('/font', showFont(needs));
      if (mailbox !== undefined) routes.page('/demo/mailbox', showMailbox({ drawing, queue: mailbox }));
    },
  };
}

/** `/`: the page at the issuer’s own URL. */
function showHome(needs: HomeNeeds) {
  const { server, drawing } = needs;
  const { basePath } = drawing;
  const metadata = `${basePath}/.well-known/openid-configuration`;
  const view = {
    issuer: server.issuer,
    account: `${basePath}/account`,
    ...(server.serves(metadata) && { metadata }),
  };
  return (c: PageContext) => renderPage(c, homePage(view, needs.drawing.setting(c)));
}

interface HomeView {
  readonly issuer: string;
  /** URL of the server metadata; absent without OpenID Connect. */
  readonly metadata?: string;
  /** URL of the account page. */
  readonly account?: string;
}

/** What a person sees who opens the issuer itself. */
export function homePage({ issuer, metadata, account }: HomeView, setting: PageSetting): Page {
  const { home } = textsIn(setting.language);
  return {
    ...setting,
    title: home.title(setting.operator.name),
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${home.title(setting.operator.name)}</h1>
<p class="lead">${home.text}</p>
</header>
${account === undefined ? '' : html`<a id="to-account" class="button primary" href="${account}">${home.account}</a>`}
<section class="developers" aria-labelledby="developers">
<h2 id="developers">${home.forDevelopers}</h2>
<p>${home.running(html`<bdi>${issuer}</bdi>`)}${metadata === undefined ? '' : html` <a href="${metadata}">${home.metadata}</a>`}</p>
</section>`,
  };
}
