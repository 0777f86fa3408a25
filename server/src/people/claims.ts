import type { ApplicationClaims, Claims, GetUserClaims } from '@grantd/core';
import type { StoredClaims } from '../config/options.ts';
import type { People, Person } from './people.ts';

/** A person's claims as UserInfo may tell them. */
export function claimsOf({ name, claims }: Person): Claims {
  return { preferred_username: name, ...claims };
}

/** The claims of a person by subject, as the library asks for them. */
export function userClaims(people: People): GetUserClaims {
  return async (subject) => {
    const person = await people.bySubject(subject);
    return person && claimsOf(person);
  };
}

/** Claims of tokens that are taken from those stored with a person. */
export function applicationClaims(stored: StoredClaims, getUserClaims: GetUserClaims): ApplicationClaims {
  const declared = Object.entries(stored).map(([name, { from = name, ...claim }]) => ({ name, from, claim }));
  return {
    claims: Object.fromEntries(declared.map(({ name, claim }) => [name, claim])),
    async valuesOf({ subject, names }) {
      const claims = subject === undefined ? undefined : await getUserClaims(subject);
      const due = declared.filter(({ name }) => names.includes(name));
      return Object.fromEntries(due.map(({ name, from }) => [name, claims?.[from]]));
    },
  };
}
