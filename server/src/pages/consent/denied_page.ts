import { html } from 'hono/html';
import { textsIn } from '../../texts/texts.ts';
import { named, personLine, uncheckedNote } from '../drawing/application_shown.ts';
import { applicationMark } from '../drawing/brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../drawing/layout.ts';

interface DeniedView extends FormShown {
  readonly application: ApplicationShown;
  /** The signed-in user. */
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly otherAccount: string;
}

/** `/denied`: button `denied-back`, link `denied-other`. */
export function deniedPage(view: DeniedView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { denied } = texts;
  return {
    ...setting,
    title: denied.title(application.name),
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1>${denied.title(named(application.name))}</h1>
<p class="lead">${denied.text}</p>
</header>
${personLine(denied.signedInAs, person)}
${uncheckedNote(application, setting, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<button id="denied-back" type="submit" name="decision" value="back" class="primary">${denied.back(named(application.name))}</button>
</form>
<a id="denied-other" class="button" href="${view.otherAccount}">${denied.other}</a>
<p class="note">${denied.help}</p>`,
  };
}
