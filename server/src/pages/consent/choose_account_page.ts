import { html } from 'hono/html';
import { textsIn } from '../../texts/texts.ts';
import { named, uncheckedNote } from '../drawing/application_shown.ts';
import { applicationMark } from '../drawing/brand.ts';
import type { ApplicationShown, FormShown, Page, PageSetting, PersonShown } from '../drawing/layout.ts';

interface ChooseAccountView extends FormShown {
  readonly application: ApplicationShown;
  /** The signed-in user. */
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly otherAccount: string;
}

/** `prompt=select_account` (OpenID Connect Core §3.1.2.1): button `account-continue`, link `account-other`. */
export function chooseAccountPage(view: ChooseAccountView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.choose.title,
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1>${texts.choose.title}</h1>
<p class="lead">${texts.choose.toContinueTo(named(application.name))}</p>
</header>
${uncheckedNote(application, setting, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<button id="account-continue" type="submit" name="account" value="continue" class="primary">${texts.choose.continueAs(named(person.name))}${person.detail === undefined ? '' : html` <bdi class="detail">${person.detail}</bdi>`}</button>
</form>
<a id="account-other" class="button" href="${view.otherAccount}">${texts.choose.other}</a>`,
  };
}
