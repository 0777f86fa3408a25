import { html } from 'hono/html';
import type { Provider, ProviderKind } from '../../config/providers.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Language, localizedMember, type Texts } from '../../texts/texts.ts';
import { idOf, named } from './application_shown.ts';
import type { FormShown } from './layout.ts';
import { providerMark } from './provider_marks.ts';

/** The provider’s name in a language. */
export function providerName({ id, names }: Provider, language: Language): string {
  return localizedMember(names, 'name', language) ?? id;
}

/** A button that leads to a provider. */
export interface ProviderButton {
  readonly id: string;
  readonly name: string;
  readonly kind: ProviderKind;
  /** URL of the operator’s picture of it. */
  readonly logo?: string;
  /** URL that receives the `POST`. */
  readonly action: string;
}

/** Buttons `provider-ID`, below the form of the sign-in page. */
export function providerButtons(
  providers: readonly ProviderButton[] | undefined,
  formToken: string,
  { providers: words }: Texts,
): Html | '' {
  if (providers === undefined || providers.length === 0) return '';
  return html`<p class="or" aria-hidden="true"><span>${words.divider}</span></p>
<section aria-label="${words.or}">
${providers.map(
  ({ id, name, kind, logo, action }) => html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
<button id="${idOf('provider', id)}" type="submit" class="with-mark">${providerMark(kind, name, logo)}<span>${words.continueWith(named(name))}</span></button>
</form>
`,
)}</section>`;
}

/** The user’s links to providers. */
export interface ProvidersOfAccount {
  readonly base: string;
  readonly linked: readonly {
    readonly id: string;
    readonly provider: string;
    readonly name: string;
    readonly label: string;
    readonly linkedAtMs: number;
  }[];
  /** Providers to connect. */
  readonly others: readonly Pick<ProviderButton, 'id' | 'name'>[];
  /** An identity with which the user has come here to connect it. */
  readonly waiting?: { readonly id: string; readonly name: string; readonly label: string };
  readonly nowMs: number;
  readonly problem?: 'provider_needed';
}

/** Buttons `unlink-ID`, `connect-PROVIDER`; with a waiting identity, `connect-yes` and `connect-no`. */
export function providersSection(
  { base, linked, others, waiting, nowMs, problem }: ProvidersOfAccount,
  { formToken }: Pick<FormShown, 'formToken'>,
  { providers: words, formats }: Texts,
): Html {
  const token = html`<input type="hidden" name="form_token" value="${formToken}">`;
  return html`<section aria-labelledby="providers" class="providers">
<h2 id="providers">${words.account.title}</h2>
<p class="note">${words.account.text}</p>
${problem === undefined ? '' : html`<p role="alert" id="provider-problem" class="problem"><span>${words.account.needed}</span></p>`}
${
  waiting === undefined
    ? ''
    : html`<form method="post" action="${base}/${waiting.id}/connect" class="question">
${token}
<p>${words.account.question(named(waiting.name), named(waiting.label))}</p>
<div class="choices">
<button id="connect-yes" type="submit" name="decision" value="yes" class="primary">${words.account.yes}</button>
<button id="connect-no" type="submit" name="decision" value="no">${words.account.no}</button>
</div>
</form>`
}
${
  linked.length === 0
    ? ''
    : html`<ul class="entries" role="list">
${linked.map(
  ({ id, provider, name, label, linkedAtMs }) => html`<li>
<span class="mark device">${icon('link')}</span>
<div class="entry">
<h3>${named(name)}</h3>
<p class="detail"><bdi>${label}</bdi>, ${words.account.since(html`<time datetime="${new Date(linkedAtMs).toISOString()}">${formats.past(linkedAtMs, nowMs)}</time>`)}</p>
</div>
<form method="post" action="${base}/${provider}/unlink">
${token}
<button id="${idOf('unlink', id)}" type="submit" name="link" value="${id}">${words.account.unlink(named(name))}</button>
</form>
</li>
`,
)}</ul>`
}
${others.map(
  ({ id, name }) => html`<form method="post" action="${base}/${id}/connect">
${token}
<button id="${idOf('connect', id)}" type="submit" name="decision" value="start">${words.account.connect(named(name))}</button>
</form>
`,
)}
</section>`;
}
