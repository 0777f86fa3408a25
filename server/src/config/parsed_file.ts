// Loaded only for files in YAML, because the parser takes time to load.

import { type Document, isScalar, type Node, parseDocument, visit } from 'yaml';
import { bytesOf } from './picture.ts';
import { ConfigurationRefused } from './refused.ts';
import { utf8Of } from './text_file.ts';

/**
 * Reads a file in YAML or JSON.
 * @param source where the operator named it, for messages
 * @throws {ConfigurationRefused} the file is unreadable, too large, or neither
 */
export function parsedFile(path: string, source: string, mostBytes: number): unknown {
  return parsedText(utf8Of(bytesOf(path, source, mostBytes)).toString('utf8'), source);
}

/** @throws {ConfigurationRefused} the text is neither YAML nor JSON, or has a member twice */
export function parsedText(text: string, source: string): unknown {
  try {
    const document = parseDocument(text, PARSING);
    const [error] = document.errors;
    if (error !== undefined) throw error;
    if (repeatedKeyIn(document) !== undefined) throw new Error('Map keys must be unique');
    return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    throw new ConfigurationRefused(`${source}: expected YAML or JSON`, { cause: error });
  }
}

/** The parser compares each key of a map with all earlier ones, which takes seconds for some thousands. */
export const PARSING = { prettyErrors: false, uniqueKeys: false } as const;

/** The second of two equal keys of a map; `undefined` if there are none. */
export function repeatedKeyIn(document: Document): Node | undefined {
  let repeated: Node | undefined;
  visit(document, {
    Map(_, { items }) {
      const known = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        // As members of an object, the number 1 and the text "1" are the same.
        const name = String(key.value ?? '');
        if (known.has(name)) repeated ??= key;
        known.add(name);
      }
      return repeated === undefined ? undefined : visit.BREAK;
    },
  });
  return repeated;
}
