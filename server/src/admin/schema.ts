// The forms of what operations read and return, as JSON Schema 2020-12. Each schema carries the type of its values, so that
// documents and inputs are typed by it.
import type { Warning } from './warning.ts';

declare const VALUE: unique symbol;

/** A JSON Schema of values of a type. */
export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown;
  /** Only for the type checker. */
  readonly [VALUE]?: T;
}

/** The type of the values of a schema. */
export type ValueOf<S> = S extends Schema<infer T> ? T : never;

/** An object type in one piece, instead of an intersection. */
export type Flat<T> = { [Name in keyof T]: T[Name] };

type Members = Readonly<Record<string, Schema>>;

/** Members whose name ends in `?` are optional. */
type ObjectOf<M extends Members> = Flat<
  { readonly [Name in keyof M as Name extends `${string}?` ? never : Name]: ValueOf<M[Name]> } & {
    readonly [Name in keyof M as Name extends `${infer Optional}?` ? Optional : never]?: ValueOf<M[Name]>;
  }
>;

type Keywords = Readonly<Record<string, unknown>>;

/** Schemas that the description of the API names once and refers to. */
const NAMES = new Map<object, string>();

export function nameOf(schema: object): string | undefined {
  return NAMES.get(schema);
}

export function named<S extends Schema>(name: string, schema: S): S {
  NAMES.set(schema, name);
  return schema;
}

/** An object without other members than these. */
export function object<const M extends Members>(members: M, more: Keywords = {}): Schema<ObjectOf<M>> {
  const names = Object.keys(members);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(members).map(([name, item]) => [name.replace(/\?$/, ''), item]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...more,
  };
}

/** An object with any members. */
export function anyObject(description: string): Schema<Readonly<Record<string, unknown>>> {
  return { type: 'object', description };
}

export function text(description?: string, more: Keywords = {}): Schema<string> {
  return { type: 'string', ...(description !== undefined && { description }), ...more };
}

/** One of these values. */
export function oneOf<const V>(values: readonly V[], description?: string): Schema<V> {
  return { enum: values, ...(description !== undefined && { description }) };
}

export function list<T>(items: Schema<T>, description: string): Schema<readonly T[]> {
  return { type: 'array', items, description };
}

export function texts(description: string, more: Keywords = {}): Schema<readonly string[]> {
  return { ...list<string>({ type: 'string' }, description), ...more };
}

export function flag(description?: string): Schema<boolean> {
  return { type: 'boolean', ...(description !== undefined && { description }) };
}

export function count(description: string): Schema<number> {
  return { type: 'integer', minimum: 0, description };
}

export function integer(description: string | undefined, more: Keywords): Schema<number> {
  return { type: 'integer', ...more, ...(description !== undefined && { description }) };
}

export function time(description?: string, more: Keywords = {}): Schema<string> {
  return text(description, { format: 'date-time', ...more });
}

/** All items of a list, in one object. */
export function whole<T>(name: string, items: Schema<T>, description: string) {
  return named(name, object({ items: list(items, description) }));
}

/** One page of a list. */
export function page<T>(name: string, items: Schema<T>) {
  return named(name, object(pageMembers(items)));
}

/** The members of a page. */
export function pageMembers<T>(items: Schema<T>) {
  return {
    items: list(items, 'The items on this page of the list.'),
    'next_cursor?': text(
      'To get the next page, send this value as the parameter cursor. Absent on the last page.',
    ),
    'previous_cursor?': text(
      'To get the page before, send this value as the parameter cursor. Absent on the first page, and in lists that have only one direction.',
    ),
    'total?': count('Number of items on all pages, if the server knows it without counting.'),
  };
}

/** What an operation tells the operator beside its result. */
export const WARNINGS: Schema<readonly Warning[]> = {
  ...(texts('Warnings for the operator.') as object),
};

// ── Building documents ────────────────────────────────────────────────────────────────────────────────────

export function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** A member, unless it has no value. */
export function optional<const N extends string, T>(
  name: N,
  value: T | undefined,
): { readonly [Name in N]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [Name in N]?: T };
}

export function optionalTime<const N extends string>(name: N, milliseconds: number | undefined) {
  return optional(name, milliseconds === undefined ? undefined : timeOf(milliseconds));
}

/** What documents with a number of tokens say about it. */
export const HAS_MORE =
  'Present, with true, if there can be more active tokens than this number. The server counts at most 100,000, among the 500,000 stored tokens that expire last.';
