import type { NewClient } from '@grantd/core';
import { originsOf } from '../records.ts';
import type { Redis } from './connection.ts';

/**
 * Registers a client, or replaces its registration.
 * @throws Error if a client with that identifier was removed
 */
export async function saveClient(redis: Redis, client: NewClient): Promise<void> {
  const record = JSON.stringify(client);
  await redis.run('saveClient', { id: client.id, origins: originsOf(client), record });
}

/** Removes a client for good, with all its tokens. */
export async function removeClient(redis: Redis, id: string): Promise<void> {
  await redis.run('removeClient', { id, nowText: String(Date.now()) });
}

/** Ends all tokens of a user. */
export async function signOut(redis: Redis, subject: string): Promise<void> {
  await redis.run('signOut', { id: subject });
}

/** While a user is disabled, none of their tokens is alive. */
export async function setDisabled(redis: Redis, subject: string, isDisabled: boolean): Promise<void> {
  const operation = isDisabled ? 'disablePerson' : 'enablePerson';
  await redis.run(operation, { id: subject, nowText: String(Date.now()) });
}
