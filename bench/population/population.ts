import { createHash, randomInt } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { secretFileOf } from '../../server/src/data/secrets.ts';
import { BENCH_CLIENTS } from './clients.ts';
import { kindsOf, type PopulationOrder, type TokenKind } from './order.ts';
import { LIFETIME, populate } from './populate.ts';
import { schemaOf } from './schema.ts';

export interface Population {
  readonly order: PopulationOrder;
  /** The stored file, with its secret next to it. Copy it before you write to it. */
  readonly database: string;
  /** One token per line, in random order, per ordered kind. */
  readonly tokenFiles: Readonly<Partial<Record<TokenKind, string>>>;
}

const ROOT = join(import.meta.dirname, '..', '..');

/** Raise it when `populate` creates other rows or tokens. */
const VERSION = 4;

/**
 * The stored population for an order, created if it is missing or too old.
 * @param onProgress called with the progress
 */
export async function population(
  order: PopulationOrder,
  onProgress: (text: string) => void = () => {},
): Promise<Population> {
  const folder = join(cacheFolder(), nameOf(order));
  const found = populationIn(folder, order);
  if (isFresh(folder)) return found;
  rmSync(folder, { recursive: true, force: true });
  // It gets its final name when it is complete.
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  const removeDraft = () => rmSync(draft, { recursive: true, force: true });
  process.once('exit', removeDraft);
  try {
    const drafted = populationIn(draft, order);
    await populate(drafted.database, order, { fileOf: (kind) => tokenFileOf(drafted, kind), onProgress });
    for (const file of Object.values(drafted.tokenFiles)) shuffleLines(file);
    flush(drafted.database);
    writeFileSync(join(draft, 'made.json'), JSON.stringify({ ...order, madeAtMs: Date.now() }));
    renameSync(draft, folder);
  } finally {
    process.off('exit', removeDraft);
    removeDraft();
  }
  return found;
}

/**
 * Copies a population's database and secret, sharing blocks if the file system can.
 * @param folder created if missing
 * @returns the path of the copy
 */
export function copyPopulation({ database }: Population, folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const copy = databaseIn(folder);
  copySqlite(database, copy);
  copyFileSync(secretFileOf(database), secretFileOf(copy), constants.COPYFILE_FICLONE);
  return copy;
}

/** Copies a database that no process has open, over one that no process has open any more. */
export function copySqlite(database: string, copy: string): void {
  for (const remains of [`${copy}-wal`, `${copy}-shm`]) rmSync(remains, { force: true });
  copyFileSync(database, copy, constants.COPYFILE_FICLONE);
  flush(copy);
}

/** Writes a file to the disk. Otherwise the next commits of the server would wait until the system does so. */
function flush(path: string): void {
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}

/** Path of the database that `copyPopulation` creates. */
export function databaseIn(folder: string): string {
  return join(folder, 'grantd.db');
}

/** @throws Error if the kind was not ordered */
export function tokenFileOf({ tokenFiles }: Population, kind: TokenKind): string {
  const file = tokenFiles[kind];
  if (file === undefined) throw new Error(`no tokens of the kind ${kind} were ordered`);
  return file;
}

function populationIn(folder: string, order: PopulationOrder): Population {
  const files = kindsOf(order).map(([kind]) => [kind, join(folder, `${kind}.txt`)]);
  return { order, database: databaseIn(folder), tokenFiles: Object.fromEntries(files) };
}

function cacheFolder(): string {
  return join(tmpdir(), `grantd-bench-population-${process.getuid?.() ?? 'of-this-user'}`);
}

function nameOf(order: PopulationOrder): string {
  const contents = { VERSION, schema: schemaOf(ROOT), LIFETIME, BENCH_CLIENTS };
  const text = JSON.stringify([contents, order.records, kindsOf(order)]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Half of the lifetime is left. */
function isFresh(folder: string): boolean {
  const file = join(folder, 'made.json');
  if (!existsSync(file)) return false;
  const { madeAtMs } = JSON.parse(readFileSync(file, 'utf8')) as { madeAtMs: number };
  return Date.now() - madeAtMs < (LIFETIME / 2) * 1000;
}

/** Shuffled, so that tokens of consecutive requests are not adjacent in the database. */
function shuffleLines(file: string): void {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  for (let index = lines.length - 1; index > 0; index--) {
    const other = randomInt(index + 1);
    [lines[index], lines[other]] = [lines[other] ?? '', lines[index] ?? ''];
  }
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600, flush: true });
}
