import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
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
import type { ServerSecret } from '@grantd/core';
import { makeFolder } from '@grantd/core/sqlite';
import { Refused } from '../config/refused.ts';
import type { ProgramTables, TableRow } from './tables.ts';

/** What the program derives keys for of the server's secret, besides the library. */
export type ProgramSecretUse =
  | 'form_token'
  | 'known_browser'
  | 'notice'
  | 'pairwise_secret'
  | 'pending_request'
  | 'sign_in_attempt';

/** The server's secret in the hands of the program. */
export type ProgramSecret = ServerSecret<ProgramSecretUse>;

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A text that nobody can read or change without the key. Nonces are random; NIST SP 800-38D §8.3 allows four billion
 * of them for a key.
 * @param key 256 bits, for one use alone
 * @param boundTo what has to be the same when it is opened, so that it cannot be put elsewhere
 */
export function seal(key: Uint8Array, text: string, boundTo = ''): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(boundTo));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** @returns `undefined` where it was not sealed with this key, or for something else */
export function unseal(key: Uint8Array, sealed: string, boundTo = ''): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    // The tag does not fit: the one way in which `final` can fail.
    return undefined;
  }
}

/**
 * Where an issuer's secret of pairwise subject identifiers is kept, sealed: in its database, since it must be the same
 * in every process and for ever. Every method rejects with a `StorageFault` where the database cannot be asked.
 */
export interface KeptPairwiseSecret {
  get(): Promise<string | undefined>;
  /** Keeps one where there is none; of several processes that try, the first one's stays. */
  add(sealed: string): Promise<void>;
  /** Keeps it in another form, unless somebody else has done so meanwhile. */
  replace(sealed: string, replacement: string): Promise<void>;
}

/**
 * The secret of an issuer's pairwise subject identifiers, made the first time. It is sealed under the first of the
 * server's secrets, and sealed anew where that is another one by now: a secret of the server can be taken from the list
 * once a server has started with both. It is bound to the issuer, so that no other one's can be put in its place.
 * @throws {Refused} it was sealed under a secret that is not in the list any more
 */
export async function pairwiseSecretOf(
  kept: KeptPairwiseSecret,
  secret: ProgramSecret,
  issuer: string,
): Promise<string> {
  const [newest, ...older] = await secret.keys('pairwise_secret');
  if (newest === undefined) throw new TypeError('a server secret is never empty');
  const sealed = (await kept.get()) ?? (await makeOne(kept, newest, issuer));
  const opened = unseal(newest, sealed, issuer);
  if (opened !== undefined) return opened;
  for (const key of older) {
    const openedByOlder = unseal(key, sealed, issuer);
    if (openedByOlder === undefined) continue;
    await kept.replace(sealed, seal(newest, openedByOlder, issuer));
    return openedByOlder;
  }
  throw new Refused(
    'the secret of pairwise subject identifiers was sealed under another server secret: start with that one in the ' +
      'array of GRANTD_SECRET, behind the new one. Without it every such identifier would be another.',
  );
}

/**
 * The place in the list of the server secret that the pairwise secret is sealed under; `undefined` if none is kept, `-1`
 * if it is not in the list.
 */
export async function sealOfPairwiseSecret(
  kept: KeptPairwiseSecret,
  secret: ProgramSecret,
  issuer: string,
): Promise<number | undefined> {
  const sealed = await kept.get();
  if (sealed === undefined) return undefined;
  const keys = await secret.keys('pairwise_secret');
  return keys.findIndex((key) => unseal(key, sealed, issuer) !== undefined);
}

async function makeOne(kept: KeptPairwiseSecret, key: Uint8Array, issuer: string): Promise<string> {
  await kept.add(seal(key, randomBytes(32).toString('base64url'), issuer));
  const sealed = await kept.get();
  if (sealed === undefined) throw new Error('the secret of pairwise subject identifiers is not kept');
  return sealed;
}

const SQL = {
  get: 'SELECT sealed FROM grantd.pairwise_secrets WHERE issuer = $1',
  add: 'INSERT INTO grantd.pairwise_secrets (issuer, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  replace: 'UPDATE grantd.pairwise_secrets SET sealed = $3 WHERE issuer = $1 AND sealed = $2',
};

export function pairwiseSecretTable(tables: ProgramTables, issuer: string): KeptPairwiseSecret {
  const sealedOf = ([row]: readonly TableRow[]) => (row === undefined ? undefined : String(row.sealed));
  return {
    get: async () => sealedOf(await tables.read(SQL.get, issuer)),
    async add(sealed) {
      await tables.write([SQL.add, issuer, sealed]);
    },
    async replace(sealed, replacement) {
      await tables.write([SQL.replace, issuer, sealed, replacement]);
    },
  };
}

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
