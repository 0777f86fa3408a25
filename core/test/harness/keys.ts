import { type AdministrableStorage, AuthorizationServer, type KeyRecord, type NewClient } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import type { SettableClock } from './settable_clock.ts';
import { ISSUER, SECRET } from './world.ts';

let generated: Promise<readonly KeyRecord[]> | undefined;

/** The age of the keys in milliseconds, so that they can be rotated at once. */
const AGE_MS = 60 * 60 * 1000;

/** Shared signing keys for all worlds of a process, because creating them would take most of the tests' time. */
export async function seedKeys(storage: AdministrableStorage, clock: SettableClock): Promise<void> {
  generated ??= generate(clock);
  await storage.keys.initialize(await generated);
}

/** Uses each algorithm that a server does not use by default. */
const CLIENT: NewClient = {
  id: 'all',
  grantTypes: [],
  scopes: [],
  redirectUris: [],
  accessTokenAlgorithm: 'EdDSA',
  idTokenAlgorithm: 'ES256',
  metadata: { userinfo_signed_response_alg: 'PS256', introspection_signed_response_alg: 'Ed25519' },
};

async function generate(clock: SettableClock): Promise<readonly KeyRecord[]> {
  const before = () => clock.read() - AGE_MS;
  const storage = memoryStorage({ clock: before });
  const server = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage, clock: before });
  await server.prepare();
  await server.operator.publishKeys(CLIENT);
  return storage.keys.list();
}
