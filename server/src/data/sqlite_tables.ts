import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { EventOrigin } from '@grantd/core';
import { canUse } from '@grantd/core/internal/storage/migrations';
import { openSqliteConnection } from '@grantd/core/internal/storage/sqlite/connection';
import { inTransaction, rowMaker } from '@grantd/core/internal/storage/sqlite/queues';
import { usableState } from '@grantd/core/internal/storage/sqlite/schema';
import { PARAMETER } from '@grantd/core/internal/storage/statements';
import {
  type MigrationDirection,
  migrateTables,
  type SqliteConnection,
  type SqliteTables,
} from '@grantd/core/sqlite';
import { originOf } from '../log/log.ts';
import { ConditionBroken, conditionsNow, type WriteCondition } from './conditions.ts';
import { SQLITE_MIGRATIONS } from './program_migrations.ts';
import {
  actorOf,
  cachedReads,
  factsOf,
  isRecorded,
  originOfAct,
  ProgramTables,
  type RecordedCall,
  type Statement,
  type TableCall,
  type TableRow,
} from './tables.ts';

/**
 * Overwrites deleted user data, also in freed pages. Not for the tables of the library: sweeping expired tokens would write
 * each freed page.
 */
function overwritingDeleted<T>(database: DatabaseSync, work: () => T): T {
  // Takes effect when SQLite compiles it, so a prepared statement would change nothing.
  database.exec('PRAGMA secure_delete = ON');
  try {
    return work();
  } finally {
    database.exec('PRAGMA secure_delete = OFF');
  }
}

/**
 * Opens a connection for marks of the program in a file that the library’s store has created.
 * @throws {Error} the file does not exist, was written by a newer program, or cannot be made durable
 */
export function openSqliteTables(path: string): DatabaseSync {
  const database = openSqliteConnection(path);
  try {
    if (!canUse(usableState(database, path, SQLITE_PROGRAM_TABLES), SQLITE_MIGRATIONS))
      inTransaction(database, () => migrateProgramTables(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Call it inside a write transaction, so that only one of several starting processes migrates. */
export function migrateProgramTables(
  database: DatabaseSync,
  path: string,
  direction?: MigrationDirection,
): void {
  database.exec('CREATE TABLE IF NOT EXISTS program_schema (version INTEGER NOT NULL) STRICT');
  overwritingDeleted(database, () => migrateTables(database, path, SQLITE_PROGRAM_TABLES, direction));
}

/** The program’s tables, next to the library’s. */
export const SQLITE_PROGRAM_TABLES: SqliteTables = {
  version: 'SELECT version AS user_version FROM program_schema',
  stateIn(database) {
    const numberIn = (table: string): unknown =>
      database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) &&
      database.prepare(`SELECT version FROM ${table}`).get()?.version;
    const version = Number(numberIn('program_schema') ?? 0);
    return { version, floor: Number(numberIn('program_schema_floor') ?? version) };
  },
  store(database, { version, floor }) {
    for (const [table, value] of [
      ['program_schema', version],
      ['program_schema_floor', floor],
    ] as const) {
      database.exec(`DELETE FROM ${table}`);
      database.prepare(`INSERT INTO ${table} (version) VALUES (?)`).run(value);
    }
  },
  migrations: SQLITE_MIGRATIONS,
};

/** A prepared statement, which takes the values of a `TableCall`. */
type PreparedCall = (values: readonly SQLInputValue[]) => readonly TableRow[];

/**
 * The program’s tables, over the connection of the library’s store (ADR 115).
 * @param origin where changes come from
 */
export function sqliteProgramTables(
  { database, reads, transaction, addEvent }: SqliteConnection,
  issuer: string,
  origin = originOf(undefined),
): { readonly tables: ProgramTables; requireConditions(conditions: readonly WriteCondition[]): void } {
  const prepared = new Map<string, PreparedCall>();

  const statementOf = ({ sql, places }: Statement): PreparedCall => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    // Bound by position, as in the library.
    const text = sql.replaceAll('grantd.', '').replaceAll(' COLLATE "C"', '');
    const statement = database.prepare(text.replaceAll(PARAMETER, '?'));
    const toRow = rowMaker(statement);
    const call: PreparedCall = (values) => {
      const bound = places.map((at) => (at < 0 ? issuer : (values[at] as SQLInputValue)));
      return statement.all(...bound).map(toRow) as TableRow[];
    };
    prepared.set(sql, call);
    return call;
  };
  const run = (call: TableCall): readonly TableRow[] => statementOf(call)(call.values);

  const runAndRecord = ({ call, acts }: RecordedCall, cause: EventOrigin): readonly TableRow[] => {
    const rows = run(call);
    for (const act of acts) {
      const isOfEach = [act.target, act.subject, act.reason].some((value) => typeof value === 'object');
      for (const row of isOfEach ? rows : rows.slice(0, 1)) {
        const facts = factsOf(act, row);
        const { actor, ...others } = originOfAct(act, cause);
        addEvent(act.type, facts, { ...others, actor: actorOf(actor, facts.subject) });
      }
    }
    return rows;
  };

  // SQLite has one writer at a time, so the lock of a condition is the transaction itself.
  const requireConditions = (conditions: readonly WriteCondition[]): void => {
    if (conditions.some(({ breach }) => run(breach).length > 0)) throw new ConditionBroken();
    for (const { writes = [] } of conditions)
      for (const { change, cause } of writes) runAndRecord(change, cause);
  };

  const tables = new ProgramTables({
    list: cachedReads(reads, run),
    write(...calls) {
      // Not inside the transaction, which runs in the context of the queue.
      const [cause, conditions] = [origin(), conditionsNow()];
      return transaction(() =>
        overwritingDeleted(database, () => {
          if (conditions !== undefined) requireConditions(conditions);
          return calls.map((call) => (isRecorded(call) ? runAndRecord(call, cause) : run(call)));
        }),
      );
    },
  });
  return {
    tables,
    // In a transaction of the library, which leaves what it deletes.
    requireConditions: (conditions) => overwritingDeleted(database, () => requireConditions(conditions)),
  };
}
