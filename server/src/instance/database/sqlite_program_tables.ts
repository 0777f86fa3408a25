import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Corruption, ReadQueue, RememberedRows, WriteQueue } from '@grantd/core/sqlite';
import { askStorage } from './ask_storage.ts';
import type { ProgramTables, TableCall, TableRow } from './program_tables.ts';
import { requireSameTables } from './sqlite_tables.ts';

/** How long a write waits for those of other processes, as the library's own do. */
const BUSY_TIMEOUT_MS = 2000;

/**
 * The program's tables in a file, over the connection that it has for them.
 * @param corruption of the file, which the library's store has in common with them
 */
export function sqliteProgramTables(database: DatabaseSync, corruption = new Corruption()): ProgramTables {
  const checks = { corruption, requireSameSchema: requireSameTables(database) };
  const writes = new WriteQueue(database, BUSY_TIMEOUT_MS, checks);
  const reads = new ReadQueue(database, () => writes.commits, checks);
  const remembered = new RememberedRows<readonly TableRow[]>(reads);
  const prepared = new Map<string, StatementSync>();

  const statementOf = (sql: string): StatementSync => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    // A file has no schemas; what stands before a table's name would be another file's.
    const statement = database.prepare(sql.replaceAll('grantd.', ''));
    prepared.set(sql, statement);
    return statement;
  };
  const run = ([sql, ...values]: TableCall): readonly TableRow[] => {
    const named = Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value]));
    return statementOf(sql).all(named);
  };

  /** Lists, which may be long, are read each time; so is what is not there, under whatever name it was looked for. */
  const look = (call: TableCall): readonly TableRow[] => {
    const name = JSON.stringify(call); // texts and numbers that look alike are not the same
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const rows = run(call);
    return rows.length === 1 ? remembered.add(name, rows) : rows;
  };

  return {
    read: (...call) => askStorage(() => reads.read(() => look(call))),
    write: (...calls) => askStorage(() => writes.transaction(() => calls.map(run))),
  };
}
