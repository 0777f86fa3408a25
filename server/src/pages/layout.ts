import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Html } from '../texts/html.ts';
import { type Language, languageFor } from '../texts/texts.ts';
import { type Brand, isOwnLogo, paletteOf, tabIcon } from './brand.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { STYLE } from './style.ts';

/** Renders a page that runs no scripts except its own, is not cached or framed, and sends no referrer. */
export async function renderPage(c: Context, page: Page): Promise<Response> {
  for (const [name, value] of Object.entries(page.headers ?? {})) c.header(name, String(value));
  const style = styleOf(page);
  c.header('content-security-policy', contentSecurityPolicy(style, page));
  c.header('content-language', page.language);
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
  c.header('x-frame-options', 'DENY');
  c.header('referrer-policy', 'no-referrer');
  return c.html(documentOf(page, style), page.status ?? 200);
}

/** The complete HTML document. */
export function documentOf(page: Page, style = styleOf(page)): Html {
  const { language, title, operator, width = 'narrow', body } = page;
  const namesOperator = page.namesOperator ?? title === operator.name;
  const whole = title === operator.name ? title : html`${title} – ${operator.name}`;
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
  return html`${isOwnLogo(logo) ? html`<img class="logo" src="${logo}" alt="">` : ''}<bdi>${name}</bdi>`;
}

export function styleOf({ color, operator, style = '' }: Page): string {
  return `${paletteOf(color ?? operator.color)}${STYLE}${style}`;
}

/**
 * The Content-Security-Policy. Chromium applies `form-action` to every redirect after a form. If these lead to an
 * application, its further redirects are unknown, so the directive is omitted. All inserted text is escaped.
 */
export function contentSecurityPolicy(
  style: string,
  { formMayLeave = false, scripts = [], fetches = false }: Pick<Page, 'formMayLeave' | 'scripts' | 'fetches'>,
): string {
  return [
    "default-src 'none'",
    ...(scripts.length > 0
      ? [`script-src ${[...(fetches ? ["'self'"] : []), ...scripts.map(sourceOf)].join(' ')}`]
      : []),
    ...(fetches ? ["connect-src 'self'"] : []),
    `style-src ${sourceOf(style)}`,
    "img-src 'self' data:",
    ...(formMayLeave ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function sourceOf(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

/** Settings that every page of a request shares. */
export interface PageSetting {
  readonly language: Language;
  /** The operator of this server. */
  readonly operator: Brand;
}

/** A page to render and send. */
export interface Page extends PageSetting {
  /** The purpose of the page, preceded by any problem. Without markup. */
  readonly title: string | Html;
  readonly body: Html;
  /** The page’s colour, if it differs from the operator’s. */
  readonly color?: string;
  /** Whether the body names the operator, so that no footer is needed. */
  readonly namesOperator?: boolean;
  /** `wide` for pages with lists. */
  readonly width?: 'narrow' | 'wide';
  /** Style rules besides those of all pages. */
  readonly style?: string;
  readonly status?: ContentfulStatusCode;
  /** Whether the page’s form may lead to an application. */
  readonly formMayLeave?: boolean;
  /** The contents of the scripts in the body. */
  readonly scripts?: readonly string[];
  /** Whether its scripts come from this server too, and fetch from it. */
  readonly fetches?: boolean;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** An application’s name, brand and links. */
export interface ApplicationShown extends Brand {
  /** Web URLs. Only `https:` and `http:` are shown. */
  readonly clientUri?: string;
  readonly policyUri?: string;
  readonly tosUri?: string;
}

/** A user’s name on pages. */
export interface PersonShown {
  readonly name: string;
  /** Distinguishes users with the same name, such as an email address. */
  readonly detail?: string;
}

/** A scope with the operator’s texts. */
export interface ScopeShown {
  readonly scope: string;
  readonly title: string;
  readonly detail?: string;
}

/** Scopes of one API or of this server. */
export interface ScopeGroup {
  readonly api?: { readonly name: string; readonly resource: string };
  readonly scopes: readonly ScopeShown[];
}

/** Access that an application requests, or that a user has granted, in one decision. */
export interface AccessShown {
  /** Scopes with the operator’s texts. */
  readonly groups?: readonly ScopeGroup[];
  /** All other scopes. */
  readonly scopes: readonly string[];
  /** Resources of the access tokens (RFC 8707), other than this server. */
  readonly resources?: readonly string[];
  /** Individually requested claims (OpenID Connect Core §5.5). */
  readonly claims?: readonly string[];
  /** Authorization details (RFC 9396). */
  readonly details?: readonly DetailShown[];
}

/** A sentence with values from outside, each of them a list. */
export type Words = readonly (string | readonly string[])[];

/** One authorization detail. Together, the members say everything that it contains. */
export interface DetailShown {
  readonly title: Words;
  readonly detail?: Words;
  /** Members that the texts do not mention. */
  readonly others: readonly { readonly member: string; readonly values: readonly string[] }[];
}

/** A form on a page. */
export interface FormShown {
  /** URL that receives the `POST`. */
  readonly action: string;
  /** Sent back as the field `form_token`. */
  readonly formToken: string;
}

/** @param uiLocales languages that the application prefers (OpenID Connect Core §3.1.2.1) */
export function pageSetting(
  c: PageContext,
  { operator }: PageParts,
  uiLocales: readonly string[] = [],
): PageSetting {
  return { operator, language: languageFor(uiLocales, c.req.header('accept-language')) };
}
