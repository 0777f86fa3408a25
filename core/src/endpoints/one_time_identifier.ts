import { StorageFault } from '../protocol/oauth_error.ts';
import type { Context } from './context.ts';

/**
 * Takes an identifier that counts once.
 * @param expiresAt seconds until which it stays taken
 * @returns `false` where it was taken before
 * @throws {StorageFault} storage did not say
 */
export async function takeOnce({ storage }: Context, id: string, expiresAt: number): Promise<boolean> {
  if (storage.oneTimeIdentifiers === undefined)
    throw new TypeError('what counts once needs storage.oneTimeIdentifiers');
  const isTaken: unknown = await storage.oneTimeIdentifiers.take(id, expiresAt);
  if (typeof isTaken === 'boolean') return isTaken;
  throw new StorageFault(
    new TypeError('storage must answer true or false to whether an identifier is taken'),
  );
}
