import { html, raw } from 'hono/html';
import { type Brand, isColor, textOn } from '../pages/drawing/brand.ts';
import { browserText } from '../pages/drawing/browser_names.ts';
import type { FactorChange, RenderedMail } from '../people/mailing.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Language, type Texts, textsIn } from '../texts/texts.ts';

/** A link of an email. */
interface MailLink {
  readonly url: string;
  /** The account that it is for, if the email is about several. */
  readonly account?: string;
}

export interface MailView {
  readonly template: keyof Texts['mails']['templates'];
  /** Who is greeted. */
  readonly username?: string;
  readonly links?: readonly MailLink[];
  /** The digits to type. */
  readonly code?: string;
  /** Whether the code counts in every browser that has asked for one. */
  readonly isShared?: boolean;
  /** What asked for the code. */
  readonly request?: { readonly userAgent: string; readonly network: unknown; readonly atMs: number };
  /** How long the links, or the code, are valid. */
  readonly validSeconds?: number;
  /** A further value that the text names, such as the new address. */
  readonly value?: string;
  /** What has changed, in `factor_changed`. Its text names it instead of the value. */
  readonly change?: FactorChange;
  /** Whether the user signed in with a recovery code before the change. */
  readonly isByRecovery?: boolean;
}

/** Renders an email as text and as HTML, without pictures and without anything from other places. */
export async function renderMail(view: MailView, language: Language, operator: Brand): Promise<RenderedMail> {
  const texts = textsIn(language);
  const { mails } = texts;
  const { value = '' } = view;
  const words = mails.templates[view.template];
  const before = [
    ...(view.username === undefined ? [] : [mails.greeting(view.username)]),
    words.text(operator.name, view.change === undefined ? value : mails.changes[view.change](value)),
    ...(view.isByRecovery === true ? [mails.byRecovery] : []),
  ];
  const { code, request } = view;
  const codeValid = view.isShared ? mails.sharedCodeValid : mails.codeValid;
  const links = (view.links ?? []).map(({ url, account }) => ({
    url,
    label: labelOf(words.action, account, mails.actionFor),
  }));
  const after = [
    ...(view.validSeconds === undefined
      ? []
      : [(code === undefined ? mails.linkValid : codeValid)(texts.formats.duration(view.validSeconds))]),
    ...(request === undefined ? [] : [requestText(request, texts)]),
    ...(words.note === undefined ? [] : [words.note]),
  ];
  const text = [
    ...before,
    ...(code === undefined ? [] : [`    ${code}`]),
    ...links.map(({ label, url }) => `${label}:\n${url}`),
    ...after,
    `-- \n${mails.automatic(operator.name)}`,
  ];
  return {
    subject: words.subject(operator.name),
    text: `${text.join('\n\n')}\n`,
    html: String(await documentOf({ before, code, links, after }, texts, operator)),
  };
}

function requestText({ userAgent, network, atMs }: NonNullable<MailView['request']>, texts: Texts): string {
  const { mails, formats } = texts;
  const [browser, time] = [browserText(userAgent, texts), formats.instant(atMs)];
  return typeof network === 'string'
    ? mails.codeRequestFrom(browser, network, time)
    : mails.codeRequest(browser, time);
}

function labelOf(
  action: string | undefined,
  account: string | undefined,
  actionFor: Texts['mails']['actionFor'],
): string {
  if (action === undefined) throw new TypeError('this email has no link');
  return account === undefined ? action : actionFor(action, account);
}

interface Parts {
  readonly before: readonly string[];
  readonly code: string | undefined;
  readonly links: readonly { readonly label: string; readonly url: string }[];
  readonly after: readonly string[];
}

/** Mail programs ignore style sheets, so each element has its own style. */
const STYLE = {
  body: 'margin:0;padding:24px;font:16px/1.5 system-ui,-apple-system,Segoe UI,Roboto,sans-serif',
  text: 'margin:0 0 16px',
  small: 'margin:24px 0 0;padding-top:16px;border-top:1px solid #84878f;font-size:14px',
  address: 'font-size:14px;word-break:break-all',
  code: 'margin:0 0 16px;font-size:28px;font-weight:600;letter-spacing:4px',
};

const DEFAULT_COLOR = '#1d5f63';

function documentOf(
  { before, code, links, after }: Parts,
  { language, mails }: Texts,
  { name, color }: Brand,
): Html {
  const tile = color !== undefined && isColor(color) ? color : DEFAULT_COLOR;
  const button = `display:inline-block;padding:12px 20px;border-radius:8px;background:${tile};color:${textOn(tile)};font-weight:600;text-decoration:none`;
  const paragraph = (text: string) => html`<p style="${STYLE.text}">${text}</p>\n`;
  return html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${name}</title></head>
<body style="${raw(STYLE.body)}">
<div style="max-width:36rem;margin:0 auto">
<p style="margin:0 0 24px;font-size:18px;font-weight:600">${name}</p>
${before.map(paragraph)}${code === undefined ? '' : html`<p style="${STYLE.code}">${code}</p>\n`}${links.map(
  ({ label, url }) => html`<p style="${STYLE.text}"><a href="${url}" style="${button}">${label}</a></p>
<p style="${STYLE.text};${STYLE.address}">${mails.linkHint}<br><a href="${url}">${url}</a></p>
`,
)}${after.map(paragraph)}<p style="${STYLE.small}">${mails.automatic(name)}</p>
</div>
</body>
</html>
`;
}
