import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { Refused } from '../refused.ts';

/** Named after its database, so that each one of a folder has its own. */
export function secretFileOf(database: string): string {
  return `${database}.secret`;
}

/**
 * The server's secret beside a database; `undefined` where there is none.
 * @param user who runs the program; `undefined` where the system has no such numbers, and no modes either
 * @throws {Refused} it cannot be read, is no regular file or too short, or others may have read or written it
 */
export function readSecretFile(database: string, user = process.getuid?.()): string | undefined {
  const path = secretFileOf(database);
  const file = openOrRefuse(path);
  if (file === undefined) return undefined;
  try {
    // Of the opened file, not of the path, which can lead to another one meanwhile.
    const status = fstatSync(file);
    if (!status.isFile()) throw new Refused(`the server's secret ${path} is no regular file`);
    if (user !== undefined) requirePrivate(path, status, user);
    const content = readFileSync(file, 'utf8').trim();
    if (content.length < 32) throw new Refused(`${path}: expected a secret of at least 32 characters`);
    return content;
  } finally {
    closeSync(file);
  }
}

function openOrRefuse(path: string): number | undefined {
  try {
    // Without O_NONBLOCK the opening of a named pipe waits for somebody to write into it.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw new Refused(`the server's secret ${path} cannot be read: ${errnoOf(error)}`, { cause: error });
  }
}

function requirePrivate(path: string, { uid, mode }: Stats, user: number): void {
  if (uid !== user) {
    throw new Refused(
      `the server's secret ${path} belongs to the user ${uid}, but grantd runs as ${user}: run grantd as its owner, ` +
        `make it yours with chown ${user} ${path} if you know where it comes from, or set GRANTD_SECRET.`,
    );
  }
  if ((mode & 0o077) !== 0) {
    throw new Refused(
      `the server's secret ${path} is open to others (mode ${(mode & 0o777).toString(8)}): ` +
        `run chmod 600 ${path}, and replace the secret if somebody may have read it.`,
    );
  }
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
