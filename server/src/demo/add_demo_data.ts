import type { AuthorizationServer } from '@grantd/core';
import type { Instance } from '../instance/instance.ts';
import { PasswordHasher } from '../people/password_hasher.ts';
import type { Person } from '../people/people.ts';
import { DEMO_CLIENTS } from './demo_clients.ts';
import { DEMO_PERSON } from './demo_people.ts';

/** Adds what is missing of the demo data; what is there stays as it is. @returns the person of the demo */
export async function addDemoData(
  { storage, people, demoMark }: Instance,
  server: AuthorizationServer,
): Promise<Person> {
  await demoMark.set();
  for (const client of Object.values(DEMO_CLIENTS)) {
    if (await storage.clients.get(client.id)) continue;
    const { secret, ...registration } = { secret: undefined, ...client };
    await storage.clients.add({
      ...registration,
      ...(secret !== undefined && { secretHash: await server.hashClientSecret(secret) }),
    });
  }

  const { name, password, claims } = DEMO_PERSON;
  const passwordHash = (await people.byName(name)) ? undefined : await new PasswordHasher().hash(password);
  if (passwordHash !== undefined) await people.add({ name, passwordHash, claims });
  const person = await people.byName(name);
  if (person === undefined) throw new Error('the person of the demo was not stored');
  return person;
}
