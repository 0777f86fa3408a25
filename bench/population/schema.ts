import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What says how the tables of the store and of the program are made. */
const FILES = [
  'core/src/storage/sql/sqlite/schema.ts',
  'server/src/instance/database/sqlite_tables.ts',
] as const;

/** The same for two versions of grantd whose databases are alike. @param root of its repository */
export function schemaOf(root: string): string {
  const digest = createHash('sha256');
  for (const file of FILES) digest.update(readFileSync(join(root, file)));
  return digest.digest('hex');
}
