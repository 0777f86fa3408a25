import { html, raw } from 'hono/html';
import type { Challenge } from '../../people/passkeys.ts';
import type { Html } from '../../texts/formats/html.ts';
import type { Texts } from '../../texts/texts.ts';
import type { FormShown } from './layout.ts';

/**
 * Runs the ceremony of each passkey form with the browser’s API, and sends its answer. Without scripts or passkeys, the
 * forms stay hidden.
 */
export const PASSKEY_SCRIPT = `
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
const toText = (buffer) => buffer &&
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const withBytes = (list) => list.map((one) => ({ ...one, id: toBytes(one.id) }));

function optionsOf(form) {
  const { sealed, options: given } = JSON.parse(form.dataset.passkey);
  const { user, excludeCredentials, allowCredentials, ...options } = given;
  form.elements.passkey_challenge.value = sealed;
  return {
    ...options,
    challenge: toBytes(options.challenge),
    ...(user && { user: { ...user, id: toBytes(user.id) } }),
    ...(excludeCredentials && { excludeCredentials: withBytes(excludeCredentials) }),
    ...(allowCredentials && { allowCredentials: withBytes(allowCredentials) }),
  };
}

function answerOf({ id, rawId, type, authenticatorAttachment, response }) {
  const { clientDataJSON, attestationObject, authenticatorData, signature, userHandle } = response;
  const parts = attestationObject
    ? { attestationObject: toText(attestationObject), transports: response.getTransports?.() ?? [] }
    : {
        authenticatorData: toText(authenticatorData),
        signature: toText(signature),
        userHandle: toText(userHandle) ?? undefined,
      };
  return JSON.stringify({
    id, rawId: toText(rawId), type, authenticatorAttachment, clientExtensionResults: {},
    response: { clientDataJSON: toText(clientDataJSON), ...parts },
  });
}

function send(form, credential) {
  form.elements.passkey.value = answerOf(credential);
  form.requestSubmit();
}

async function offer(form) {
  const publicKey = optionsOf(form);
  const problem = form.querySelector('[role=alert]');
  let autofill = new AbortController();
  form.hidden = false;
  // A page that is shown again has no answer.
  addEventListener('pageshow', () => { form.elements.passkey.value = ''; });
  form.addEventListener('submit', async (event) => {
    if (form.elements.passkey.value !== '') return;
    event.preventDefault();
    autofill.abort();
    problem.hidden = true;
    try {
      send(form, await navigator.credentials[publicKey.user ? 'create' : 'get']({ publicKey }));
    } catch {
      problem.hidden = false;
    }
  });
  if (form.dataset.autofill === undefined) return;
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  try {
    send(form, await navigator.credentials.get({ publicKey, mediation: 'conditional', signal: autofill.signal }));
  } catch {
    // The user chose another way.
  }
}

if (window.PublicKeyCredential)
  for (const form of document.querySelectorAll('form[data-passkey]')) offer(form);
`;

export function passkeyScript(): Html {
  return html`<script>${raw(PASSKEY_SCRIPT)}</script>`;
}

interface PasskeyForm extends FormShown {
  readonly challenge: Challenge;
  readonly button: { readonly id: string; readonly text: string; readonly isPrimary?: boolean };
  /** Whether the browser also suggests passkeys in the field of the username. */
  readonly isAutofilled?: boolean;
  readonly fields?: Html;
  /** Shown if the browser answers with an error. Default: that no passkey was used. */
  readonly problem?: string | Html;
}

/** A form that sends `passkey` and `passkey_challenge`. */
export function passkeyForm(form: PasskeyForm, texts: Texts): Html {
  const { action, formToken, challenge, button, isAutofilled, fields, problem } = form;
  return html`<form method="post" action="${action}" data-passkey="${JSON.stringify(challenge)}"${isAutofilled ? html` data-autofill` : ''} hidden>
<input type="hidden" name="form_token" value="${formToken}">
<input type="hidden" name="passkey_challenge" value="">
<input type="hidden" name="passkey" value="">
${fields ?? ''}
<p role="alert" class="note" hidden>${problem ?? texts.passkeys.notUsed}</p>
<button id="${button.id}" type="submit"${button.isPrimary ? html` class="primary"` : ''}>${button.text}</button>
</form>`;
}
