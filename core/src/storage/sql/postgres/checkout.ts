import type { PostgresClient, PostgresPool } from './pool.ts';

/** A connection out of the pool, which must be given back. */
export function checkOut(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error('the pool gave no connection'));
      client.on('error', heardByItsQueries);
      resolve(client);
    });
  });
}

/** @param isSound whether others may use it; it is closed otherwise */
export function giveBack(client: PostgresClient, isSound: boolean): void {
  client.off('error', heardByItsQueries);
  client.release(!isSound);
}

/** A connection that is lost says so to its queries, and once more to whoever listens: nobody at all ends the process. */
function heardByItsQueries(): void {}
