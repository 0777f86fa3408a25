const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

/**
 * Where a text stops being JSON (RFC 8259), as an offset. Node's own messages quote the text, and tell the offset only of
 * some errors.
 */
export function jsonErrorAt(text: string): number {
  let position = 0;

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = position;
    const isThere = pattern.test(text);
    if (isThere) position = pattern.lastIndex;
    return isThere;
  };
  const take = (character: string): boolean => {
    skip(SPACE);
    if (text[position] !== character) return false;
    position += 1;
    return true;
  };

  const list = (end: string, member: () => boolean): boolean => {
    if (take(end)) return true;
    do {
      if (!member()) return false;
    } while (take(','));
    return take(end);
  };
  const string = (): boolean => {
    skip(SPACE);
    return skip(STRING);
  };
  const value = (): boolean => {
    if (take('{')) return list('}', () => string() && take(':') && value());
    if (take('[')) return list(']', value);
    return string() || skip(LITERAL);
  };

  if (value()) skip(SPACE);
  return position;
}
