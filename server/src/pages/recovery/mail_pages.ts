import { html } from 'hono/html';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { operatorMark } from '../drawing/brand.ts';
import { problemBox, textField } from '../drawing/fields.ts';
import type { FormShown, Page, PageSetting } from '../drawing/layout.ts';

export type AddressProblem = 'address_invalid' | 'domain_refused';

interface ForgotView extends FormShown {
  readonly typed: string;
  /** URL of the sign-in page. */
  readonly back: string;
  readonly secondsToWait?: number;
}

/** `/forgot`: field `username`, button `forgot-submit`, link `to-sign-in`. */
export function forgotPage(view: ForgotView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { forgot } = texts;
  const { secondsToWait } = view;
  return {
    ...setting,
    title: secondsToWait === undefined ? forgot.title : texts.problemTitle(forgot.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${forgot.title}</h1>
<p class="lead">${forgot.lead}</p>
</header>
${secondsToWait === undefined ? '' : problemBox(tooMany(secondsToWait, texts))}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${textField({ id: 'username', name: 'username', label: forgot.usernameOrEmail, autocomplete: 'username', value: view.typed, isFocused: true })}
<button id="forgot-submit" type="submit" class="primary">${forgot.submit}</button>
</form>
<a id="to-sign-in" class="button quiet" href="${view.back}">${forgot.back}</a>`,
  };
}

function tooMany(seconds: number, { signIn, formats }: Texts): string {
  return `${signIn.problems.too_many_attempts} ${signIn.tryAgainIn(formats.duration(seconds))}`;
}

export interface SignUpView extends FormShown {
  readonly typed: string;
  readonly back: string;
  /** Domains whose addresses are allowed, if not all are. */
  readonly domains?: readonly string[];
  readonly problem?: AddressProblem | 'too_many_mails';
  readonly secondsToWait?: number;
}

/** `/sign-up`: field `email`, button `sign-up-submit`, link `to-sign-in`. */
export function signUpPage(view: SignUpView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { signUp, forgot } = texts;
  const { problem, domains = [] } = view;
  const text =
    problem === undefined || problem === 'too_many_mails'
      ? tooMany(view.secondsToWait ?? 0, texts)
      : signUp.problems[problem];
  const hint = domains.length === 0 ? {} : { hint: signUp.domains(texts.formats.list([...domains])) };
  return {
    ...setting,
    title: problem === undefined ? signUp.title : texts.problemTitle(signUp.title),
    namesOperator: true,
    body: html`<header>
<p class="operator">${operatorMark(setting.operator)}<bdi>${setting.operator.name}</bdi></p>
<h1>${signUp.title}</h1>
<p class="lead">${signUp.lead}</p>
</header>
${problem === undefined ? '' : problemBox(text)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${textField({ id: 'email', name: 'email', label: signUp.email, autocomplete: 'email', value: view.typed, isFocused: true, isWrong: problem !== undefined, ...hint }, 'email')}
<button id="sign-up-submit" type="submit" class="primary">${signUp.submit}</button>
</form>
<a id="to-sign-in" class="button quiet" href="${view.back}">${forgot.back}</a>`,
  };
}

interface MailSentView {
  readonly kind: 'forgot' | 'signUp';
  readonly back: string;
}

/** Says the same, whether or not an email is on its way. */
export function mailSentPage({ kind, back }: MailSentView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.forgot.sentTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${texts.forgot.sentTitle}</h1>
</header>
<p role="status" id="mail-sent">${texts[kind].sent}</p>
<p class="detail">${texts.forgot.sentHelp}</p>
<a id="to-sign-in" class="button quiet" href="${back}">${texts.forgot.back}</a>`,
  };
}
