import { renderPage } from './layout.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { homePage } from './views/home.ts';

/** `/`: what a person sees who opens the issuer itself. */
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
