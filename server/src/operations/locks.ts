import type { Person } from '../data/people.ts';
import { type Lock, Locks } from '../people/locks.ts';
import type { OperationParts } from './operation.ts';

type LockParts = Pick<OperationParts, 'attempts' | 'secret'>;
type LockedPerson = Pick<Person, 'subject' | 'name' | 'directoryId'>;

/**
 * What the server refuses to a user after too many attempts.
 * @throws {Refused} the secret, with which attempts are counted, is not set
 */
export function locksOf({ attempts, secret }: LockParts, person: LockedPerson): Promise<readonly Lock[]> {
  return new Locks(attempts, secret()).of(person);
}

/**
 * Lets a user try again everywhere.
 * @returns what was refused before
 * @throws {Refused} as `locksOf`
 */
export async function unlockPerson(
  { attempts, secret }: LockParts,
  person: LockedPerson,
): Promise<readonly Lock[]> {
  const locks = new Locks(attempts, secret());
  const before = await locks.of(person);
  await locks.unlock(person);
  return before;
}
