import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { html, raw } from 'hono/html';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Html } from '../../texts/formats/html.ts';
import { type Language, languageFor, languages, textsIn } from '../../texts/texts.ts';
import type { LanguageChoice } from '../browser/cookies.ts';
import {
  LANGUAGE_PARAMETER,
  type PageContext,
  type PageEnvironment,
  parametersOf,
} from '../browser/request.ts';
import {
  type Brand,
  isOwnLogo,
  type Look,
  type OperatorShown,
  paletteOf,
  remembering,
  tabIcon,
} from './brand.ts';
import { STYLE } from './style.ts';

/** Renders a page that runs no scripts except its own, is not cached or framed, and sends no referrer. */
export async function renderPage(c: Context<PageEnvironment>, given: Page): Promise<Response> {
  const ownAddress = c.get('ownAddress');
  const page = ownAddress === undefined ? given : { ...given, ownAddress };
  for (const [name, value] of Object.entries(page.headers ?? {})) c.header(name, String(value));
  const style = styleOf(page);
  c.header('content-security-policy', contentSecurityPolicy(style, page));
  c.header('content-language', page.language);
  c.header('cache-control', 'no-store');
  c.header('x-content-type-options', 'nosniff');
  c.header('x-frame-options', 'DENY');
  c.header('referrer-policy', 'no-referrer');
  // A text, and not the object that a template makes: the adapter sends it without turning it into a stream (ADR 198).
  return c.html(documentOf(page, style).toString(), page.status ?? 200);
}

/**
 * Part of every page with a form: sends it once. While the answer is on its way, further presses do nothing. When the page is shown
 * again, or if no page follows, as after a download, its forms can be sent again. Without scripts, `answerOnce` recognises
 * the second press.
 */
export const SEND_SCRIPT = `{
  const main = document.querySelector('main');
  let timer;
  const setSent = (isSent) => {
    main.toggleAttribute('data-sent', isSent);
    clearTimeout(timer);
    if (isSent) timer = setTimeout(setSent, 5000, false);
  };
  addEventListener('submit', (event) => {
    if (main.dataset.sent === undefined) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  addEventListener('submit', (event) => { if (!event.defaultPrevented) setSent(true); });
  addEventListener('pageshow', () => setSent(false));
}`;

/** Gives the browser the page’s own address, so that a reload or the history leads to the page as it is. */
export const ADDRESS_SCRIPT = `history.replaceState(null, '', document.querySelector('link[rel=canonical]').href);`;

type Scripted = Pick<Page, 'before' | 'body' | 'scripts' | 'ownAddress'>;

/** The scripts of a page. The markup of a form is one, because everything inserted into a page is escaped. */
function scriptsOf({ before, body, scripts = [], ownAddress }: Scripted): readonly string[] {
  const hasForm = `${before ?? ''}${body}`.includes('<form method="post"');
  return [
    ...(ownAddress === undefined ? [] : [ADDRESS_SCRIPT]),
    ...scripts,
    ...(hasForm ? [SEND_SCRIPT] : []),
  ];
}

/** In the head, because a user may press a button before the page is complete. */
function addressOf(ownAddress: string | undefined): Html | '' {
  if (ownAddress === undefined) return '';
  return html`<link rel="canonical" href="${ownAddress}">\n<script>${raw(ADDRESS_SCRIPT)}</script>\n`;
}

/** The complete HTML document. */
export function documentOf(page: Page, style = styleOf(page)): Html {
  const { language, title, operator, width = 'narrow', before = '', body } = page;
  const namesOperator = page.namesOperator ?? title === operator.name;
  const links = footerLinks(page);
  const footer = [
    ...(namesOperator ? [] : [operatorLine(operator)]),
    ...(links === undefined ? [] : [links]),
  ];
  const whole = title === operator.name ? title : html`${title} – ${operator.name}`;
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${whole}</title>
${addressOf(page.ownAddress)}<link rel="icon" href="${tabIcon(operator)}">
<style>${raw(style)}</style>
</head>
<body class="${width}">
${before}<main>
${body}
</main>
${footer.length === 0 ? '' : html`<footer>${footer}</footer>`}
${scriptsOf(page).includes(SEND_SCRIPT) ? html`<script>${raw(SEND_SCRIPT)}</script>` : ''}
</body>
</html>
`;
}

function operatorLine({ name, logo }: Brand): Html {
  return html`<span class="operator-line">${isOwnLogo(logo) ? html`<img class="logo" src="${logo}" alt="">` : ''}<bdi>${name}</bdi></span>`;
}

/** Links `page-help`, `page-privacy` and `language-TAG`; `undefined` if there are none. */
function footerLinks({ operator: { look }, language, languages = [] }: Page): Html | undefined {
  const { footer: words, newTab } = textsIn(language);
  const { help, privacy } = look?.links ?? {};
  const other = (id: string, url: string | undefined, text: string) =>
    url === undefined
      ? ''
      : html`<a id="${id}" href="${url}" target="_blank" rel="noopener noreferrer">${text}<span class="unseen"> ${newTab}</span></a>`;
  if ((help ?? privacy) === undefined && languages.length === 0) return undefined;
  return html`<nav class="links" aria-label="${words.label}">${other('page-help', help, words.help)}${other('page-privacy', privacy, words.privacy)}${languages.map(
    ({ tag, name, url }) =>
      html`<a id="language-${tag}" href="${url}" lang="${tag}" hreflang="${tag}" rel="nofollow">${name}</a>`,
  )}</nav>`;
}

export function styleOf({ color, operator, style = '' }: Page): string {
  const { schemes, ...look } = operator.look ?? {};
  const palette =
    schemes === undefined
      ? paletteOf(color ?? operator.color)
      : paletteOf(color ?? (schemes.light.brand === undefined ? operator.color : undefined), schemes);
  return `${palette}${lookOf(look)}${STYLE}${style}`;
}

function lookOf({ radius, fontStack, fontUrl }: Omit<Look, 'schemes' | 'links'>): string {
  const face =
    fontUrl === undefined ? '' : `@font-face{font-family:operator;src:url("${fontUrl}");font-display:swap}`;
  const rules = [
    ...(radius === undefined ? [] : [`--radius:${radius}px`]),
    ...(fontStack === undefined ? [] : [`--font:${fontUrl === undefined ? '' : 'operator, '}${fontStack}`]),
  ];
  return `${face}${rules.length === 0 ? '' : `:root{${rules.join(';')}}`}`;
}

/**
 * The Content-Security-Policy. Chromium applies `form-action` to every redirect after a form. If these lead to an
 * application, its further redirects are unknown, so the directive is omitted. All inserted text is escaped.
 */
export function contentSecurityPolicy(
  style: string,
  page: Scripted & Pick<Page, 'formMayLeave' | 'fetches' | 'operator'>,
): string {
  const { formMayLeave = false, fetches = false, operator } = page;
  const scripts = scriptsOf(page);
  return [
    "default-src 'none'",
    ...(scripts.length > 0
      ? [`script-src ${[...(fetches ? ["'self'"] : []), ...scripts.map(sourceOf)].join(' ')}`]
      : []),
    ...(fetches ? ["connect-src 'self'"] : []),
    `style-src ${sourceOf(style)}`,
    "img-src 'self' data:",
    ...(operator.look?.fontUrl !== undefined ? ["font-src 'self'"] : []),
    ...(formMayLeave ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}

/** The source of an inline style sheet or script in the Content-Security-Policy. */
const sourceOf = remembering(
  (content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`,
);

/** Settings that every page of a request shares. */
export interface PageSetting {
  readonly language: Language;
  /** The operator of this server. */
  readonly operator: OperatorShown;
  /** The languages to switch to. */
  readonly languages?: readonly LanguageShown[];
}

export interface LanguageShown {
  readonly tag: Language;
  /** In the language itself. */
  readonly name: string;
  /** The page in this language. */
  readonly url: string;
}

/** A page to render and send. */
export interface Page extends PageSetting {
  /** The purpose of the page, preceded by any problem. Without markup. */
  readonly title: string | Html;
  readonly body: Html;
  /** What comes before the main content, such as a navigation. */
  readonly before?: Html;
  /** The page’s colour, if it differs from the operator’s. */
  readonly color?: string;
  /** Whether the body names the operator, so that no footer is needed. */
  readonly namesOperator?: boolean;
  /** `wide` for pages with lists. The console has its own layouts. */
  readonly width?: 'narrow' | 'wide' | 'wide console' | 'wide asking';
  /** Style rules besides those of all pages. */
  readonly style?: string;
  readonly status?: ContentfulStatusCode;
  /** Whether the page’s form may lead to an application. */
  readonly formMayLeave?: boolean;
  /** The contents of the scripts in the body, in their order. */
  readonly scripts?: readonly string[];
  /** Path and query at which the page can be loaded, if it is the answer to another request. */
  readonly ownAddress?: string;
  /** Whether its scripts come from this server too, and fetch from it. */
  readonly fetches?: boolean;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** An application’s name, brand and links. */
export interface ApplicationShown extends Brand {
  /** Of a client with a metadata document, whose `name` is the host of the document. */
  readonly document?: { /** What it calls itself. */ readonly ownName?: string };
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

/** What the setting of a page depends on. */
export interface SettingNeeds {
  readonly operator: OperatorShown;
  readonly languageChoice: LanguageChoice;
}

/** @param uiLocales languages that the application prefers (OpenID Connect Core §3.1.2.1) */
export function pageSetting(
  c: PageContext,
  { operator, languageChoice }: SettingNeeds,
  uiLocales: readonly string[] = [],
): PageSetting {
  const language = languageFor(uiLocales, c.req.header('accept-language'), languageChoice.get(c));
  return { operator, language, languages: otherLanguages(c, language) };
}

/** Parameters that this server makes. A page never repeats another one, which anyone may have put into its URL. */
const OWN_PARAMETERS: readonly string[] = [
  'pending',
  'other',
  'notice',
  'factor',
  'needed',
  'end',
  'totp_offer',
  'user_code',
];

/** Pages whose URL shows them again after a form, without what the form has said. */
const SIGN_IN_PAGES = /\/login(?:\/code|\/second)?$/;

/**
 * Links to the page in other languages. A page that follows a form has none, unless a link can show it again, and neither
 * has one with parameters of others.
 */
function otherLanguages(c: PageContext, language: Language): readonly LanguageShown[] {
  const query = parametersOf(c);
  const isLinked = c.req.method !== 'POST' || SIGN_IN_PAGES.test(c.req.path);
  if (!isLinked || [...query.keys()].some((name) => !OWN_PARAMETERS.includes(name))) return [];
  return languages()
    .filter((tag) => tag !== language)
    .map((tag) => {
      const parameters = new URLSearchParams([...query, [LANGUAGE_PARAMETER, tag]]);
      return { tag, name: nameOfLanguage(tag), url: `?${parameters}` };
    });
}

const nameOfLanguage = remembering((tag) => {
  const name = new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;
  return name.charAt(0).toLocaleUpperCase(tag) + name.slice(1);
});
