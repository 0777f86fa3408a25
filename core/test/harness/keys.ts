import { type AdministrableStorage, AuthorizationServer, type KeyRecord } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import type { SettableClock } from './settable_clock.ts';
import { ISSUER, SECRET } from './world.ts';

let generated: Promise<readonly KeyRecord[]> | undefined;

/** Milliseconds that the keys are older than the world, so that they can be rotated at once. */
const AGE_MS = 60 * 60 * 1000;

/** The same signing keys for every world of a process: making them would be most of the tests' time. */
export async function seedKeys(storage: AdministrableStorage, clock: SettableClock): Promise<void> {
  generated ??= generate(clock);
  await storage.keys.initialize(await generated);
}

async function generate(clock: SettableClock): Promise<readonly KeyRecord[]> {
  const before = () => clock.read() - AGE_MS;
  const storage = memoryStorage({ clock: before });
  await new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage, clock: before }).prepare();
  return storage.keys.list();
}
