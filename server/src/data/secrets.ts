import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { ServerSecret } from '@grantd/core';
import { makeFolder } from '@grantd/core/internal/storage/sqlite/connection';
import { readPrivateText } from '../config/private_file.ts';
import { ConfigurationRefused, FileRefused, Refused } from '../config/refused.ts';
import { type ProgramTables, recorded, statements } from './tables.ts';

/** The program’s uses of the server’s secret, in addition to the library’s. Each use has its own key. */
export type ProgramSecretUse =
  | 'answered_form'
  | 'api_request'
  | 'audit_seal'
  | 'configuration'
  | 'console_token'
  | 'email_code'
  | 'ending_key'
  | 'follower_pass'
  | 'form_token'
  | 'known_browser'
  | 'mail'
  | 'notice'
  | 'pairwise_secret'
  | 'passkey_challenge'
  | 'personal_token'
  | 'pending_request'
  | 'recovery_code'
  | 'requested_code'
  | 'second_step'
  | 'sign_in_attempt'
  | 'totp_secret'
  | 'upstream';

/** The server’s secret with the program’s uses. */
export type ProgramSecret = ServerSecret<ProgramSecretUse>;

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a text so that it can neither be read nor changed without the key. Nonces are random; NIST SP 800-38D §8.3
 * allows four billion per key.
 * @param key 256 bits, for one use only
 * @param boundTo context that must be the same for `unseal`, so that a sealed value cannot be moved elsewhere
 */
export function seal(key: Uint8Array, text: string, boundTo = ''): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(boundTo));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** @returns `undefined` if the text was sealed with another key or another `boundTo` */
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
    // The tag does not match, which is the only way that `final` can fail.
    return undefined;
  }
}

/**
 * Stores an issuer’s pairwise secret, sealed. It is in the database, because it must be the same in every process and
 * never change. Every method rejects with a `StorageFault` if the database does not answer.
 */
export interface StoredPairwiseSecret {
  get(): Promise<string | undefined>;
  /** Stores the secret if there is none. The first of several processes wins. */
  add(sealed: string): Promise<void>;
  /** Replaces the sealed form, unless another process has already replaced it. */
  replace(sealed: string, replacement: string): Promise<void>;
}

/**
 * An issuer’s pairwise secret, created at first use. It is sealed under the first server secret and resealed when that
 * changes, so an old server secret can be dropped after a start with both. It is bound to the issuer, so that another
 * issuer’s secret cannot replace it.
 * @throws {Refused} it was sealed under a server secret that is no longer in the list
 */
export async function pairwiseSecretOf(
  kept: StoredPairwiseSecret,
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
    'the secret of pairwise subject identifiers was encrypted with another server secret: add that secret to the array ' +
      'in GRANTD_SECRET, after the new one. Without it, every such identifier would change.',
  );
}

/**
 * The index of the server secret under which the pairwise secret is sealed; `undefined` if there is no pairwise secret,
 * `-1` if that server secret is not in the list.
 */
export async function sealOfPairwiseSecret(
  kept: Pick<StoredPairwiseSecret, 'get'>,
  secret: ProgramSecret,
  issuer: string,
): Promise<number | undefined> {
  const sealed = await kept.get();
  if (sealed === undefined) return undefined;
  const keys = await secret.keys('pairwise_secret');
  return keys.findIndex((key) => unseal(key, sealed, issuer) !== undefined);
}

async function makeOne(kept: StoredPairwiseSecret, key: Uint8Array, issuer: string): Promise<string> {
  await kept.add(seal(key, randomBytes(32).toString('base64url'), issuer));
  const sealed = await kept.get();
  if (sealed === undefined) throw new Error('the secret of pairwise subject identifiers is not kept');
  return sealed;
}

const SQL = statements({
  get: 'SELECT sealed FROM grantd.pairwise_secrets WHERE issuer = :issuer',
  add: `
    INSERT INTO grantd.pairwise_secrets (issuer, sealed) VALUES (:issuer, :sealed)
    ON CONFLICT DO NOTHING RETURNING issuer`,
  replace:
    'UPDATE grantd.pairwise_secrets SET sealed = :replacement WHERE issuer = :issuer AND sealed = :sealed',
});

export function pairwiseSecretTable(tables: ProgramTables): StoredPairwiseSecret {
  return {
    get: () => tables.first(SQL.get(), ({ sealed }) => String(sealed)),
    add: (sealed) => tables.run(recorded(SQL.add({ sealed }), { type: 'pairwise_secret_made', target: '' })),
    replace: (sealed, replacement) => tables.run(SQL.replace({ sealed, replacement })),
  };
}

/** Named after its database, so that several databases can share a folder. */
export function secretFileOf(database: string): string {
  return `${database}.secret`;
}

/**
 * Reads the server’s secret next to a database: one or several, newest first. `undefined` if there is no file.
 * @throws {ConfigurationRefused} the file is unreadable, not a regular file or not private
 * @throws {Refused} the secret is too short
 */
export function readSecretFile(database: string): readonly string[] | undefined {
  const path = secretFileOf(database);
  try {
    return secretsIn(readPrivateText(path, 'the server’s secret').trim(), path);
  } catch (error) {
    if (error instanceof ConfigurationRefused && isErrno(error.cause, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The file has the same form as the variable: one secret, or a JSON array. */
function secretsIn(content: string, path: string): readonly string[] {
  const secrets = content.startsWith('[') ? parsed(content) : [content];
  if (isListOfSecrets(secrets)) return secrets;
  throw new Refused(
    `${path}: expected a secret of at least 32 characters, or a JSON array of such secrets, newest first`,
  );
}

/** The content of a file with the server’s secret. */
export function secretText(secrets: readonly string[]): string {
  return `${secrets.length === 1 ? secrets[0] : JSON.stringify(secrets)}\n`;
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

/**
 * Creates the secret of a new or restored database, readable only by its owner. If two processes try, both get the first
 * one’s secret.
 */
export function createSecretFile(
  database: string,
  secrets = [newSecret()] as readonly string[],
): readonly string[] {
  const path = secretFileOf(database);
  makeFolder(dirname(path));
  // A link appears atomically with its whole content and never replaces a file.
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, secretText(secrets), {
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
 * Changes the secrets next to a database atomically: even after a crash, the file has its complete old or new content.
 * Of two concurrent changes, one fails.
 * @param change maps the current secrets to the new secrets
 * @throws {Refused} there is no file, it cannot be used or written, or another command is changing it
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
    if (secrets === undefined) throw new FileRefused(['file_missing', path]);
    writeFileSync(file, secretText(change(secrets)));
    fsyncSync(file);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft);
    throw asFileRefused(error, path);
  } finally {
    closeSync(file);
  }
  syncFolder(dirname(path));
}

/** The draft file serves as the lock. */
function lockByDraft(draft: string, path: string): number {
  try {
    return openSync(draft, 'wx', 0o600);
  } catch (error) {
    if (isErrno(error, 'EEXIST')) throw new FileRefused(['file_busy', draft, path]);
    throw asFileRefused(error, path);
  }
}

/** Errors of the file system, such as a full disk. Others stay as they are. */
function asFileRefused(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const code = errnoOf(error);
  const options = { cause: error };
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return new FileRefused(['file_denied', path], options);
  if (['ENOSPC', 'EDQUOT'].includes(code)) return new FileRefused(['file_without_space', path], options);
  return new FileRefused(['file_unwritable', path, code], options);
}

/** Makes the rename durable. Windows has no such operation. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return errnoOf(error) === code;
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
