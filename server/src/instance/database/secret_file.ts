import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '@grantd/core/sqlite';
import { Refused } from '../refused.ts';

/** Named after its database, so that each one of a folder has its own. */
export function secretFileOf(database: string): string {
  return `${database}.secret`;
}

/**
 * The server's secret beside a database, or several, the newest first; `undefined` where there is none.
 * @param user who runs the program; `undefined` where the system has no such numbers, and no modes either
 * @throws {Refused} it cannot be read, is no regular file or too short, or others may have read or written it
 */
export function readSecretFile(database: string, user = process.getuid?.()): readonly string[] | undefined {
  const path = secretFileOf(database);
  const file = openOrRefuse(path);
  if (file === undefined) return undefined;
  try {
    // Of the opened file, not of the path, which can lead to another one meanwhile.
    const status = fstatSync(file);
    if (!status.isFile()) throw new Refused(`the server's secret ${path} is no regular file`);
    if (user !== undefined) requirePrivate(path, status, user);
    return secretsIn(readFileSync(file, 'utf8').trim(), path);
  } finally {
    closeSync(file);
  }
}

/** The file has the form of the variable: one secret, or a JSON array of them. */
function secretsIn(content: string, path: string): readonly string[] {
  const secrets = content.startsWith('[') ? parsed(content) : [content];
  if (isListOfSecrets(secrets)) return secrets;
  throw new Refused(
    `${path}: expected a secret of at least 32 characters, or a JSON array of them, the newest first`,
  );
}

function isListOfSecrets(value: unknown): value is readonly string[] {
  const isSecret = (one: unknown) => typeof one === 'string' && one.length >= 32;
  return Array.isArray(value) && value.length > 0 && value.every(isSecret);
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
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
export function createSecretFile(database: string): readonly string[] {
  const path = secretFileOf(database);
  makeFolder(dirname(path));
  // A link appears with its whole content or not at all, and never replaces a file.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${newSecret()}\n`, {
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

/** A secret of 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Changes the secrets beside a database in one step: the file has its whole former or its whole new content, also after
 * a crash, and of two processes that change it at once one is refused.
 * @param change what the secrets are to be, from what they are
 * @throws {Refused} there is no such file, it cannot be used or written, or somebody else is changing it
 */
export function changeSecretFile(
  database: string,
  change: (secrets: readonly string[]) => readonly string[],
): void {
  const path = secretFileOf(database);
  const draft = `${path}.new`;
  const file = lockByDraft(draft, path);
  try {
    const secrets = readSecretFile(database);
    if (secrets === undefined) throw new Refused(`the server's secret ${path} is missing`);
    const [only, ...others] = change(secrets);
    writeFileSync(file, others.length === 0 ? `${only}\n` : `${JSON.stringify([only, ...others])}\n`);
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft);
    throw error;
  } finally {
    closeSync(file);
  }
  syncFolder(dirname(path));
}

/** Who has made the draft may replace the file. */
function lockByDraft(draft: string, path: string): number {
  try {
    return openSync(draft, 'wx', 0o600);
  } catch (error) {
    if (isErrno(error, 'EEXIST'))
      throw new Refused(
        `${draft} exists: another command is changing ${path}, or was interrupted. Remove it if no command runs.`,
      );
    throw new Refused(`the server's secret ${path} cannot be changed: ${errnoOf(error)}`, { cause: error });
  }
}

/** Makes the new name durable. Windows has no such operation. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function isErrno(error: unknown, code: string): boolean {
  return errnoOf(error) === code;
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
