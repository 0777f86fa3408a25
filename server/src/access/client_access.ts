// What tokens of users depend on, besides their grants: which clients a user may use, and whether the sign-in still counts.
import type { MayUseClient } from '@grantd/core';
import type { Settings } from '../config/options.ts';
import { admits, type Groups } from '../data/groups.ts';
import type { People, Person } from '../data/people.ts';
import { FIRST_METHODS, METHODS, meets, strictestOf, usesEmailCode } from './acr.ts';

interface Needs {
  readonly people: Pick<People, 'bySubject'>;
  readonly groups: Pick<Groups, 'policiesOf'>;
  readonly settings: CodeSettings & Pick<Settings, 'signInPolicy'>;
}

/**
 * Asks whenever the library makes a code or tokens (ADR 201). Everyone may use a client, or the members of its groups. The
 * policies are those that the pages ask, except for what the user’s own factors add: a factor that a user adds later does
 * not end the tokens of their applications.
 */
export function clientAccess({ people, groups, settings }: Needs): {
  readonly mayUseClient: MayUseClient;
  readonly recheckedAmr: readonly string[];
} {
  const { signInPolicy } = settings;
  const mayHaveCode = takesEmailCode(settings);
  return {
    recheckedAmr: meets(METHODS.password, signInPolicy) ? METHODS.emailCode : FIRST_METHODS,
    async mayUseClient(subject, client, amr) {
      const person = await people.bySubject(subject);
      if (!admits(client, person?.groups)) return false;
      if (person === undefined || amr.length === 0) return true;
      if (usesEmailCode(amr) && !mayHaveCode(person)) return 'acr_unmet';
      const { sign_in_policy: ofClient = 'password' } = client.metadata ?? {};
      const policy = strictestOf(signInPolicy, ofClient, ...(await groups.policiesOf(subject)));
      return meets(amr, policy) || 'acr_unmet';
    },
  };
}

export type CodeSettings = Pick<
  Settings,
  'emailCode' | 'emailCodeGroups' | 'adminGroup' | 'insecureEmailCodeForAdministrators'
>;

export interface CodeGroups {
  /** The groups whose members get codes; `undefined` for all users. */
  readonly onlyGroups: readonly string[] | undefined;
  /** The group of administrators, if its members get no codes. */
  readonly withoutCodes: string | undefined;
}

export function codeGroups(settings: CodeSettings): CodeGroups {
  const { emailCodeGroups, adminGroup, insecureEmailCodeForAdministrators } = settings;
  return {
    onlyGroups: emailCodeGroups,
    withoutCodes: insecureEmailCodeForAdministrators ? undefined : adminGroup,
  };
}

/** Whether the groups of a user get codes. */
export function isOffered({ groups = [] }: Person, { onlyGroups, withoutCodes }: CodeGroups): boolean {
  if (withoutCodes !== undefined && groups.includes(withoutCodes)) return false;
  return onlyGroups?.some((group) => groups.includes(group)) !== false;
}

/** Whether the options let a user sign in with a code by email. Asked again whenever something depends on such a sign-in. */
export function takesEmailCode(settings: CodeSettings): (person: Person) => boolean {
  return (person) => settings.emailCode !== 'off' && isOffered(person, codeGroups(settings));
}
