// Loaded only for files in YAML, because the parser takes time to load.

import { parse } from 'yaml';
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

/** @throws {ConfigurationRefused} the text is neither YAML nor JSON */
export function parsedText(text: string, source: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw new ConfigurationRefused(`${source}: expected YAML or JSON`, { cause: error });
  }
}
