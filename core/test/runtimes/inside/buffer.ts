/** What the suites use of `Buffer`, for runtimes that lack it. */
export class Buffer extends Uint8Array<ArrayBuffer> {
  static override from(source: string | Iterable<number>, encoding = 'utf8'): Buffer {
    if (typeof source !== 'string') return new Buffer(source);
    if (encoding === 'utf8') return new Buffer(new TextEncoder().encode(source));
    const binary = atob(source.replaceAll('-', '+').replaceAll('_', '/'));
    return new Buffer(Array.from(binary, (character) => character.charCodeAt(0)));
  }

  static alloc(length: number, byte = 0): Buffer {
    return new Buffer(length).fill(byte);
  }

  static byteLength(text: string): number {
    return new TextEncoder().encode(text).length;
  }

  override toString(encoding = 'utf8'): string {
    if (encoding === 'utf8') return new TextDecoder().decode(this);
    let binary = '';
    for (const byte of this) binary += String.fromCharCode(byte);
    const base64 = btoa(binary);
    if (encoding === 'base64') return base64;
    return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  }
}
