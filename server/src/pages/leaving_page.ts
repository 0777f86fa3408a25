import type { HttpResponse } from '@grantd/core';
import { renderPage } from './layout.ts';
import { toResponse } from './library_http.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { leavingPage } from './views/leaving.ts';

/**
 * The library's answer that takes the person back to a client. If nobody checked the client, it is this server's page
 * that asks first.
 * @param uiLocales of the request, if it is known
 */
export function toClient(
  c: PageContext,
  parts: PageParts,
  answer: HttpResponse,
  uiLocales?: readonly string[],
): Response | Promise<Response> {
  const { leaving } = answer;
  if (leaving === undefined) return toResponse(c, answer);
  return renderPage(
    c,
    leavingPage({ leaving, home: `${parts.basePath}/` }, pageSetting(c, parts, uiLocales)),
  );
}
