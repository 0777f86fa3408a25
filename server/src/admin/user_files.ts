// Files of users: exports of grantd and of other programs, read piece by piece.
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { usersOfAuthelia } from '../people/exports/authelia.ts';
import type { ConvertOptions } from '../people/exports/conversion.ts';
import { csvRows } from '../people/exports/csv_rows.ts';
import { convertUser, formatOf, type ImportFormat } from '../people/exports/formats.ts';
import { jsonElements, MAX_ELEMENT } from '../people/exports/json_elements.ts';
import { providersOfRealm } from '../people/exports/keycloak.ts';
import type { NumberedLine } from '../people/import.ts';
import { ImportFault, ImportFileRefused } from '../people/import_faults.ts';
import { MAX_LINE, readLine } from './user_lines.ts';

/**
 * The users of a file, with the number of their line, row or place in a list.
 * @param open reads the file from its begin
 * @throws {Refused} the file is not in the format
 */
export async function* usersIn(
  open: () => AsyncIterable<string>,
  format: ImportFormat,
  options: ConvertOptions,
): AsyncGenerator<NumberedLine> {
  const { form, columns } = formatOf(format);
  if (form === 'yaml') {
    yield* converted(await yamlUsers(open()), format, options);
    return;
  }
  const begin = form === 'lines' ? '{' : await firstCharacter(open());
  if (form === 'lines' || (form === 'rows' && begin === '{')) yield* lines(open(), format, options);
  else if (begin === '[' || begin === '{') {
    const issuers = format === 'keycloak' ? await realmIssuers(open()) : undefined;
    const elements = jsonElements(open(), 'users');
    yield* converted(parsed(elements), format, { ...options, ...(issuers && { issuers }) });
  } else if (form === 'rows' || columns !== undefined) {
    yield* rows(csvRows(open()), columns, format, options);
  } else throw new ImportFileRefused('file_json', format);
}

/** What could not be read of a user. */
const UNREADABLE = Symbol('unreadable');

async function* parsed(elements: AsyncIterable<string | undefined>): AsyncGenerator<unknown> {
  for await (const element of elements) yield element === undefined ? UNREADABLE : jsonOf(element);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
}

async function* converted(
  users: AsyncIterable<unknown> | Iterable<unknown>,
  format: ImportFormat,
  options: ConvertOptions,
): AsyncGenerator<NumberedLine> {
  let line = 0;
  for await (const user of users) {
    line += 1;
    const unreadable = { reasons: [new ImportFault('element', String(MAX_ELEMENT))] };
    yield { line, read: user === UNREADABLE ? unreadable : convertUser(format, user, options) };
  }
}

async function* rows(
  all: AsyncIterable<readonly string[] | undefined>,
  known: readonly string[] | undefined,
  format: ImportFormat,
  options: ConvertOptions,
): AsyncGenerator<NumberedLine> {
  let [line, columns] = [0, known];
  for await (const row of all) {
    line += 1;
    if (columns === undefined) {
      columns = row?.map((name) => name.trim());
      if (columns === undefined || columns.every((name) => name === ''))
        throw new ImportFileRefused('file_columns');
      continue;
    }
    if (row === undefined) yield { line, read: { reasons: [new ImportFault('long', String(MAX_ELEMENT))] } };
    else {
      const names = columns;
      const cells = row.map((cell, index) => [names[index] ?? '', cell] as const);
      yield { line, read: convertUser(format, Object.fromEntries(cells), options) };
    }
  }
  if (columns === undefined) throw new ImportFileRefused('file_empty');
}

async function* lines(
  chunks: AsyncIterable<string>,
  format: ImportFormat,
  options: ConvertOptions,
): AsyncGenerator<NumberedLine> {
  let line = 0;
  for await (const content of linesIn(chunks)) {
    line += 1;
    if (content.trim() !== '') yield { line, read: readLine(content, format, options) };
  }
}

/** Lines without their ends. Keeps the begin of a line that is too long. */
async function* linesIn(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const parts = chunk.split('\n');
    for (const [index, part] of parts.entries()) {
      if (rest.length <= MAX_LINE) rest += part;
      if (index === parts.length - 1) break;
      yield rest.replace(/\r$/, '');
      rest = '';
    }
  }
  if (rest !== '') yield rest.replace(/\r$/, '');
}

async function firstCharacter(chunks: AsyncIterable<string>): Promise<string | undefined> {
  for await (const chunk of chunks) {
    const [, first] = /^\s*(\S)/.exec(chunk) ?? [];
    if (first !== undefined) return first;
  }
  return undefined;
}

/** The providers of a realm are behind its users in a file, so the file is read twice. */
async function realmIssuers(chunks: AsyncIterable<string>): Promise<ConvertOptions['issuers']> {
  const providers: unknown[] = [];
  try {
    for await (const item of parsed(jsonElements(chunks, 'identityProviders'))) providers.push(item);
  } catch (error) {
    // A file of users alone has no providers. The second reading reports other problems.
    if (!(error instanceof Refused)) throw error;
  }
  return providersOfRealm(providers);
}

/** Characters of a YAML document, which is read at once. */
const MAX_YAML = 16 * 1024 * 1024;

async function yamlUsers(chunks: AsyncIterable<string>): Promise<readonly unknown[]> {
  let content = '';
  for await (const chunk of chunks) {
    content += chunk;
    if (content.length > MAX_YAML) throw new ImportFileRefused('long', String(MAX_YAML));
  }
  const { parsedText } = await import('../config/parsed_file.ts');
  let document: unknown;
  try {
    document = parsedText(content, 'the file');
  } catch (error) {
    if (error instanceof ConfigurationRefused) throw new ImportFileRefused('file_yaml');
    throw error;
  }
  const users = usersOfAuthelia(document);
  if (users === undefined) throw new ImportFileRefused('file_users');
  return users;
}

/** Text in UTF-8 or, with a mark, in UTF-16, which redirections of older PowerShells write. */
export async function* decoded(bytes: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let begin = Buffer.alloc(0);
  for await (const part of bytes) {
    if (decoder !== undefined) {
      yield decoder.decode(part, { stream: true });
      continue;
    }
    begin = Buffer.concat([begin, part]);
    if (begin.length < 2) continue;
    decoder = decoderOf(begin);
    yield decoder.decode(begin, { stream: true });
  }
  yield decoder?.decode() ?? begin.toString('utf8');
}

function decoderOf([first, second]: Buffer): TextDecoder {
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  return new TextDecoder(first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8');
}
