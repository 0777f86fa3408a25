import type { Claims, GetUserClaims } from '@grantd/core';
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
