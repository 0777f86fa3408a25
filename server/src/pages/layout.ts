import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import { type Brand, hasOwnLogo, tabIcon } from './brand.ts';
import type { Html } from './html.ts';
import type { Page } from './page.ts';
import { paletteOf } from './palette.ts';
import { STYLE } from './style.ts';

/** A page that runs no script, is not kept, not framed, and tells nobody its address. */
export async function renderPage(c: Context, page: Page): Promise<Response> {
  for (const [name, value] of Object.entries(page.headers ?? {})) c.header(name, String(value));
  const style = styleOf(page);
  c.header('content-security-policy', contentSecurityPolicy(style, page.formMayLeave));
  c.header('content-language', page.language);
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
  c.header('x-frame-options', 'DENY');
  c.header('referrer-policy', 'no-referrer');
  return c.html(documentOf(page, style), page.status ?? 200);
}

/** The whole page. */
export function documentOf(page: Page, style = styleOf(page)): Html {
  const { language, title, operator, width = 'narrow', body } = page;
  const namesOperator = page.namesOperator ?? title === operator.name;
  const whole = title === operator.name ? title : `${title} – ${operator.name}`;
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${whole}</title>
<link rel="icon" href="${tabIcon(operator)}">
<style>${raw(style)}</style>
</head>
<body class="${width}">
<main>
${body}
</main>
${namesOperator ? '' : html`<footer>${operatorLine(operator)}</footer>`}
</body>
</html>
`;
}

function operatorLine({ name, logo }: Brand): Html {
  return html`${hasOwnLogo(logo) ? html`<img class="logo" src="${logo}" alt="">` : ''}<bdi>${name}</bdi>`;
}

export function styleOf({ color, operator }: Page): string {
  return `${paletteOf(color ?? operator.color)}${STYLE}`;
}

/**
 * Chromium holds `form-action` against every redirect that follows a form. Where those end at an application nobody
 * here knows where it leads on to, so there is no such directive: what is written into a page has been escaped.
 */
export function contentSecurityPolicy(style: string, formMayLeave = false): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "img-src 'self' data:",
    ...(formMayLeave ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}
