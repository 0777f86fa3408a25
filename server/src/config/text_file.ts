// Every file that operators write is read here, because some editors begin files with a byte order mark or write UTF-16.
import { readFileSync } from 'node:fs';

const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const UTF16LE_MARK = Buffer.from([0xff, 0xfe]);
const UTF16BE_MARK = Buffer.from([0xfe, 0xff]);

/** The text of a file, without its byte order mark. @param file a path or an open file */
export function readTextFile(file: string | number): string {
  return utf8Of(readFileSync(file)).toString('utf8');
}

/** Whether a file begins with the byte order mark of UTF-8. */
export function hasMark(file: string): boolean {
  return readFileSync(file).subarray(0, UTF8_MARK.length).equals(UTF8_MARK);
}

/** A text in UTF-8 without a byte order mark. UTF-16 is what redirections of older PowerShells write. */
export function utf8Of(bytes: Buffer): Buffer {
  const begins = (mark: Buffer) => bytes.subarray(0, mark.length).equals(mark);
  if (begins(UTF8_MARK)) return bytes.subarray(UTF8_MARK.length);
  if (!begins(UTF16LE_MARK) && !begins(UTF16BE_MARK)) return bytes;
  // An odd last byte is half a character.
  const text = Buffer.from(bytes.subarray(2, bytes.length - (bytes.length % 2)));
  return Buffer.from((begins(UTF16BE_MARK) ? text.swap16() : text).toString('utf16le'));
}
