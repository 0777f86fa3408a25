/** A JSON object of another program. */
export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object, or one that is stored as JSON. */
export function objectOf(json: unknown): Fields | undefined {
  try {
    const value: unknown = typeof json === 'string' ? JSON.parse(json) : json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
