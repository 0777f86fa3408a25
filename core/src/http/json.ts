export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a value that came as JSON is an object: neither a list nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** What a text, or its UTF-8 bytes, says as JSON; `undefined`, which JSON cannot say, where it is none. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === 'string' ? json : UTF_8.decode(json));
  } catch {
    return undefined;
  }
}

/** How deep a value may be that is taken from an application. */
const DEEPEST_VALUE = 8;

/**
 * A copy of a value that JSON can say exactly, and that every store keeps.
 * @returns `undefined` for any other: dates, instances of classes, NaN, `undefined` within, NUL, half characters
 */
export function jsonCopy(value: unknown, depth = DEEPEST_VALUE): unknown {
  if (typeof value === 'string') return isStorable(value) ? value : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth === 0) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => jsonCopy(item, depth - 1));
    return items.includes(undefined) ? undefined : items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const members = Object.entries(value).map(([name, member]) => [name, jsonCopy(member, depth - 1)] as const);
  const isPlain = members.every(([name, member]) => isStorable(name) && member !== undefined);
  return isPlain ? Object.fromEntries(members) : undefined;
}

/** There are databases that keep neither NUL nor half a character. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
