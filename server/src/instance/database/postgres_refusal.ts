import type { Pool } from 'pg';
import { Refused } from '../refused.ts';
import type { PostgresAddress } from './postgres_pool.ts';

const CHECK_ADDRESS = 'check that it runs there, and that the URL names it';
const CHECK_PASSWORD = 'check the password, in PGPASSWORD or in the URL';

/** What to do about a system's error, and about an SQLSTATE by which PostgreSQL says what is wrong with a newcomer. */
const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED: CHECK_ADDRESS,
  EHOSTUNREACH: CHECK_ADDRESS,
  ENETUNREACH: CHECK_ADDRESS,
  ENOENT: CHECK_ADDRESS,
  ENOTFOUND: CHECK_ADDRESS,
  ETIMEDOUT: CHECK_ADDRESS,
  '28000': 'name a user whom it lets in from here',
  '28P01': CHECK_PASSWORD,
  '3D000': 'make the database first (createdb)',
  '53300': 'let it have more connections, or grantd fewer (--database-connections)',
  '57P03': 'try again once it has started',
};

/** What the driver says by itself has no code. */
const REMEDIES_BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/password/, CHECK_PASSWORD],
  [/timeout/, CHECK_ADDRESS],
];

/** @throws {Refused} no connection comes about */
export function requireConnection(pool: Pool, address: PostgresAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    // Given back at once: nobody would hear that it is lost while a promise for it is on its way.
    pool.connect((error, client) => {
      client?.release();
      if (error === undefined) resolve();
      else reject(noConnection(address, error));
    });
  });
}

/** SQLSTATE of a table or column that does not exist. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '42703']);

/** @throws {Refused} a table or column is missing that grantd made */
export async function asDatabase<T>({ name }: PostgresAddress, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reasons = error instanceof Error ? [error, error.cause] : [];
    const missing = reasons.find((reason) => MISSING.has(codeOf(reason)));
    if (missing === undefined) throw error;
    throw new Refused(
      `${name} lacks a part of the tables that grantd made (${messageOf(missing)}): restore the database from a backup.`,
    );
  }
}

/** Why no connection came about, in one line with the host, the port and the code. */
function noConnection({ name, host, port }: PostgresAddress, error: unknown): Refused {
  const [code, message] = [codeOf(error), messageOf(error)];
  const remedy = REMEDIES[code ?? ''] ?? REMEDIES_BY_MESSAGE.find(([said]) => said.test(message))?.[1];
  const reason = code === undefined ? message : `${code}, ${message}`;
  const advice = remedy === undefined ? '' : `; ${remedy}`;
  return new Refused(`no connection to ${name} (host ${host}, port ${port}): ${reason}${advice}.`);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && error.code !== undefined ? `${error.code}` : undefined;
}

/** Of several addresses of a host that were all tried in vain, the last one's. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return messageOf(error.errors.at(-1));
  return error instanceof Error ? error.message : String(error);
}
