import {
  namedStatements,
  type PostgresConnections,
  type PostgresStatement,
  rowsOf,
} from '@grantd/core/postgres';
import { askStorage } from './ask_storage.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

/**
 * The program's tables beside the library's in the schema `grantd`.
 * @param requireSameTables rejects once a newer program has migrated them
 */
export function postgresProgramTables(
  connections: PostgresConnections,
  requireSameTables: () => Promise<void>,
): ProgramTables {
  const named = new Map<string, Promise<PostgresStatement>>();

  const statementOf = (sql: string): Promise<PostgresStatement> => {
    const known = named.get(sql);
    if (known !== undefined) return known;
    const statement = namedStatements({ sql }).then((statements) => statements.sql);
    named.set(sql, statement);
    return statement;
  };

  return {
    read: async (sql, ...values) => {
      const statement = await statementOf(sql);
      await askStorage(requireSameTables);
      return rowsOf<TableRow>(await askStorage(() => connections.read([statement, ...values])));
    },
    write: async (...calls) => {
      const statements = await Promise.all(
        calls.map(async ([sql, ...values]) => [await statementOf(sql), ...values] as const),
      );
      await askStorage(requireSameTables);
      return (await askStorage(() => connections.write(statements))).map((result) =>
        rowsOf<TableRow>(result),
      );
    },
  };
}
