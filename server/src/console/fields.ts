// Fields of forms, from the schemas of operations: which ones there are, and what a sent form says.
import { isJsonObject } from '@grantd/core/options';
import { partsOf, type Said, type ValueProblem } from '../admin/operation_refused.ts';
import type { Schema } from '../admin/schema.ts';
import { type PatternName, patternIn } from '../admin/validation.ts';
import type { Texts } from '../texts/texts.ts';
import { jsonProblem } from './json_problem.ts';

export type FieldKind =
  | 'text'
  | 'secret'
  | 'integer'
  | 'choice'
  | 'check'
  | 'yes_no'
  | 'lines'
  | 'checks'
  | 'time'
  | 'json'
  /** A box that removes the value. */
  | 'reset';

/** One field of a form, which sets one value of an input. */
export interface Field {
  /** In the sent form: the path with dots. */
  readonly name: string;
  /** In the input and in the document. */
  readonly path: readonly string[];
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** Whether `null` removes the value. */
  readonly isNullable: boolean;
  /** Of `choice` and `checks`. */
  readonly values: readonly string[];
  /** What the API says about it, in English. */
  readonly about?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** Whether an empty text is a value. */
  readonly mayBeEmpty: boolean;
}

/** How a form shows the members of a schema. Members that it does not name come last, as further settings. */
export interface FormSpec {
  /** Names of fields in the first part, in order. */
  readonly first: readonly string[];
  /** Further parts with a headline in the texts. Default: all others are in one. */
  readonly parts?: Readonly<Record<string, readonly string[]>>;
  /** Members that the form does not have. */
  readonly without?: readonly string[];
  /** Members whose value is never shown. */
  readonly secret?: readonly string[];
  /** Members with any content, of which some have a field of their own. */
  readonly inner?: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  /** Languages of translated members, such as `client_name#de`. */
  readonly tags?: readonly string[];
  /** Members that a form needs although the operation does not. */
  readonly required?: readonly string[];
  /** The values to choose from, for members that the schema leaves open. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
  /** Fields that only the console has, so their names say nothing elsewhere. */
  readonly ofConsole?: readonly string[];
  /** Labels in the texts, for fields whose name has another label elsewhere. */
  readonly labels?: Readonly<Record<string, string>>;
}

type Keywords = Readonly<Record<string, unknown>>;

const NO_SPEC: FormSpec = { first: [] };

/** The fields for a schema, in the order of the schema. @param stored may have translations, which get a field too */
export function fieldsOf(schema: Schema, spec: FormSpec = NO_SPEC, stored: object = {}): readonly Field[] {
  return fieldsIn(schema, [], spec, stored);
}

function fieldsIn(
  schema: Keywords,
  path: readonly string[],
  spec: FormSpec,
  stored: object,
): readonly Field[] {
  const { properties = {}, required = [] } = schema as {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly required?: readonly string[];
  };
  const members = { ...properties, ...translatedIn(schema, spec, stored) };
  return Object.entries(members).flatMap(([member, form]): readonly Field[] => {
    const here = [...path, member];
    const name = here.join('.');
    if (spec.without?.includes(name)) return [];
    const [simple, isNullable] = withoutNull(form);
    const isRequired = required.includes(member);
    if (simple.properties !== undefined) return fieldsIn(simple, here, spec, {});
    const inner = spec.inner?.[name] ?? {};
    const own = Object.entries(inner).map(([key, one]) => fieldFrom(one, [...here, key], false, true, spec));
    return [...own, fieldFrom(simple, here, isRequired, isNullable, spec)];
  });
}

/** `client_name#de` is a translation of `client_name`. */
export function isTranslation(name: string): boolean {
  return name.includes('#');
}

/** Members such as `client_name#de`. */
function translatedIn(schema: Keywords, { tags = [] }: FormSpec, stored: object): Record<string, Schema> {
  const { patternProperties = {}, properties = {} } = schema as {
    readonly patternProperties?: Readonly<Record<string, Schema>>;
    readonly properties?: object;
  };
  const found: Record<string, Schema> = {};
  for (const [pattern, form] of Object.entries(patternProperties)) {
    const fits = new RegExp(pattern);
    const wanted = Object.keys(properties).flatMap((name) => tags.map((tag) => `${name}#${tag}`));
    for (const name of [...wanted, ...Object.keys(stored)]) if (fits.test(name)) found[name] = form;
  }
  return found;
}

/** A form without `null`, and whether it has allowed it. */
function withoutNull(schema: Keywords): readonly [schema: Keywords, isNullable: boolean] {
  const {
    anyOf,
    type,
    enum: values,
    ...others
  } = schema as Keywords & { readonly enum?: readonly unknown[] };
  if (Array.isArray(anyOf)) {
    const [one = {}] = anyOf.filter((item) => item.type !== 'null');
    return [{ ...others, ...one }, anyOf.length > 1];
  }
  if (Array.isArray(type)) return [{ ...others, type: type[0] }, type.includes('null')];
  if (values?.includes(null)) return [{ ...others, enum: values.filter((one) => one !== null) }, true];
  return [schema, false];
}

function fieldFrom(
  schema: Keywords,
  path: readonly string[],
  isRequired: boolean,
  isNullable: boolean,
  spec: FormSpec,
): Field {
  const { description, minimum, maximum, minLength, maxLength, pattern } = schema;
  const name = path.join('.');
  const choices = spec.choices?.[name];
  const chosen =
    choices && (schema.type === 'array' ? { ...schema, items: { enum: choices } } : { enum: choices });
  const [kind, values] = kindOf(chosen ?? schema, isNullable && spec.inner?.[path[0] ?? ''] === undefined);
  return {
    ...{ name, path, isNullable, values },
    isRequired: isRequired || spec.required?.includes(name) === true,
    mayBeEmpty: kind === 'text' && minLength === undefined && pattern === undefined && !isRequired,
    kind: spec.secret?.includes(name) ? 'secret' : kind,
    ...(typeof description === 'string' && { about: description }),
    ...(typeof minimum === 'number' && { minimum }),
    ...(typeof maximum === 'number' && { maximum }),
    ...(typeof maxLength === 'number' && { maxLength }),
  };
}

function kindOf(schema: Keywords, isNullable: boolean): readonly [FieldKind, readonly string[]] {
  const { type, format, enum: values, items = {} } = schema as Keywords & { readonly items?: Keywords };
  if (Array.isArray(values)) return ['choice', values.map(String)];
  if (type === 'array' && Array.isArray(items.enum)) return ['checks', items.enum.map(String)];
  if (type === 'array') return [items.type === 'string' ? 'lines' : 'json', []];
  if (type === 'null') return ['reset', []];
  if (type === 'boolean') return [isNullable ? 'yes_no' : 'check', []];
  if (type === 'integer') return ['integer', []];
  if (type === 'string') return [format === 'date-time' ? 'time' : 'text', []];
  return ['json', []];
}

// ── From a document to what a form shows ──────────────────────────────────────────────────────────────────

/** What a form shows of a document. Secrets are left out. */
export function typedOf(
  fields: readonly Field[],
  document: object,
  spec: FormSpec = NO_SPEC,
): URLSearchParams {
  const typed = new URLSearchParams();
  for (const field of fields)
    for (const text of shownOf(field, ownValue(field, document, spec))) typed.append(field.name, text);
  return typed;
}

/** A value as a form shows it: a text for each time that the field is sent. */
export function shownOf({ kind }: Pick<Field, 'kind'>, value: unknown): readonly string[] {
  if (value === undefined || value === null || kind === 'secret' || kind === 'reset') return [];
  if (kind === 'checks' && Array.isArray(value)) return value.map(String);
  if (kind === 'lines' && Array.isArray(value)) return [value.join('\n')];
  if (kind === 'check') return value === true ? ['yes'] : [];
  if (kind === 'yes_no') return [value === true ? 'yes' : 'no'];
  return [typeof value === 'string' && kind !== 'json' ? value : JSON.stringify(value, undefined, 2)];
}

/** The value of a field in a document, without what has fields of its own. */
export function ownValue(field: Field, document: object, { inner = {} }: FormSpec = NO_SPEC): unknown {
  const value = valueAt(document, field.path);
  const own = inner[field.name];
  if (own === undefined || !isJsonObject(value)) return value;
  const rest = Object.entries(value).filter(([name]) => !Object.hasOwn(own, name));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

export function valueAt(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

// ── From a sent form to an input ──────────────────────────────────────────────────────────────────────────

/** Why a field cannot be read. */
export type FieldProblem = keyof Texts['console']['forms']['problems'];

/** A problem of a field: in words of the page, or in English as an operation says it. */
export interface ShownProblem {
  readonly reason: FieldProblem;
  /** Line and column of JSON. */
  readonly at?: readonly [line: number, column: number];
  /** In English. */
  readonly detail?: string;
  /** What the detail says, for texts of every language. */
  readonly said?: Said | undefined;
  /** What the value has to be, which the texts say. */
  readonly pattern?: PatternName;
  /** The number of the line, of a field with one value per line. */
  readonly line?: number;
  /** Problems of further lines or choices. */
  readonly others?: readonly ShownProblem[];
}

/** Problems by the name of the field; under an empty name those that belong to no field. */
export type Problems = ReadonlyMap<string, ShownProblem>;

/** What a field of a sent form says. `undefined` if it says nothing. @returns why it cannot be read */
function valueIn(field: Field, form: URLSearchParams): { readonly value: unknown } | ShownProblem {
  const { kind, name } = field;
  const [first = ''] = form.getAll(name);
  const text = kind === 'secret' ? first : first.replaceAll('\r\n', '\n').trim();
  switch (kind) {
    case 'reset':
      return { value: first === 'yes' ? null : undefined };
    case 'check':
      return { value: first === 'yes' ? true : undefined };
    case 'yes_no':
      return { value: first === '' ? undefined : first === 'yes' };
    case 'checks': {
      const values = form.getAll(name).filter((one) => one !== '');
      return { value: values.length === 0 ? undefined : values };
    }
    case 'lines': {
      const lines = text.split('\n').map((line) => line.trim());
      const values = lines.filter((line) => line !== '');
      return { value: values.length === 0 ? undefined : values };
    }
    case 'integer':
      if (text === '') return { value: undefined };
      return /^-?\d{1,15}$/.test(text) ? { value: Number(text) } : { reason: 'no_integer' };
    case 'time': {
      if (text === '') return { value: undefined };
      const time = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
      return Number.isNaN(time) ? { reason: 'no_time' } : { value: new Date(time).toISOString() };
    }
    case 'json': {
      if (text === '') return { value: undefined };
      const at = jsonProblem(text);
      return at === undefined ? { value: JSON.parse(text) } : { reason: 'no_json', at };
    }
    default:
      return { value: text === '' ? undefined : text };
  }
}

export interface SentInput {
  readonly input: Readonly<Record<string, unknown>>;
  readonly problems: Problems;
}

/** Reads a form that adds something: every field with a value is in the input. */
export function readNew(
  fields: readonly Field[],
  form: URLSearchParams,
  spec: FormSpec = NO_SPEC,
): SentInput {
  return read(fields, form, spec, (field, value) => {
    if (value === undefined && field.isRequired) return { reason: 'missing' };
    return { value };
  });
}

/**
 * Reads a form that changes something: only fields with another value than the document are in the input. An emptied field
 * removes its value.
 */
export function readChange(
  fields: readonly Field[],
  form: URLSearchParams,
  document: object,
  spec: FormSpec = NO_SPEC,
): SentInput {
  return read(fields, form, spec, (field, value) => {
    const before = ownValue(field, document, spec);
    if (field.kind === 'reset') return { value };
    if (isSame(value, before, field)) return { value: undefined };
    if (spec.inner?.[field.name] !== undefined) return patchOf(before, value);
    if (value !== undefined) return { value };
    if (field.isNullable) return { value: null };
    return field.mayBeEmpty ? { value: '' } : { reason: 'missing' };
  });
}

/** The members of an object that change: `null` for those that are gone. */
function patchOf(before: unknown, after: unknown): { readonly value: unknown } | ShownProblem {
  if (after !== undefined && !isJsonObject(after)) return { reason: 'no_object' };
  const [old, wanted] = [isJsonObject(before) ? before : {}, after ?? {}];
  const gone = Object.keys(old).filter((name) => !Object.hasOwn(wanted, name));
  const changed = Object.entries(wanted).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]),
  );
  return { value: Object.fromEntries([...changed, ...gone.map((name) => [name, null])]) };
}

function isSame(value: unknown, before: unknown, { kind }: Field): boolean {
  const plain = (one: unknown) => {
    if (one === undefined || one === '' || (Array.isArray(one) && one.length === 0)) return 'null';
    return kind === 'check' && one === false ? 'null' : JSON.stringify(one);
  };
  return plain(value) === plain(before);
}

function read(
  fields: readonly Field[],
  form: URLSearchParams,
  { inner = {} }: FormSpec,
  decide: (field: Field, value: unknown) => { readonly value: unknown } | ShownProblem,
): SentInput {
  const input: Record<string, unknown> = {};
  const problems = new Map<string, ShownProblem>();
  for (const field of fields) {
    const found = valueIn(field, form);
    const decided = 'reason' in found ? found : decide(field, found.value);
    if ('reason' in decided) problems.set(field.name, decided);
    else if (decided.value !== undefined)
      put(input, field.path, decided.value, inner[field.name] !== undefined);
  }
  return { input, problems };
}

/** @param merges whether the value is an object whose members stand beside others */
function put(input: Record<string, unknown>, path: readonly string[], value: unknown, merges: boolean): void {
  const [name = '', ...rest] = path;
  const before = Object.hasOwn(input, name) ? input[name] : undefined;
  const below = isJsonObject(before) ? { ...before } : {};
  if (rest.length > 0) put(below, rest, value, merges);
  input[name] = rest.length > 0 ? below : merges && isJsonObject(value) ? { ...value, ...below } : value;
}

/**
 * Puts the errors of an operation at the fields that they are about.
 * @param form what was sent, which tells the lines of the values of a list
 */
export function problemsAt(
  fields: readonly Field[],
  errors: readonly ValueProblem[],
  form = new URLSearchParams(),
): Problems {
  const problems = new Map<string, ShownProblem>();
  for (const error of errors) {
    const { in: pointer } = error;
    const path = partsOf(pointer);
    const [field] = fields
      .filter(({ path: own }) => own.every((part, at) => part === path[at]))
      .toSorted((one, other) => other.path.length - one.path.length);
    // Some checks name a member without the object that it is in.
    const alike = field ?? fields.find(({ path: own }) => own.at(-1) === path[0]);
    const rest = path.slice(field?.path.length ?? (alike === undefined ? 0 : 1)).join('.');
    const name = alike?.name ?? '';
    const pattern = patternIn(error);
    const line = alike?.kind === 'lines' ? lineOf(form.get(name) ?? '', Number(rest)) : undefined;
    const found: ShownProblem = {
      ...(pattern === undefined
        ? { reason: 'refused', ...refusalAt(line === undefined ? rest : '', error) }
        : { reason: 'pattern', pattern }),
      ...(line !== undefined && { line }),
    };
    const first = problems.get(name);
    if (first === undefined) problems.set(name, found);
    else if (/^\d+$/.test(rest)) problems.set(name, { ...first, others: [...(first.others ?? []), found] });
  }
  return problems;
}

/** The number of the line with a value of a list. Empty lines are no values. */
function lineOf(text: string, at: number): number | undefined {
  const filled = text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]));
  return filled[at];
}

function refusalAt(rest: string, { detail, said }: ValueProblem): Pick<ShownProblem, 'detail' | 'said'> {
  return said === undefined ? { detail: rest === '' ? detail : `${rest}: ${detail}` } : { said };
}
