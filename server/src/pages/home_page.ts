import { html } from 'hono/html';
import { textsIn } from '../texts/texts.ts';
import { operatorMark } from './brand.ts';
import { type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import type { PageContext, PageParts } from './page_parts.ts';

/** `/`: the page at the issuer’s own URL. */
export function showHome(parts: PageParts) {
  const { server, basePath } = parts;
  const metadata = `${basePath}/.well-known/openid-configuration`;
  const view = {
    issuer: server.issuer,
    account: `${basePath}/account`,
    ...(server.serves(metadata) && { metadata }),
  };
  return (c: PageContext) => renderPage(c, homePage(view, pageSetting(c, parts)));
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
${account === undefined ? '' : html`<a id="to-account" class="button" href="${account}">${home.account}</a>`}
<section class="developers" aria-labelledby="developers">
<h2 id="developers">${home.forDevelopers}</h2>
<p>${home.running(html`<bdi>${issuer}</bdi>`)}${metadata === undefined ? '' : html` <a href="${metadata}">${home.metadata}</a>`}</p>
</section>`,
  };
}
