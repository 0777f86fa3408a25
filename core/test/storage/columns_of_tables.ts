import assert from 'node:assert/strict';
import {
  AUTHORIZATION_CODES,
  CLIENTS,
  COLUMN_TYPES,
  GRANTS,
  PENDING,
  SIGNING_KEYS,
  TOKENS,
} from '../../src/storage/columns.ts';
import { GENERATIONS } from '../../src/storage/statements.ts';

interface TableColumns {
  readonly columns: Readonly<
    Record<
      string,
      { readonly name: string; readonly type: keyof typeof COLUMN_TYPES; readonly optional?: true }
    >
  >;
  /** Columns that are not members of a record. */
  readonly others: readonly string[];
}

export const COLUMNS_OF_TABLES: Readonly<Record<string, TableColumns>> = {
  tokens: { columns: TOKENS, others: GENERATIONS },
  authorization_codes: { columns: AUTHORIZATION_CODES, others: GENERATIONS },
  clients: { columns: CLIENTS, others: ['raised_at_ms', 'registered_from'] },
  grants: { columns: GRANTS, others: GENERATIONS },
  signing_keys: { columns: SIGNING_KEYS, others: ['needed_until'] },
  pending: { columns: PENDING, others: [] },
};

interface FoundColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
}

/** Checks that the migrations created exactly the columns in `columns.ts`. */
export function assertColumns(
  table: string,
  database: 'sqlite' | 'postgres',
  found: readonly FoundColumn[],
): void {
  const { columns, others } = COLUMNS_OF_TABLES[table] ?? assert.fail(`no columns are known of ${table}`);
  const stated = Object.values(columns);
  const names = ['issuer_id', ...others, ...stated.map(({ name }) => name)];
  assert.deepEqual(found.map(({ name }) => name).sort(), names.sort());
  for (const { name, type, optional } of stated) {
    const column = found.find((one) => one.name === name);
    assert.equal(column?.type, COLUMN_TYPES[type][database], `the type of ${table}.${name}`);
    if (!optional) assert.equal(column?.isNullable, false, `${table}.${name} is nullable`);
  }
}
