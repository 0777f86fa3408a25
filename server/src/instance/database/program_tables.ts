/** A statement with the values of its parameters, `$1` first. */
export type TableCall = readonly [sql: string, ...values: readonly (string | number | null)[]];

export type TableRow = Readonly<Record<string, unknown>>;

/**
 * The program's own tables, on whichever database: in statements that SQLite and PostgreSQL read alike, with tables as
 * `grantd.NAME`. Every method rejects with a `StorageFault` where the database cannot be asked, or where nobody knows
 * whether something was written.
 */
export interface ProgramTables {
  /** The rows of a statement that only reads. */
  read(...call: TableCall): Promise<readonly TableRow[]>;
  /** Statements as one transaction, in this order. @returns for each what it says it is `RETURNING`, once it is durable */
  write(...calls: readonly TableCall[]): Promise<readonly (readonly TableRow[])[]>;
}
