import { html } from 'hono/html';
import type { TokenBinding } from '../../config/personal_token_options.ts';
import type { TokenRefusal } from '../../people/personal_tokens.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { hourOfUse, idOf, named } from '../drawing/application_shown.ts';
import { COPY_SCRIPT, copyButton, copyScript } from '../drawing/copying.ts';
import { problemBox } from '../drawing/fields.ts';
import type { Page, PageSetting, ScopeShown } from '../drawing/layout.ts';
import { type AccountView, accountFrame, confirmForm } from './frame.ts';

export type ScopeOffered = ScopeShown;

export interface TokenShown {
  readonly id: string;
  readonly name: string;
  /** The name of the API. */
  readonly api: string;
  readonly scopes: readonly ScopeOffered[];
  readonly isBound: boolean;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly lastUsedMs: number | undefined;
  /** Until the user has copied it. */
  readonly value?: string;
}

export interface TokenFormShown {
  readonly resource: string;
  readonly api: string;
  readonly scopes: readonly ScopeOffered[];
  /** Seconds. */
  readonly lifetimes: readonly number[];
  readonly binding: TokenBinding;
  readonly typed: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly lifetime: number;
    readonly binding: string;
  };
}

export interface TokensView extends AccountView {
  readonly tokens: readonly TokenShown[];
  /** The APIs for which the user can make a token. */
  readonly apis: readonly { readonly resource: string; readonly name: string }[];
  /** Absent if the user still has to choose an API. */
  readonly form?: TokenFormShown;
  /** Whether the user has shown enough. */
  readonly mayMake: boolean;
  /** Whether a value waits that the user has not copied. */
  readonly hasUnsaved: boolean;
  /** Whether the user is in a group that may make tokens. */
  readonly isAdmitted: boolean;
  readonly isFull: boolean;
  readonly problem?: TokenRefusal;
  readonly nowMs: number;
}

/**
 * `/account/tokens`: of each new token `token-ID` with its value, buttons `token-ID-copy`, `token-saved-ID`; links
 * `end-token-ID`, `api-URI`; fields `name`, `scope`, `lifetime`, `binding`, button `make-token`; or button
 * `confirm-to-make-token`.
 */
export function tokensPage(view: TokensView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { personalTokens: words } = texts;
  const { tokens, problem } = view;
  return {
    ...accountFrame(view, setting, {
      title: words.title,
      lead: words.text,
      isProblem: problem !== undefined,
      body: html`${tokens.map((token) => newToken(token, view, texts))}
<section aria-labelledby="tokens">
<h2 id="tokens">${texts.account.pages.tokens}</h2>
${
  tokens.length === 0
    ? html`<p class="empty">${words.none}</p>`
    : html`<ul class="entries" role="list">
${tokens.map((token) => tokenEntry(token, view, texts))}</ul>`
}
</section>
<section aria-labelledby="make">
<h2 id="make">${words.make}</h2>
${making(view, texts)}
</section>
${copyScript()}`,
    }),
    scripts: [COPY_SCRIPT],
  };
}

/** A token that its user has not copied yet. */
function newToken({ id, name, value }: TokenShown, { base, formToken }: TokensView, texts: Texts): Html {
  const { personalTokens: words } = texts;
  if (value === undefined) return html``;
  const element = idOf('token', id);
  return html`<section class="question" aria-label="${words.value}">
<p>${words.copyNow(named(name))}</p>
<p><code id="${element}" lang="zxx">${value}</code></p>
<div class="choices">
${copyButton(`${element}-copy`, `#${element}`, texts)}
<form method="post" action="${base}/tokens">
<input type="hidden" name="form_token" value="${formToken}">
<button id="${idOf('token-saved', id)}" type="submit" class="primary" name="saved" value="${id}">${words.saved(named(name))}</button>
</form>
</div>
</section>
`;
}

function tokenEntry(token: TokenShown, { base, nowMs }: TokensView, texts: Texts): Html {
  const { personalTokens: words, formats } = texts;
  const { id, name, api, scopes, isBound, createdAtMs, expiresAtMs, lastUsedMs } = token;
  const date = (atMs: number) =>
    html`<time datetime="${new Date(atMs).toISOString()}">${formats.date(atMs)}</time>`;
  const used = lastUsedMs === undefined ? words.neverUsed : hourOfUse(lastUsedMs, nowMs, texts);
  return html`<li><span class="mark device">${icon('key')}</span>
<div class="entry"><h3>${named(name)}</h3>
<p class="detail">${words.forApi(named(api))}</p>
<p class="detail">${words.made(date(createdAtMs))} · ${words.expires(date(expiresAtMs))} · ${used}</p>
${isBound ? html`<p class="detail">${words.bound}</p>` : ''}
${
  scopes.length === 0
    ? ''
    : html`<ul class="bullets">
${scopes.map(({ title }) => html`<li>${title}</li>\n`)}</ul>`
}</div>
<a id="${idOf('end-token', id)}" class="button" href="${base}/tokens?${new URLSearchParams({ end: id })}">${words.end(named(name))}</a></li>
`;
}

function making(view: TokensView, texts: Texts): Html {
  const { personalTokens: words } = texts;
  const { base, apis, form, problem } = view;
  const action = `${base}/tokens`;
  const text = problem === undefined ? '' : problemBox(words.problems[problem]);
  if (!view.isAdmitted) return html`<p class="note">${words.problems.not_allowed}</p>`;
  if (apis.length === 0) return html`<p class="note">${words.noApi}</p>`;
  if (!view.mayMake)
    return html`${view.hasUnsaved ? html`<p class="caution">${icon('alert')}<span>${words.waiting}</span></p>` : ''}
${confirmForm({ ...view, action }, 'confirm-to-make-token', texts)}`;
  if (view.isFull) return html`<p class="note">${words.problems.too_many_tokens}</p>`;
  if (form === undefined)
    return html`${text}
<p class="note">${words.chooseApi}</p>
<ul class="links" role="list">
${apis.map(({ resource, name }) => html`<li><a id="${idOf('api', resource)}" href="${action}?${new URLSearchParams({ api: resource })}">${named(name)}</a></li>\n`)}</ul>`;
  return html`${text}
<p class="note">${words.forApi(named(form.api))}${apis.length > 1 ? html` · <a href="${action}">${words.otherApi}</a>` : ''}</p>
<div class="fields">
<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="api" value="${form.resource}">
<label for="name">${words.name}</label>
<input id="name" name="name" type="text" maxlength="64" autocomplete="off" required value="${form.typed.name}" aria-describedby="${problem === 'name_missing' ? 'problem ' : ''}name-hint"${problem === 'name_missing' ? html` aria-invalid="true"` : ''}>
<p id="name-hint" class="note hint">${words.nameHint}</p>
${scopeFields(form, words)}
<fieldset>
<legend>${words.lifetime}</legend>
${lifetimeFields(form, texts)}
</fieldset>
${bindingField(form, words, problem === 'binding_wrong')}
<button id="make-token" type="submit" class="primary">${words.makeYes}</button>
</form>
</div>`;
}

function scopeFields({ scopes, typed }: TokenFormShown, words: Texts['personalTokens']): Html {
  if (scopes.length === 0) return html`<p class="note">${words.noScopes}</p>`;
  return html`<fieldset>
<legend>${words.scopes}</legend>
${scopes.map(
  ({ scope, title, detail }) => html`<div class="check">
<input id="${idOf('scope', scope)}" name="scope" type="checkbox" value="${scope}"${typed.scopes.includes(scope) ? html` checked` : ''}>
<label for="${idOf('scope', scope)}">${title}${detail === undefined ? '' : html` <span class="detail">${detail}</span>`}</label>
</div>
`,
)}</fieldset>`;
}

function lifetimeFields({ lifetimes, typed }: TokenFormShown, { formats }: Texts): Html {
  const usual = lifetimes[1] ?? lifetimes[0];
  const chosen = lifetimes.includes(typed.lifetime) ? typed.lifetime : usual;
  return html`${lifetimes.map(
    (seconds) => html`<div class="check">
<input id="lifetime-${seconds}" name="lifetime" type="radio" value="${seconds}" required${seconds === chosen ? html` checked` : ''}>
<label for="lifetime-${seconds}">${formats.duration(seconds)}</label>
</div>
`,
  )}`;
}

function bindingField(
  { binding, typed }: TokenFormShown,
  words: Texts['personalTokens'],
  isWrong: boolean,
): Html | '' {
  if (binding === 'none') return '';
  const [label, hint] =
    binding === 'dpop' ? [words.key, words.keyHint] : [words.certificate, words.certificateHint];
  return html`<label for="binding">${label}</label>
<input id="binding" name="binding" type="text" maxlength="8000" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" required value="${typed.binding}" aria-describedby="${isWrong ? 'problem ' : ''}binding-hint"${isWrong ? html` aria-invalid="true" autofocus` : ''}>
<p id="binding-hint" class="note hint">${hint}</p>`;
}

/** The question before the end of a token: button `end-token-yes`, link `end-token-no`. */
export function endTokenPage(
  view: AccountView & { readonly ending: Pick<TokenShown, 'id' | 'name'> },
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { personalTokens: words } = texts;
  const { id, name } = view.ending;
  return accountFrame(view, setting, {
    title: words.endTitle(name),
    heading: words.endTitle(named(name)),
    body: html`<p>${words.endText}</p>
<form method="post" action="${view.base}/tokens">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="end-token-yes" type="submit" class="danger" name="end_token" value="${id}">${words.endYes}</button>
<a id="end-token-no" class="button" href="${view.base}/tokens">${words.endNo}</a>
</div>
</form>`,
  });
}
