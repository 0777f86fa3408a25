import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Html } from '../texts/html.ts';
import { type Language, languageFor } from '../texts/texts.ts';
import { type Brand, hasOwnLogo, paletteOf, tabIcon } from './brand.ts';
import type { PageContext, PageParts } from './page_parts.ts';
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

/** What is the same for every page of one request. */
export interface PageSetting {
  readonly language: Language;
  /** Who runs this server. */
  readonly operator: Brand;
}

/** What a view gives, to be drawn and sent. */
export interface Page extends PageSetting {
  /** What the page is for, and first of all what is wrong, if something is. */
  readonly title: string;
  readonly body: Html;
  /** Whose colour the page has, where it is not the operator's. */
  readonly color?: string;
  /** Whether the body names the operator, so that the foot of the page need not. */
  readonly namesOperator?: boolean;
  /** A page with lists has room for them. */
  readonly width?: 'narrow' | 'wide';
  readonly status?: ContentfulStatusCode;
  /** Whether the page's form may end at an application. */
  readonly formMayLeave?: boolean;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** What an application is known by, and what it says about itself. */
export interface ApplicationShown extends Brand {
  /** Addresses on the web; anything but `https:` and `http:` is not shown. */
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** How a person is called on pages. */
export interface PersonShown {
  readonly name: string;
  /** What tells people of one name apart, such as an email address. */
  readonly detail?: string;
}

/** A scope in the operator's words. */
export interface ScopeShown {
  readonly scope: string;
  readonly title: string;
  readonly detail?: string;
}

/** Scopes of one API, or of this server. */
export interface ScopeGroup {
  readonly api?: { readonly name: string; readonly resource: string };
  readonly scopes: readonly ScopeShown[];
}

/** What an application asks for at once, or what a person agreed to at once. */
export interface AccessShown {
  /** Scopes that the operator has texts for. */
  readonly groups?: readonly ScopeGroup[];
  /** The others. */
  readonly scopes: readonly string[];
  /** What access tokens are for (RFC 8707), where it is more than this server. */
  readonly resources?: readonly string[];
  /** Claims that it asks for by name (OpenID Connect Core §5.5). */
  readonly claims?: readonly string[];
}

/** A form of this server. */
export interface FormShown {
  /** Where it is sent, by `POST`. */
  readonly action: string;
  /** Goes back as the field `form_token`. */
  readonly formToken: string;
}

/** @param uiLocales what the application wants people to read (OpenID Connect Core §3.1.2.1) */
export function pageSetting(
  c: PageContext,
  { operator }: PageParts,
  uiLocales: readonly string[] = [],
): PageSetting {
  return { operator, language: languageFor(uiLocales, c.req.header('accept-language')) };
}
