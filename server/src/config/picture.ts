import { readFileSync } from 'node:fs';
import { ConfigurationRefused } from './refused.ts';

/** A logo as the server sends it to browsers. */
export interface Picture {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Image types that every browser displays, by file extension. */
export const PICTURE_TYPES: ReadonlyMap<string, string> = new Map([
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
  ['.jpeg', 'image/jpeg'],
  ['.webp', 'image/webp'],
  ['.gif', 'image/gif'],
]);

/** Whether a picture consists of pixels. SVG does not: opened directly, it is a document with text and links. */
export function isRasterType(type: string): boolean {
  return type !== 'image/svg+xml' && [...PICTURE_TYPES.values()].includes(type);
}

/**
 * Reads a file of the operator.
 * @param source where the operator named it, for messages
 * @param most bytes
 * @throws {ConfigurationRefused} the file is unreadable or too large
 */
export function bytesOf(path: string, source: string, most: number): Buffer<ArrayBuffer> {
  const expected = `${source}: expected a readable file of at most ${most / 1024} KiB`;
  let bytes: Buffer<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ConfigurationRefused(expected, { cause: error });
  }
  if (bytes.length > most) throw new ConfigurationRefused(expected);
  return bytes;
}
