import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The schema of the store, and of the program. */
const FILES = ['core/src/storage/sqlite/schema.ts', 'server/src/data/program_migrations.ts'] as const;

/**
 * Equal for two versions of grantd whose databases have the same tables.
 * @param root of its repository
 * @returns `undefined` if that version has its schema in other files
 */
export function schemaOf(root: string): string | undefined {
  const files = FILES.map((file) => join(root, file));
  if (!files.every((file) => existsSync(file))) return undefined;
  const digest = createHash('sha256');
  for (const file of files) digest.update(readFileSync(file));
  return digest.digest('hex');
}
