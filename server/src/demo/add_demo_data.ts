import type { AuthorizationServer } from '@grantd/core';
import type { Instance } from '../instance/instance.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import type { Person } from '../people/people.ts';
import { DEMO_CLIENTS } from './demo_clients.ts';
import { DEMO_PERSON } from './demo_people.ts';

/** The person of the demo, as they are in the database. */
export interface DemoPerson extends Person {
  /** Theirs, where it is still the one that everyone knows. */
  readonly knownPassword?: string;
}

/** Adds what is missing of the demo data; what is there stays as it is. */
export async function addDemoData(
  { storage, people, demoMark }: Instance,
  server: AuthorizationServer,
): Promise<DemoPerson> {
  await demoMark.set();
  for (const client of Object.values(DEMO_CLIENTS)) {
    if (await storage.clients.get(client.id)) continue;
    const { secret, ...registration } = { secret: undefined, ...client };
    await storage.clients.add({
      ...registration,
      ...(secret !== undefined && { secrets: [await server.hashClientSecret(secret)] }),
    });
  }

  const { name, password, claims } = DEMO_PERSON;
  const hasher = new PasswordHasher();
  if (!(await people.byName(name)))
    await people.add({ name, passwordHash: await hasher.hash(password), claims });
  const person = await people.byName(name);
  if (person === undefined) throw new Error('the person of the demo was not stored');
  return {
    ...person,
    ...((await hasher.fits(password, person.passwordHash)) && { knownPassword: password }),
  };
}
