// Opens files of users, and standard input.
import { createReadStream } from 'node:fs';
import { decoded, usersIn } from '../admin/user_files.ts';
import { typedPath } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { ConvertOptions } from '../people/exports/conversion.ts';
import type { ImportFormat } from '../people/exports/formats.ts';
import type { NumberedLine } from '../people/import.ts';

interface Source {
  /** A path, or `-` for standard input. */
  readonly file: string;
  readonly format: ImportFormat;
  readonly fromLine: number;
  readonly options: ConvertOptions;
}

/**
 * The users of a file, with the number of their line, row or place in a list.
 * @throws {Refused} the file cannot be read, or is not in the format
 */
export async function* usersOf(source: Source): AsyncGenerator<NumberedLine> {
  try {
    const { file, format, options, fromLine } = source;
    const open = await opening(file, format === 'keycloak');
    for await (const item of usersIn(open, format, options)) if (item.line >= fromLine) yield item;
  } catch (error) {
    if (error instanceof Refused) throw new Refused(`${source.file}: ${error.message}`);
    throw error;
  }
}

/** Bytes of standard input, if it has to be read twice. */
const MAX_KEPT = 512 * 1024 * 1024;

/** @returns a function that reads the file from its begin. Standard input is kept if it is read more than once */
async function opening(file: string, isReadTwice: boolean): Promise<() => AsyncGenerator<string>> {
  if (file !== '-') return () => decoded(bytesOf(file));
  const first: Buffer[] = [];
  const input = process.stdin[Symbol.asyncIterator]();
  let size = 0;
  for (;;) {
    const { done, value } = await input.next();
    if (done) return () => decoded(first);
    const part = Buffer.from(value);
    first.push(part);
    size += part.length;
    if (size > MAX_KEPT)
      throw new Refused(`expected at most ${MAX_KEPT} bytes in standard input: name the file instead.`);
    if (!isReadTwice && Buffer.concat(first).toString().trim() !== '') break;
  }
  // The first bytes say what the input is.
  return () => decoded(rest(first, input));
}

async function* rest(first: readonly Buffer[], input: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (let next = await input.next(); !next.done; next = await input.next()) yield Buffer.from(next.value);
}

async function* bytesOf(file: string): AsyncGenerator<Buffer> {
  const stream = createReadStream(typedPath(process.env, file));
  try {
    yield* stream;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new Refused(`the file cannot be read (${error.message}): choose another file.`);
  } finally {
    stream.destroy();
  }
}
