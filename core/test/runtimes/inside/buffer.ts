/** The part of `Buffer` that the suites use, for runtimes without it. */
export const Buffer = {
  from(source: string | ArrayLike<number>, encoding = 'utf8'): Bytes {
    if (typeof source !== 'string') return bytesOf(source);
    if (encoding === 'utf8') return bytesOf(new TextEncoder().encode(source));
    const binary = atob(source.replaceAll('-', '+').replaceAll('_', '/'));
    return bytesOf(Array.from(binary, (character) => character.charCodeAt(0)));
  },

  alloc: (length: number, byte = 0): Bytes => new Bytes(length).fill(byte),

  byteLength: (text: string): number => new TextEncoder().encode(text).length,
};

class Bytes extends Uint8Array {
  override toString(encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder().decode(this);
    const base64 = btoa(Array.from(this, (byte) => String.fromCharCode(byte)).join(''));
    if (encoding === 'base64') return base64;
    return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  }
}

function bytesOf(values: ArrayLike<number>): Bytes {
  const bytes = new Bytes(values.length);
  bytes.set(values);
  return bytes;
}
