// Values of rows of databases, as their clients write them to CSV and JSON.
import type { Fields } from '../fields.ts';

/** A value of a row. Databases and their clients write columns in any case, and an absent value as nothing or NULL. */
export type Row = (column: string) => unknown;

export function rowOf(fields: Fields): Row {
  const values = new Map(Object.entries(fields).map(([name, value]) => [plain(name), value]));
  return (column) => {
    const value = values.get(plain(column));
    return value === '' || value === 'NULL' || value === null ? undefined : value;
  };
}

/** The name of a column without what databases write differently. */
export const plain = (column: string) => column.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** A truth value as databases write it. */
export function truth(value: unknown): boolean | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'object') return undefined;
  return /^(?:1|t|true|yes)$/i.test(String(value));
}

/** A text or a number. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** The texts in a list, in a list as JSON, or separated by commas. */
export function texts(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  if (typeof value !== 'string') return [];
  const parsed = value.startsWith('[') ? parsedList(value) : undefined;
  return (parsed ?? value.split(',')).map((item) => String(item).trim()).filter((item) => item !== '');
}

/** A list as JSON. @returns `undefined` if it is none */
export function parsedList(json: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
