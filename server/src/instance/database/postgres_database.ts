import type { MigrationAssumption } from '@grantd/core';
import {
  migratePostgres,
  openPostgresStorage,
  PostgresConnections,
  readStoredIssuer,
  requireSameTables,
} from '@grantd/core/postgres';
import { ConfigurationRefused } from '../../config/configuration_refused.ts';
import type { Database } from './database.ts';
import { reportAssumptions, reportSharedNames } from './migration_notes.ts';
import { addressOf, deadlinesOf, openPool, type PostgresLimits } from './postgres_pool.ts';
import { postgresProgramTables } from './postgres_program_tables.ts';
import { asDatabase, requireConnection } from './postgres_refusal.ts';
import { PROGRAM_TABLES } from './postgres_tables.ts';
import { programData } from './program_data.ts';

export interface PostgresDatabaseOptions extends PostgresLimits {
  /** As the library's store takes it. */
  readonly eventRetentionSeconds?: number;
  /** Is told of a connection that was lost while nobody used it. */
  readonly onConnectionLost: (error: Error) => void;
}

/**
 * A database on PostgreSQL, which any number of processes of any number of machines may share. Nothing is asked of it
 * yet.
 * @throws {Refused} the URL names what cannot be read here
 */
export function postgresDatabase(url: string, options: PostgresDatabaseOptions): Database {
  const address = addressOf(url);
  const { pool, close } = openPool(url, options, options.onConnectionLost);
  const deadlines = deadlinesOf(options);

  return {
    name: address.name,
    async storedIssuer() {
      await requireConnection(pool, address);
      return asDatabase(address, () => readStoredIssuer(pool, deadlines));
    },
    // Empty is also the wrong one, or one that was lost: nothing on this machine tells.
    doubtAboutMaking: async () =>
      'which is empty: name another with --database (after a restore, the one that was restored)',
    prepareSecret: refuseWithoutSecret,
    keptSecret: refuseWithoutSecret,
    changeKeptSecret: refuseWithoutSecret,
    open: (issuer) =>
      asDatabase(address, async () => {
        const { eventRetentionSeconds } = options;
        const assumptions: MigrationAssumption[] = [];
        const onAssumption = (assumption: MigrationAssumption) => assumptions.push(assumption);
        const storage = await openPostgresStorage({
          pool,
          issuer,
          onAssumption,
          ...deadlines,
          ...(eventRetentionSeconds !== undefined && { eventRetentionSeconds }),
        });
        await reportAssumptions(storage, assumptions);
        const connections = new PostgresConnections(pool, deadlines);
        await migratePostgres(connections, PROGRAM_TABLES);
        const tables = postgresProgramTables(connections, requireSameTables(connections, PROGRAM_TABLES));
        const data = programData(tables, issuer, storage.clients);
        reportSharedNames(await data.people.keyNames());
        return { storage, ...data };
      }),
    close,
  };
}

function refuseWithoutSecret(): never {
  throw new ConfigurationRefused(
    'GRANTD_SECRET: expected the server’s secret, which cannot be kept beside a database on PostgreSQL: the one that ' +
      'it was made with (after a copy, what is in the file PATH.secret), or for a new database what ' +
      'openssl rand -base64 32 makes; the same for every process, in GRANTD_SECRET or as "secret" in the file of --config',
  );
}
