import type { PostgresClient, PostgresNotice } from './pool.ts';

/** SQLSTATE of warnings, and of interventions by an operator. */
const WARNING = /^(01|57)/;

/**
 * Does a write, and rejects where the server warned meanwhile: that a commit "might not have been replicated" is said
 * in a warning beside its success, when the wait for a synchronous standby was cut short.
 */
export async function watched<T>(client: PostgresClient, write: () => Promise<T>): Promise<T> {
  let warning: PostgresNotice | undefined;
  const onNotice = (notice: PostgresNotice) => {
    if (WARNING.test(notice.code ?? '')) warning ??= notice;
  };
  client.on('notice', onNotice);
  try {
    const result = await write();
    if (warning !== undefined) throw new Error(`PostgreSQL warned during a write: ${warning.message}`);
    return result;
  } finally {
    client.off('notice', onNotice);
  }
}
