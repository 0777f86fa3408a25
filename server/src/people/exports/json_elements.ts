import { ImportFileRefused } from '../import_faults.ts';

/** Characters of one user. */
export const MAX_ELEMENT = 1024 * 1024;

/** Characters of the name of a member that is looked for. */
const MAX_NAME = 64;

/**
 * The elements of a JSON list, or of the list that a member of a JSON object has, as text. Holds one element at a time.
 * Several documents may follow each other, such as the pages of an API.
 * @returns `undefined` for an element that is too long
 * @throws {Refused} the file ends too early, or there is no such list
 */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  member: string,
): AsyncGenerator<string | undefined> {
  const scanner = new ListScanner(member);
  for await (const chunk of chunks) yield* scanner.scan(chunk);
  scanner.end();
}

class ListScanner {
  readonly #member: string;
  /** Open brackets. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isObject = false;
  /** The last text of the outermost object, which can be the name of a member. */
  #name = '';
  /** The depth of the elements of the list, while it is open. */
  #listDepth = 0;
  #hasList = false;
  #element = '';
  #isTooLong = false;

  constructor(member: string) {
    this.#member = member;
  }

  *scan(chunk: string): Generator<string | undefined> {
    /** Where the part of the element begins that is not kept yet. */
    let from = this.#listDepth > 0 ? 0 : chunk.length;
    for (let at = 0; at < chunk.length; at += 1) {
      const character = chunk.charAt(at);
      if (this.#isInString) {
        this.#readString(character);
        continue;
      }
      switch (character) {
        case '"':
          this.#isInString = true;
          this.#name = '';
          break;
        case '[':
        case '{':
          if (this.#open(character)) from = at + 1;
          break;
        case ',':
          if (this.#listDepth === 0 || this.#depth !== this.#listDepth) break;
          this.#keep(chunk.slice(from, at));
          yield* this.#ended();
          from = at + 1;
          break;
        case ']':
        case '}':
          if (this.#listDepth > 0 && this.#depth === this.#listDepth) {
            this.#keep(chunk.slice(from, at));
            yield* this.#ended();
            this.#listDepth = 0;
            from = chunk.length;
          }
          this.#depth -= 1;
          if (this.#depth < 0) throw new ImportFileRefused('file_bracket');
          break;
      }
    }
    if (this.#listDepth > 0) this.#keep(chunk.slice(from));
  }

  /** @throws {Refused} the document is not complete, or has no list */
  end(): void {
    if (this.#depth > 0 || this.#isInString) throw new ImportFileRefused('file_cut');
    if (!this.#hasList) throw new ImportFileRefused('file_list', this.#member);
  }

  #readString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') {
      this.#isInString = false;
      return;
    }
    if (this.#depth === 1 && this.#isObject && this.#name.length < MAX_NAME) this.#name += character;
  }

  /** @returns whether the list begins */
  #open(character: string): boolean {
    this.#depth += 1;
    if (this.#depth === 1) this.#isObject = character === '{';
    const isList =
      character === '[' &&
      (this.#depth === 1 || (this.#depth === 2 && this.#isObject && this.#name === this.#member));
    if (!isList) return false;
    this.#hasList = true;
    this.#listDepth = this.#depth;
    return true;
  }

  #keep(part: string): void {
    if (this.#element.length + part.length > MAX_ELEMENT) this.#isTooLong = true;
    if (!this.#isTooLong) this.#element += part;
  }

  *#ended(): Generator<string | undefined> {
    const element = this.#isTooLong ? undefined : this.#element.trim();
    this.#element = '';
    this.#isTooLong = false;
    // A list without elements.
    if (element !== '') yield element;
  }
}
