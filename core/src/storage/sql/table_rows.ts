/** Rows of one table on their way from one database to another; tables and columns have the same names in each. */
export interface TableRows {
  readonly table: string;
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
}

/** The store's own tables, each after those that it refers to. */
export const TABLES = [
  'issuers',
  'clients',
  'redirect_origins',
  'api_scopes',
  'principals',
  'grants',
  'tokens',
  'authorization_codes',
  'signing_keys',
  'one_time_identifiers',
  'pushed_requests',
  'events',
] as const;
