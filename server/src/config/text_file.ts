// Every file that operators write is read here, because some editors begin files with a byte order mark.
import { readFileSync } from 'node:fs';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The content of a file in UTF-8, without the byte order mark of some editors. @param file a path or an open file */
export function readTextFile(file: string | number): string {
  return withoutMark(readFileSync(file)).toString('utf8');
}

export function withoutMark<T extends ArrayBufferLike>(bytes: Buffer<T>): Buffer<T> {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? bytes.subarray(BYTE_ORDER_MARK.length)
    : bytes;
}
