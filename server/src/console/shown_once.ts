// How the console shows a secret once. What keeps it is in kept_secrets.ts.
import { html } from 'hono/html';
import { copyButton } from '../pages/drawing/copying.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, hiddenFields, section, toConsole, urlOf } from './frame.ts';

/** What `do` says in the form below a secret. */
const SAVED = 'secret_saved';

/** `POST` of the form below a secret. */
export async function submitSaved(
  { c, console: { pages, shownOnce }, session, form, view }: Visit,
  place: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Response> {
  const isSaved = form.get('do') === SAVED;
  if (isSaved) await shownOnce.forget(session.id, place);
  return toConsole(
    c,
    pages,
    session,
    urlOf(view.base, view.current, parameters),
    isSaved ? 'secret_saved' : 'nothing_changed',
  );
}

/** A secret, with the button `secret-saved`, after which it is never shown again. */
export function secretSection(
  view: ConsoleView,
  language: string,
  secret: string,
  parameters: Readonly<Record<string, string>>,
): Html {
  const texts = textsIn(language);
  const { console: words } = texts;
  return section(
    'secret',
    words.forms.secretTitle,
    html`<p class="caution">${icon('key')}<span>${words.forms.secretOnce}</span></p>
<p class="shown-secret"><code id="new-secret">${secret}</code> ${copyButton('copy-secret', '#new-secret', texts)}</p>
<form method="post" action="${urlOf(view.base, view.current)}">
${hiddenFields(view, parameters)}<button id="secret-saved" type="submit" class="primary" name="do" value="${SAVED}">${words.forms.secretSaved}</button>
</form>`,
  );
}
