import {
  closeSync,
  createWriteStream,
  openSync,
  type ReadStream,
  readdirSync,
  readSync,
  statSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isJsonObject } from '@grantd/core/options';
import type { Decrypter, Encrypter } from 'age-encryption';
import { type Configuration, typedPath } from '../config/configuration.ts';
import { isPassphrase, PASSPHRASE_FORM } from '../config/options.ts';
import { readPrivateText } from '../config/private_file.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';

// A backup is a tar archive in an age file (ADR 86). With `age --decrypt FILE | tar x` it can be read without grantd.

/** What a backup is sealed with. */
export type BackupLock = { readonly passphrase: string } | { readonly recipients: readonly string[] };

/** What opens a backup. */
export type BackupKey = { readonly passphrase: string } | { readonly identities: readonly string[] };

/** What a backup says about itself. */
export interface BackupManifest {
  /** Of the version of grantd that wrote it. */
  readonly program: string;
  readonly issuer: string;
  /** Milliseconds since 1970, right before the copy: everything acknowledged earlier is in it. */
  readonly takenAtMs: number;
  /** Number of the last event in it. Later events happened after the backup. */
  readonly lastEvent: number;
  /** Versions of the tables. */
  readonly schemas: { readonly library: number; readonly program: number };
  /** The lowest versions of a program that can use them. */
  readonly floors: { readonly library: number; readonly program: number };
}

/** Version of the archive’s layout. */
const FORMAT = 1;

const MANIFEST = 'manifest.json';
const SECRET = 'secret';
const DATABASE = 'grantd.db';

/** Limits what is read into memory of a file that someone else may have sealed. */
const MAX_SMALL_BYTES = 64 * 1024;

/**
 * Seals a backup into a new file, readable by its owner alone.
 * @param parts the manifest, the path of the copied database, and the server’s secrets if they are to be in it
 * @param to a file that does not exist yet
 */
export async function sealBackup(
  { manifest, database, secrets }: BackupParts,
  to: string,
  lock: BackupLock,
): Promise<void> {
  const [encrypter, { createTarPacker }] = await Promise.all([encrypterFor(lock), import('modern-tar')]);
  const { readable, controller } = createTarPacker();
  const add = async (name: string, size: number, content: ReadableStream<Uint8Array>): Promise<void> => {
    const header = { name, size, mode: 0o600, mtime: new Date(manifest.takenAtMs), type: 'file' as const };
    await content.pipeTo(controller.add(header));
  };
  const addText = (name: string, text: string): Promise<void> => {
    const blob = new Blob([text]);
    return add(name, blob.size, blob.stream());
  };
  const packed = (async () => {
    try {
      await addText(MANIFEST, `${JSON.stringify({ format: FORMAT, ...manifest }, undefined, 2)}\n`);
      if (secrets !== undefined) await addText(SECRET, `${JSON.stringify(secrets)}\n`);
      const copy = await open(database);
      const { size } = await copy.stat();
      await add(DATABASE, size, webStream(copy.createReadStream()));
      controller.finalize();
    } catch (error) {
      controller.error(error);
      throw error;
    }
  })();
  const file = createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true });
  await Promise.all([packed, pipeline(await encrypter.encrypt(readable), file)]);
}

/** The end of the name of a backup that is not finished. */
export const PARTIAL = '.partial';

/** How each file of age begins. */
const AGE = 'age-encryption.org/';

/** The backups in a folder that are not finished: their process was killed, or still runs. */
export function unfinishedIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(PARTIAL))
    .map((name) => join(folder, name))
    .filter((path) => {
      const beginning = beginningOf(path, AGE.length);
      return beginning === '' || beginning === AGE;
    });
}

function beginningOf(path: string, length: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

interface BackupParts {
  readonly manifest: BackupManifest;
  readonly database: string;
  readonly secrets?: readonly string[];
}

/** @throws {TypeError} a recipient is invalid */
export async function encrypterFor(lock: BackupLock): Promise<Encrypter> {
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if ('passphrase' in lock) encrypter.setPassphrase(lock.passphrase);
  else
    for (const recipient of lock.recipients) {
      try {
        encrypter.addRecipient(recipient);
      } catch (error) {
        throw new TypeError(`${recipient} is not the public key of an age identity`, { cause: error });
      }
    }
  return encrypter;
}

/** What a backup contains besides the database. */
export interface OpenedBackup {
  readonly manifest: BackupManifest;
  /** Absent if it was made without. */
  readonly secrets?: readonly string[];
}

/**
 * Opens a backup and writes its database to a new file, readable by its owner alone, flushed to disk.
 * @param to a file that does not exist yet
 * @param accept receives the manifest before anything is written, and throws if the backup should not be used
 * @throws {Refused} the file is missing, damaged, cut off, no backup, or sealed with another key
 */
export async function openBackup(
  path: string,
  key: BackupKey,
  to: string,
  accept: (manifest: BackupManifest) => void,
): Promise<OpenedBackup> {
  const sealed = await openOrRefuse(path);
  try {
    return await unseal(path, sealed, key, to, accept);
  } finally {
    sealed.destroy();
  }
}

async function unseal(
  path: string,
  sealed: ReadStream,
  key: BackupKey,
  to: string,
  accept: (manifest: BackupManifest) => void,
): Promise<OpenedBackup> {
  const [decrypter, { createTarDecoder }] = await Promise.all([decrypterFor(key), import('modern-tar')]);
  const archive = await decrypter.decrypt(webStream(sealed)).catch((error: unknown) => {
    throw refusedHeader(path, key, error);
  });
  let manifest: BackupManifest | undefined;
  let secrets: readonly string[] | undefined;
  let hasDatabase = false;
  try {
    for await (const { header, body } of archive.pipeThrough(createTarDecoder({ strict: true }))) {
      if (manifest === undefined) {
        manifest = header.name === MANIFEST ? manifestIn(await smallText(body, header.size)) : undefined;
        if (manifest === undefined)
          throw new Refused(`${path} is not a backup that this version of grantd can read.`);
        accept(manifest);
      } else if (header.type !== 'file')
        throw new Refused(`${path} contains a ${header.type}, which no backup contains.`);
      else if (header.name === SECRET) secrets = secretsIn(await smallText(body, header.size));
      else if (header.name === DATABASE && !hasDatabase) {
        hasDatabase = true;
        await pipeline(body, createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }));
      } else throw new Refused(`${path} contains ${JSON.stringify(header.name)}, which no backup contains.`);
    }
  } catch (error) {
    if (error instanceof Refused || isSystemError(error)) throw error;
    throw damageOf(path);
  }
  if (manifest === undefined || !hasDatabase) throw damageOf(path);
  return { manifest, ...(secrets !== undefined && { secrets }) };
}

/** Not by `openAsBlob`, which returns the size of a file modulo 4 GiB. */
function webStream(content: ReadStream): ReadableStream<Uint8Array> {
  return Readable.toWeb(content) as ReadableStream<Uint8Array>;
}

async function openOrRefuse(path: string): Promise<ReadStream> {
  try {
    if (!statSync(path).isFile()) throw new Refused(`the backup ${path} is not a regular file.`);
    return (await open(path)).createReadStream();
  } catch (error) {
    if (error instanceof Refused) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Refused(`the backup ${path} cannot be read: ${code}.`);
  }
}

async function decrypterFor(key: BackupKey): Promise<Decrypter> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  if ('passphrase' in key) decrypter.addPassphrase(key.passphrase);
  else for (const identity of key.identities) decrypter.addIdentity(identity);
  return decrypter;
}

const NO_KEY = "no identity matched any of the file's recipients";
const NO_AGE_FILE = /^invalid version/;

function refusedHeader(path: string, key: BackupKey, error: unknown): Refused {
  const message = error instanceof Error ? error.message : String(error);
  if (NO_AGE_FILE.test(message)) return new Refused(`${path} is not a backup: expected an age file.`);
  if (message !== NO_KEY) return damageOf(path);
  return new Refused(
    'passphrase' in key
      ? `the passphrase does not open ${path}: it is another one, or the backup was sealed for a key (--identity-file).`
      : `no identity opens ${path}: it was sealed for other keys, or with a passphrase (--passphrase-file).`,
  );
}

function damageOf(path: string): Refused {
  return new Refused(`${path} is damaged or cut off: use another backup.`);
}

/** An error of this machine, such as a full disk, says nothing about the backup. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

async function smallText(body: ReadableStream<Uint8Array>, bytes: number): Promise<string> {
  if (bytes > MAX_SMALL_BYTES) throw new RangeError('a small part of the archive is large');
  return new Response(body as ReadableStream).text();
}

function manifestIn(text: string): BackupManifest | undefined {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value) || value.format !== FORMAT) return undefined;
  const { program, issuer, takenAtMs, lastEvent } = value;
  const [schemas, floors] = [versionsOf(value.schemas), versionsOf(value.floors)];
  if (schemas === undefined || floors === undefined) return undefined;
  if (typeof program !== 'string' || typeof issuer !== 'string' || !URL.canParse(issuer)) return undefined;
  if (!isNumber(takenAtMs) || !isNumber(lastEvent)) return undefined;
  return { program, issuer, takenAtMs, lastEvent, schemas, floors };
}

function versionsOf(value: unknown): BackupManifest['schemas'] | undefined {
  if (!isJsonObject(value) || !isNumber(value.library) || !isNumber(value.program)) return undefined;
  return { library: value.library, program: value.program };
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function secretsIn(text: string): readonly string[] {
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string'))
    return value;
  throw new TypeError('expected secrets');
}

/**
 * How the options and flags seal a backup.
 * @throws {ConfigurationRefused} they name none or two ways, or one that cannot be used
 */
export async function lockOf(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): Promise<BackupLock> {
  const { backupRecipients: recipients = [] } = settings;
  const passphrase = passphraseOf({ settings, sourceOf }, environment);
  if (recipients.length > 0 && passphrase !== undefined)
    throw new ConfigurationRefused(
      `${sourceOf('backupRecipients')}: expected either public keys or a passphrase, not both`,
    );
  if (passphrase !== undefined) return { passphrase };
  if (recipients.length === 0)
    throw new ConfigurationRefused(
      'a backup contains secrets, so it is sealed: expected --backup-recipients age1… (grantd backup new-key makes a key), ' +
        '--backup-passphrase-file FILE or GRANTD_BACKUP_PASSPHRASE',
    );
  try {
    await encrypterFor({ recipients });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigurationRefused(`${sourceOf('backupRecipients')}: ${error.message}`);
  }
  return { recipients };
}

/**
 * The passphrase of the options: from the file, else the value itself.
 * @throws {ConfigurationRefused} the file cannot be used
 */
export function passphraseOf(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const { backupPassphraseFile: file, backupPassphrase } = settings;
  if (file === undefined) return backupPassphrase;
  return readPassphrase(typedPath(environment, file), sourceOf('backupPassphraseFile'));
}

/**
 * Reads a file with a passphrase.
 * @param source the option or flag that names the file
 * @throws {ConfigurationRefused} the file cannot be used
 */
export function readPassphrase(path: string, source: string): string {
  const text = readPrivateText(path, source);
  if (isPassphrase(text)) return text;
  throw new ConfigurationRefused(`${source}: ${path}: expected ${PASSPHRASE_FORM}`);
}

/**
 * The secret keys in an age identity file, which has one per line and comments.
 * @throws {ConfigurationRefused} the file cannot be used
 */
export function identitiesIn(path: string): readonly string[] {
  const lines = readPrivateText(path, '--identity-file')
    .split('\n')
    .map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length === 0 || !identities.every((line) => line.startsWith('AGE-SECRET-KEY-')))
    throw new ConfigurationRefused(
      `--identity-file: ${path}: expected age identities, one line AGE-SECRET-KEY-… each`,
    );
  return identities;
}

/** A new key pair for backups: the secret identity, and the recipient, which is public. */
export async function newIdentity(): Promise<{ readonly identity: string; readonly recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption');
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}
