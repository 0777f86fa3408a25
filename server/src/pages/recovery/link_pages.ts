import { html } from 'hono/html';
import type { MailedLink } from '../../data/mails.ts';
import type { PageReason } from '../../log/page_events.ts';
import type { PasswordProblem } from '../../people/passwords.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { named } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import { passwordField, problemBox, REVEAL_SCRIPT, revealScript, textField } from '../drawing/fields.ts';
import type { FormShown, Page, PageSetting } from '../drawing/layout.ts';

export type LinkProblem =
  | PasswordProblem
  | Extract<
      PageReason,
      'link_foreign' | 'too_many_attempts' | 'too_many_sign_ins' | 'name_refused' | 'name_taken'
    >;

type FormPurpose = 'reset' | 'invite' | 'sign_up';

export interface LinkView extends FormShown {
  readonly purpose: FormPurpose;
  readonly address: string;
  readonly minLength: number;
  /** Whether the user types the username: for a new account, or because the link was asked for in another browser. */
  readonly isAsked: boolean;
  readonly username: string;
  readonly problem?: LinkProblem;
  readonly secondsToWait?: number;
}

/** `/link`: fields `username` and `new_password`, button `link-submit`. */
export function linkFormPage(view: LinkView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { purpose, problem, isAsked, username, minLength } = view;
  const words = texts.links[purpose];
  const isNameWrong = problem === 'link_foreign' || problem === 'name_refused' || problem === 'name_taken';
  // Of no field, as nothing has been checked.
  const isToWait = problem === 'too_many_attempts' || problem === 'too_many_sign_ins';
  const isNameNext = username === '' || isNameWrong;
  const lead =
    isAsked && purpose === 'reset'
      ? texts.links.elsewhere
      : words.lead(named(isAsked ? view.address : username));
  return {
    ...setting,
    title: problem === undefined ? words.title : texts.problemTitle(words.title),
    namesOperator: true,
    scripts: [REVEAL_SCRIPT],
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${words.title}</h1>
<p class="lead">${lead}</p>
</header>
${problem === undefined ? '' : problemBox(linkProblemText(problem, view, texts))}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${
  isAsked
    ? textField({
        ...{ id: 'username', name: 'username', autocomplete: 'username', value: username },
        label: texts.signIn.username,
        isFocused: isNameNext,
        isWrong: isNameWrong,
      })
    : html`<input type="text" class="unseen" name="username" value="${username}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">`
}
${passwordField(
  {
    ...{ id: 'new-password', name: 'new_password', autocomplete: 'new-password' },
    label: texts.passwords.newPassword,
    hint: texts.passwords.hint(minLength),
    isFocused: !isAsked || !isNameNext,
    isWrong: problem !== undefined && !isNameWrong && !isToWait,
  },
  texts,
  minLength,
)}
<button id="link-submit" type="submit" class="primary">${words.submit}</button>
</form>
${revealScript()}`,
  };
}

function linkProblemText(
  problem: LinkProblem,
  { minLength, secondsToWait = 0 }: LinkView,
  texts: Texts,
): string {
  const { links, signIn, passwords, formats } = texts;
  if (problem === 'too_many_attempts' || problem === 'too_many_sign_ins')
    return `${signIn.problems[problem]} ${signIn.tryAgainIn(formats.duration(secondsToWait))}`;
  if (problem === 'link_foreign' || problem === 'name_refused' || problem === 'name_taken')
    return links.problems[problem];
  return passwords.problems[problem](minLength);
}

interface LinkDoneView {
  readonly purpose: MailedLink['purpose'];
  readonly signIn: string;
}

/** The end of a link: `to-sign-in`. */
export function linkDonePage({ purpose, signIn }: LinkDoneView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const words = texts.links[purpose === 'invite' || purpose === 'sign_up' ? purpose : 'reset'];
  return {
    ...setting,
    title: words.doneTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${words.doneTitle}</h1>
<p class="lead">${words.done}</p>
</header>
<a id="to-sign-in" class="button primary" href="${signIn}">${texts.signIn.submit}</a>`,
  };
}
