import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Refused } from './refused.ts';

export function secretFileOf(database: string): string {
  return join(dirname(database), 'secret');
}

/** The server's secret beside a database; `undefined` where there is none. */
export function readSecretFile(database: string): string | undefined {
  const path = secretFileOf(database);
  let content: string;
  try {
    content = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw new Refused(`the server's secret ${path} cannot be read: ${errnoOf(error)}`, { cause: error });
  }
  if (content.length < 32) throw new Refused(`${path}: expected a secret of at least 32 characters`);
  return content;
}

/** Makes the secret of a new database, readable by its owner alone; of two processes that try, both get the first one's. */
export function createSecretFile(database: string): string {
  const path = secretFileOf(database);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A link appears with its whole content or not at all, and never replaces a file.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, {
    mode: 0o600,
    flag: 'wx',
    flush: true,
  });
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft);
  }
  const secret = readSecretFile(database);
  if (secret === undefined) throw new Error(`${path} vanished while it was made`);
  return secret;
}

function isErrno(error: unknown, code: string): boolean {
  return errnoOf(error) === code;
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
