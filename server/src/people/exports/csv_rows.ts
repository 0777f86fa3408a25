import { ImportFileRefused } from '../import_faults.ts';
import { MAX_ELEMENT } from './json_elements.ts';

/**
 * The rows of a CSV file, one at a time. Fields are separated by the sign that the first line has most of: comma,
 * semicolon or tab. A quotation mark inside of a quoted field need not be doubled, because some programs do not.
 * @returns `undefined` for a row that is too long
 * @throws {Refused} a quoted field does not end
 */
export async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<readonly string[] | undefined> {
  const reader = new RowReader();
  for await (const chunk of chunks) yield* reader.read(chunk);
  yield* reader.end();
}

const SEPARATORS = [',', ';', '\t'] as const;

class RowReader {
  #separator: string | undefined;
  /** What was read before the separator is known. */
  #begin = '';
  #fields: string[] = [];
  #field = '';
  #length = 0;
  #isQuoted = false;
  /** Whether the last character was a quotation mark in a quoted field. */
  #isMark = false;

  *read(chunk: string): Generator<readonly string[] | undefined> {
    if (this.#separator !== undefined) {
      yield* this.#readAll(chunk);
      return;
    }
    this.#begin += chunk;
    if (/[\r\n]/.test(this.#begin) || this.#begin.length > MAX_ELEMENT) yield* this.#start();
  }

  *end(): Generator<readonly string[] | undefined> {
    if (this.#separator === undefined) yield* this.#start();
    if (this.#isQuoted && !this.#isMark) throw new ImportFileRefused('file_quote');
    if (this.#length > 0) yield* this.#row();
  }

  *#start(): Generator<readonly string[] | undefined> {
    const [line = ''] = this.#begin.split(/[\r\n]/, 1);
    const counts = SEPARATORS.map((sign) => line.split(sign).length);
    this.#separator = SEPARATORS[counts.indexOf(Math.max(...counts))];
    yield* this.#readAll(this.#begin);
    this.#begin = '';
  }

  *#readAll(chunk: string): Generator<readonly string[] | undefined> {
    for (const character of chunk) {
      const isEnd = character === '\n' || character === '\r';
      if (this.#isQuoted && !this.#isMark) {
        if (character === '"') this.#isMark = true;
        else this.#add(character);
      } else if (this.#isMark && character !== this.#separator && !isEnd) {
        this.#isMark = false;
        this.#add(character === '"' ? '"' : `"${character}`);
      } else if (character === '"' && this.#field === '') {
        this.#isQuoted = true;
        this.#length += 1;
      } else if (character === this.#separator) {
        this.#endField();
      } else if (!isEnd) {
        this.#add(character);
      } else if (this.#length > 0) {
        yield* this.#row();
      }
    }
  }

  #add(character: string): void {
    this.#length += 1;
    if (this.#length <= MAX_ELEMENT) this.#field += character;
  }

  #endField(): void {
    this.#length += 1;
    if (this.#length <= MAX_ELEMENT) this.#fields.push(this.#field);
    this.#field = '';
    this.#isQuoted = false;
    this.#isMark = false;
  }

  *#row(): Generator<readonly string[] | undefined> {
    this.#endField();
    const row = this.#length > MAX_ELEMENT ? undefined : this.#fields;
    this.#fields = [];
    this.#length = 0;
    yield row;
  }
}
