import { type AdministrableStorage, AuthorizationServer } from '@grantd/core';
import type { PostgresDeadlines } from '@grantd/core/postgres';
import { CLIENTS, register } from '../load/registrations.ts';
import type { Cluster } from './cluster.ts';
import { ISSUER, SECRET } from './identity.ts';

/** The library on a cluster's database, in this process. */
export interface Library {
  readonly storage: AdministrableStorage;
  /** Its refresh tokens are opaque. */
  readonly opaque: AuthorizationServer;
  /** Its refresh tokens are JWTs. */
  readonly jwt: AuthorizationServer;
  close(): Promise<void>;
}

/** @param deadlines how long it waits for PostgreSQL */
export async function openLibrary(cluster: Cluster, deadlines?: PostgresDeadlines): Promise<Library> {
  const storage = await cluster.openStorage(deadlines);
  const serverWith = (useOpaqueRefreshTokens: boolean) =>
    new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage, useOpaqueRefreshTokens });
  const library = {
    storage,
    opaque: serverWith(true),
    jwt: serverWith(false),
    async close() {
      await storage.close();
    },
  };
  await library.jwt.prepare();
  await library.opaque.prepare();
  return library;
}

/** Registers the clients of every load. */
export async function registerClients({ storage, jwt }: Library): Promise<void> {
  for (const client of Object.values(CLIENTS)) await register(jwt, storage.clients, client);
}

/** Registers a person. @returns their `sub` */
export async function registerPerson(cluster: Cluster, name: string): Promise<string> {
  const added = await cluster.command(
    ['user', 'add', name, '--password-stdin', '--json', '--claim', `name=${name}`],
    'correct horse battery',
  );
  return (JSON.parse(added) as { user: { sub: string } }).user.sub;
}
