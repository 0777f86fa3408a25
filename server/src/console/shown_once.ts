// How the console shows a secret once. What keeps it is in kept_secrets.ts.
import { html } from 'hono/html';
import { copyButton } from '../pages/drawing/copying.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, hiddenFields, section, toConsole, urlOf } from './frame.ts';
import type { ShownSecret } from './kept_secrets.ts';

/** What `do` says in the form below a secret. */
const SAVED = 'secret_saved';

/** The hidden fields with the names of the secrets above. */
const SHOWN = 'shown';

/** `POST` of the form below a secret. */
export async function submitSaved(
  { c, console: { pages, shownOnce }, session, form, view }: Visit,
  place: string,
  parameters: Readonly<Record<string, string>>,
): Promise<Response> {
  const isSaved = form.get('do') === SAVED;
  if (isSaved) await shownOnce.acknowledge(session.id, place, form.getAll(SHOWN));
  return toConsole(
    c,
    pages,
    session,
    urlOf(view.base, view.current, parameters),
    isSaved ? 'secret_saved' : 'nothing_changed',
  );
}

/** Secrets, if there are any, with the button `secret-saved`, after which they are never shown again. */
export function secretSection(
  view: ConsoleView,
  language: string,
  made: readonly ShownSecret[],
  parameters: Readonly<Record<string, string>>,
): Html | '' {
  if (made.length === 0) return '';
  const texts = textsIn(language);
  const { console: words } = texts;
  return section(
    'secret',
    words.forms.secretTitle,
    html`<p class="caution">${icon('key')}<span>${words.forms.secretOnce}${made.length > 1 ? ` ${words.forms.newestFirst}` : ''}</span></p>
${made.map(({ secret }, at) => {
  const suffix = at === 0 ? '' : `-${at}`;
  return html`<p class="shown-secret"><code id="new-secret${suffix}">${secret}</code> ${copyButton(`copy-secret${suffix}`, `#new-secret${suffix}`, texts)}</p>\n`;
})}<form method="post" action="${urlOf(view.base, view.current)}">
${hiddenFields(view, parameters)}${made.map(({ name }) => html`<input type="hidden" name="${SHOWN}" value="${name}">\n`)}<button id="secret-saved" type="submit" class="primary" name="do" value="${SAVED}">${words.forms.secretSaved}</button>
</form>`,
  );
}
