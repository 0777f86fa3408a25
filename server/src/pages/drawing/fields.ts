import { html, raw } from 'hono/html';
import { type Html, icon } from '../../texts/formats/html.ts';
import type { Texts } from '../../texts/texts.ts';

/** A field of a form, described by the problem that the form has with it. */
interface FieldShown {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly autocomplete: string;
  readonly value?: string;
  readonly hint?: string;
  readonly isWrong?: boolean;
  readonly isFocused?: boolean;
  /** Whether it takes a code in capital letters. */
  readonly isCode?: boolean;
  /** Of a password: the URL for users who have forgotten it. */
  readonly forgot?: string | undefined;
}

export function textField(field: FieldShown, type: 'text' | 'email' = 'text'): Html {
  const { id, name, label, autocomplete, value = '', isFocused, isCode } = field;
  return html`<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" ${isCode ? html`autocapitalize="characters" class="code"` : html`autocapitalize="none"`} autocorrect="off" spellcheck="false" maxlength="256" required${describedBy(field)}${isFocused ? html` autofocus` : ''}>
${hintOf(field)}`;
}

/**
 * A password that the user types or pastes. The button that shows it appears only if scripts run.
 * @param minLength of a new password
 */
export function passwordField(field: FieldShown, texts: Texts, minLength?: number): Html {
  const { id, name, label, autocomplete, isFocused, forgot } = field;
  return html`<div class="field">
<label for="${id}">${label}</label>
<div class="secret">
<input id="${id}" name="${name}" type="password" autocomplete="${autocomplete}"${minLength === undefined ? '' : html` minlength="${minLength}"`} required${describedBy(field)}${isFocused ? html` autofocus` : ''}>
${revealButton(id, texts)}
</div>${forgotLink(forgot, texts)}
</div>
${hintOf(field)}`;
}

/** Drawn beside the label of a password, but after the field, so that the Tab key leads from the username to the password. */
export function forgotLink(href: string | undefined, { signIn }: Texts): Html | '' {
  return href === undefined ? '' : html`\n<a id="forgot-password" href="${href}">${signIn.forgot}</a>`;
}

/** Stands behind a password field, in an element of the class `secret`. Without scripts, it stays hidden. */
export function revealButton(id: string, { passwords }: Texts): Html {
  return html`<button id="${id}-reveal" type="button" class="reveal" aria-controls="${id}" aria-pressed="false" hidden>${passwords.reveal}</button>`;
}

function describedBy({ id, hint, isWrong }: FieldShown): Html | '' {
  const ids = [...(isWrong ? ['problem'] : []), ...(hint === undefined ? [] : [`${id}-hint`])];
  if (ids.length === 0) return '';
  return html` aria-describedby="${ids.join(' ')}"${isWrong ? html` aria-invalid="true"` : ''}`;
}

function hintOf({ id, hint }: FieldShown): Html | '' {
  return hint === undefined ? '' : html`<p id="${id}-hint" class="note hint">${hint}</p>`;
}

export function problemBox(text: string | Html): Html {
  return html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${text}</span></p>`;
}

/** Shows a typed password. Its hash is in the policy of the pages that have it. */
export const REVEAL_SCRIPT = `
for (const button of document.querySelectorAll('button.reveal')) {
  const field = document.getElementById(button.getAttribute('aria-controls'));
  button.hidden = false;
  button.addEventListener('click', () => {
    const isShown = field.type === 'text';
    field.type = isShown ? 'password' : 'text';
    button.setAttribute('aria-pressed', String(!isShown));
  });
  field.form.addEventListener('submit', () => { field.type = 'password'; });
}
`;

export function revealScript(): Html {
  return html`<script>${raw(REVEAL_SCRIPT)}</script>`;
}
