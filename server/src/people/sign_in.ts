import type { AdministrableStorage } from '@grantd/core';
import type { AttemptLimit } from './attempt_limit.ts';
import { isName, nameKey } from './names.ts';
import type { PasswordHasher, Place } from './password_hasher.ts';
import type { People, Person } from './people.ts';

export interface SignInParts {
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly hasher: PasswordHasher;
  readonly limit: AttemptLimit;
}

export type SignIn =
  | { readonly person: Person }
  | { readonly refused: 'person_unknown' | 'password_wrong' | 'person_disabled' }
  | { readonly refused: 'too_many_attempts' | 'too_many_sign_ins'; readonly secondsToWait: number };

/** After which a full queue of passwords has had time to move on. */
const SECONDS_TO_WAIT = 5;

/**
 * Whether a name and a password are somebody's who may sign in. An unknown name costs what a wrong password costs.
 * @param placeOf where the attempt comes from, for the limits
 */
export async function signIn(
  { people, storage, hasher, limit }: SignInParts,
  typedName: string,
  password: string,
  placeOf: (person: Person | undefined) => Promise<Place>,
): Promise<SignIn> {
  // Nothing is counted by the name as it was typed: another way of typing it would tell whether somebody has it.
  const name = isName(typedName) ? nameKey(typedName) : '';
  const person = name === '' ? undefined : await people.byName(typedName);
  const place = await placeOf(person);
  const check = async (): Promise<SignIn> => {
    const secondsToWait = await limit.begin(name, place.name);
    if (secondsToWait > 0) return { refused: 'too_many_attempts', secondsToWait };

    const fits = await hasher.fits(password, person?.passwordHash, place);
    if (person === undefined) return { refused: 'person_unknown' };
    if (!fits) return { refused: 'password_wrong' };
    const state = await storage.getPrincipalState('subject', person.subject);
    if (state?.disabledAtMs !== undefined) return { refused: 'person_disabled' };
    await limit.succeeded(name, place.name);
    return { person };
  };
  // A place in the queue before the attempt is counted: it is none of whoever is sent away.
  return hasher.admit(place, check) ?? { refused: 'too_many_sign_ins', secondsToWait: SECONDS_TO_WAIT };
}
