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
