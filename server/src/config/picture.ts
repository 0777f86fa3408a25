import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
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

const MAX_LOGO_BYTES = 256 * 1024;

/**
 * Reads a logo.
 * @throws {ConfigurationRefused} the file is unreadable, too large, or not the picture that its name says
 */
export function readLogo(path: string, source: string): Picture {
  const bytes = bytesOf(path, source, MAX_LOGO_BYTES);
  const type = PICTURE_TYPES.get(extname(path).toLowerCase());
  if (type === undefined || !isPicture(bytes, type))
    throw new ConfigurationRefused(
      `${source}: expected a picture whose content is what its name says: ${[...PICTURE_TYPES.keys()].join(', ')}`,
    );
  if (type === 'image/svg+xml' && ACTIVE_SVG.test(bytes.toString('utf8')))
    throw new ConfigurationRefused(
      `${source}: expected an SVG without scripts, event handlers, entities and foreign objects`,
    );
  return { type, bytes };
}

/**
 * What a logo does not need, and could run. Pages show a picture as an image, in which browsers run nothing, and the
 * server sends it with a policy that allows nothing. The check at the start tells the operator.
 */
const ACTIVE_SVG =
  /<\s*(?:[\w-]+:)?(?:script|foreignObject|iframe|handler)\b|<!ENTITY|\son[a-z]+\s*=|javascript:/i;

/** Whether a file begins as pictures of this type do. */
function isPicture(bytes: Buffer, type: string): boolean {
  const begins = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text;
  switch (type) {
    case 'image/png':
      return begins('\x89PNG\r\n\x1a\n');
    case 'image/jpeg':
      return begins('\xff\xd8\xff');
    case 'image/gif':
      return begins('GIF8');
    case 'image/webp':
      return begins('RIFF') && begins('WEBP', 8);
    default:
      return /^\ufeff?\s*(<\?xml|<!--|<!DOCTYPE svg|<svg)/i.test(bytes.toString('utf8', 0, 200));
  }
}
