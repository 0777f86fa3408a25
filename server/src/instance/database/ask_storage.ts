import { type Awaitable, StorageFault } from '@grantd/core';

/**
 * Does what asks the database, as the library does on its own ways to it.
 * @throws {StorageFault} whatever went wrong there
 */
export async function askStorage<T>(ask: () => Awaitable<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof StorageFault ? error : new StorageFault(error);
  }
}
