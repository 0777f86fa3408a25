// The current password, which some forms ask for.
import type { Person } from '../../data/people.ts';
import { type SignInParts, signIn } from '../../people/sign_in.ts';
import type { Html } from '../../texts/formats/html.ts';
import type { Texts } from '../../texts/texts.ts';
import type { PageContext, Visitors } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { passwordField } from '../drawing/fields.ts';

export interface PasswordCheckNeeds {
  readonly signInParts: SignInParts;
  readonly visitors: Visitors;
}

/** Why the current password of a form does not count. */
export interface RefusedPassword {
  readonly problem?: CurrentPasswordProblem;
  readonly status?: 400 | 403 | 429 | 503;
  readonly secondsToWait?: number;
}

export type CurrentPasswordProblem = 'credentials_wrong' | 'too_many_attempts' | 'too_many_sign_ins';

/** Checks the current password of a signed-in user. Wrong ones count like those of the sign-in page. */
export async function checkPassword(
  c: PageContext,
  needs: PasswordCheckNeeds,
  { person, id }: BrowserSession,
  password: string,
): Promise<
  | { readonly person: Person }
  | { readonly refusal: Required<Pick<RefusedPassword, 'problem' | 'status'>> & RefusedPassword }
> {
  const outcome = await signIn(needs.signInParts, person.name, password, needs.visitors.placeOf(c));
  if ('person' in outcome && outcome.person.subject === person.subject) return outcome;
  const reason = 'refused' in outcome ? outcome.refused : 'password_wrong';
  const { subject } = person;
  const isFirst = 'isFirst' in outcome && outcome.isFirst;
  const failure = { page: 'account', reason, subject, sessionId: id, isCounted: true, isFirst } as const;
  await needs.visitors.recordFailure(c, failure);
  if (!('refused' in outcome) || !('secondsToWait' in outcome))
    return { refusal: { problem: 'credentials_wrong', status: 403 } };
  const { refused, secondsToWait } = outcome;
  if (refused === 'too_many_sign_ins') return { refusal: { problem: refused, status: 503, secondsToWait } };
  return { refusal: { problem: 'too_many_attempts', status: 429, secondsToWait } };
}

/** Whether a text is the password of a signed-in user. Another one counts as an attempt. */
export async function isPassword(
  c: PageContext,
  needs: PasswordCheckNeeds,
  { person }: BrowserSession,
  password: string,
): Promise<boolean> {
  const outcome = await signIn(needs.signInParts, person.name, password, needs.visitors.placeOf(c));
  return 'person' in outcome && outcome.person.subject === person.subject;
}

export function isAboutCurrent(problem: unknown): problem is CurrentPasswordProblem {
  return (
    problem === 'credentials_wrong' || problem === 'too_many_attempts' || problem === 'too_many_sign_ins'
  );
}

export function currentPasswordText(
  problem: CurrentPasswordProblem,
  secondsToWait: number | undefined,
  { signIn: words, passwords, formats }: Texts,
): string {
  const text = problem === 'credentials_wrong' ? passwords.currentWrong : words.problems[problem];
  return secondsToWait === undefined ? text : `${text} ${words.tryAgainIn(formats.duration(secondsToWait))}`;
}

/** The field for the current password, with what is wrong with it. */
export function currentPasswordField(problem: unknown, texts: Texts, forgot?: string): Html {
  return passwordField(
    {
      ...{ id: 'current-password', name: 'current_password', autocomplete: 'current-password' },
      label: texts.passwords.currentPassword,
      isWrong: problem === 'credentials_wrong',
      isFocused: isAboutCurrent(problem),
      forgot,
    },
    texts,
  );
}
