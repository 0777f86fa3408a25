/** PostgreSQL is not among the stores of this run. */
export const POSTGRES_ABSENCE: string | false = 'PostgreSQL is tested on the pinned Node';

export function sharedPostgres(): never {
  throw new Error(String(POSTGRES_ABSENCE));
}

export { sharedPostgres as disposableDatabase, sharedPostgres as PostgresStores };
