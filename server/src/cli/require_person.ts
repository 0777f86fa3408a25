import { Refused } from '../instance/refused.ts';
import type { People, Person } from '../people/people.ts';

/** @throws {Refused} there is nobody of that name */
export async function requirePerson({ people }: { readonly people: People }, name: string): Promise<Person> {
  const person = await people.byName(name);
  if (person === undefined) throw new Refused(`there is no person ${name}: grantd user list shows all.`);
  return person;
}
