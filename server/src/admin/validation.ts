// Checks inputs against the schemas of operations.
import { Validator } from '@cfworker/json-schema';
import { LANGUAGE_FORM } from '../texts/texts.ts';
import type { AdminParts } from './operation.ts';
import {
  InvalidInput,
  OperationRefused,
  refusedBy,
  type Said,
  sentenceAbout,
  type ValueProblem,
} from './operation_refused.ts';
import type { Schema } from './schema.ts';
import type { AnyOperation } from './table.ts';
import { URI_RULES, type UriRule } from './uri_rules.ts';

const validators = new WeakMap<Schema, Validator>();

/** Where a value does not fit its schema. Messages name the schema’s rule, never the value. */
export function errorsOf(schema: Schema, value: unknown): readonly ValueProblem[] {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = new Validator({ ...schema }, '2020-12', false);
    validators.set(schema, validator);
  }
  const { valid, errors } = validator.validate(value);
  if (valid) return [];
  const isInside = (location: string) => (other: { readonly instanceLocation: string }) =>
    other.instanceLocation.startsWith(`${location}/`);
  const inner = errors.filter(
    ({ instanceLocation, keyword, keywordLocation }) =>
      // The outer errors only repeat that there are inner ones.
      !(REPEATING.has(keyword) && errors.some(isInside(instanceLocation))) &&
      // Of a member that may also be null, the rule for its other values says enough.
      keyword !== 'anyOf' &&
      // Of alternatives, the rule that lists them says enough.
      !/\/oneOf\/\d+\//.test(keywordLocation) &&
      !(keyword === 'type' && /\/anyOf\/\d+\/type$/.test(keywordLocation)),
  );
  const shown = inner.map(({ instanceLocation, keyword, keywordLocation }): ValueProblem => {
    const rule = ruleAt(schema, keywordLocation);
    const said: Said = ['schema_rule', ruleInWords(keyword, rule), keyword, String(rule)];
    return { in: instanceLocation.replace(/^#/, ''), detail: sentenceAbout(said), said };
  });
  return [...new Map(shown.map((error) => [JSON.stringify(error), error])).values()].slice(0, 20);
}

/** Keywords that are about what is inside of a value. */
const REPEATING: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'items', 'prefixItems'],
]);

/** The rule that a value breaks, from the schema. */
function ruleAt(schema: Schema, location: string): unknown {
  const names = location
    .split('/')
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'));
  let rule: unknown = schema;
  for (const name of names)
    rule = typeof rule === 'object' && rule !== null ? Reflect.get(rule, name) : undefined;
  return rule;
}

/** @returns what a rule of a schema demands, to follow “expected” */
export function ruleInWords(keyword: string, rule: unknown): string {
  return IN_WORDS[keyword]?.(rule) ?? 'another value';
}

/** The patterns of the schemas, with what they demand. */
export const PATTERNS = {
  visible: { form: '^[!-~]{1,200}$', words: 'up to 200 letters, digits and signs, without spaces' },
  printable: { form: '^[ -~]+$', words: 'letters, digits, signs and spaces, all of ASCII' },
  language: { form: LANGUAGE_FORM.source, words: 'the tag of a language, such as de or pt-BR' },
  audit_head: {
    form: '^\\d{1,15}:[A-Za-z0-9_-]{43}$',
    words: 'a number, a colon and 43 letters, digits, hyphens or underscores',
  },
} as const satisfies Readonly<Record<string, { readonly form: string; readonly words: string }>>;

const RULES: Readonly<Record<string, { readonly form?: string; readonly words: string }>> = {
  ...PATTERNS,
  ...URI_RULES,
};

/** The name of a rule that pages say in their own language. */
export type PatternName = keyof typeof PATTERNS | UriRule;

const PATTERN_NAMES = Object.keys(RULES) as readonly PatternName[];

/** The name of a pattern in a schema. */
export function patternOf(rule: unknown): PatternName | undefined {
  return PATTERN_NAMES.find((name) => RULES[name]?.form !== undefined && RULES[name].form === rule);
}

function wordsOfPattern(rule: unknown): string {
  const name = patternOf(rule);
  return RULES[name ?? '']?.words ?? `a text of the form ${rule}`;
}

/** The rule that a problem is about. */
export function patternIn({ said }: Pick<ValueProblem, 'said'>): PatternName | undefined {
  if (said?.[0] === 'uri_rule') return PATTERN_NAMES.find((name) => name === said[2]);
  return said?.[0] === 'schema_rule' && said[2] === 'pattern' ? patternOf(said[3]) : undefined;
}

/** What rules of the schemas demand, by keyword. */
const IN_WORDS: Readonly<Record<string, (rule: unknown) => string>> = {
  additionalProperties: () => 'no such member',
  false: () => 'no such member',
  type: (rule) =>
    [rule]
      .flat()
      .map((type) => TYPES[String(type)] ?? String(type))
      .join(' or '),
  enum: (rule) => `one of ${[rule].flat().map(String).join(', ')}`,
  const: (rule) => String(rule),
  required: (rule) => `the member ${[rule].flat().join(' and ')}`,
  oneOf: (rule) => `exactly one of the members ${[rule].flat().map(requiredIn).join(', ')}`,
  not: (rule) => `no member ${requiredIn(rule)}`,
  minimum: (rule) => `at least ${rule}`,
  maximum: (rule) => `at most ${rule}`,
  minLength: (rule) => (rule === 1 ? 'a text that is not empty' : `at least ${rule} characters`),
  maxLength: (rule) => `at most ${rule} characters`,
  minItems: (rule) => (rule === 1 ? 'a list that is not empty' : `at least ${rule} items`),
  maxItems: (rule) => `at most ${rule} items`,
  uniqueItems: () => 'each item once',
  minProperties: (rule) => (rule === 1 ? 'a member' : `at least ${rule} members`),
  pattern: (rule) => wordsOfPattern(rule),
  format: (rule) => FORMATS[String(rule)] ?? String(rule),
};

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  uri: 'an absolute URI',
  'date-time': 'a time such as 2026-01-31T12:00:00Z',
  email: 'an email address',
};

/** Names the members that one of several alternatives demands. */
function requiredIn(alternative: unknown): string {
  const { required = [] } = (alternative ?? {}) as { readonly required?: readonly string[] };
  return required.join(' with ');
}

/** The names of an operation’s parameters in its path. */
export function pathNames({ path }: Pick<AnyOperation, 'path'>): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

/** The part of an input that is the body. @returns `undefined` if the operation has none, or needs none */
export function bodyIn(
  operation: AnyOperation,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const { body, isBodyOptional, query = {} } = operation;
  if (body === undefined) return undefined;
  const others = new Set([...pathNames(operation), ...Object.keys(query)]);
  const given = Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !others.has(name) && value !== undefined),
  );
  return isBodyOptional && Object.keys(given).length === 0 ? undefined : given;
}

/** An input, by the names of its members. */
export type Values = Readonly<Record<string, unknown>>;

/**
 * What does not fit the schemas of an operation, and what its checks refuse of the rest.
 * @param body default: the members of the input that are not parameters
 */
export function problemsOf(
  operation: AnyOperation,
  input: Values,
  body: unknown = bodyIn(operation, input),
): readonly InvalidInput[] {
  const { query = {}, checks } = operation;
  const found = Object.entries(query).flatMap(([name, { schema }]) => {
    const [error] = input[name] === undefined ? [] : errorsOf(schema, input[name]);
    return error === undefined ? [] : [new InvalidInput(name, error.said ?? { english: error.detail })];
  });
  const errors = operation.body === undefined || body === undefined ? [] : errorsOf(operation.body, body);
  if (errors.length > 0) found.push(InvalidInput.of(errors));
  const isUnfit = isAmong(found);
  const fit = Object.fromEntries(Object.entries(input).filter(([name]) => !isUnfit(name)));
  // It has the types of the schemas.
  const refused = checks === undefined ? [] : refusedBy(checks(fit as never));
  return [...found, ...refused.filter(({ member }) => !isUnfit(member))];
}

/** Tells whether errors are about a member, or about something in it. */
function isAmong(errors: readonly InvalidInput[]): (member: string) => boolean {
  const members = new Set(errors.flatMap(({ each }) => each).map(({ member }) => member.split('.')[0]));
  return (member) => members.has(member.split('.')[0]);
}

/**
 * Adds what else an operation refuses of an input, independently of what is stored.
 * @param found what `problemsOf` has found
 */
export async function examined(
  operation: AnyOperation,
  parts: AdminParts,
  input: Values,
  found: readonly InvalidInput[],
): Promise<readonly InvalidInput[]> {
  try {
    await operation.examine?.(parts, input as never);
    return found;
  } catch (error) {
    // Something that is stored, which comes after these.
    if (error instanceof OperationRefused) return found;
    if (!(error instanceof InvalidInput)) throw error;
    const isKnown = isAmong(found);
    return [...found, ...error.each.filter(({ member }) => !isKnown(member))];
  }
}

/** @throws {InvalidInput} with everything in the input that is wrong by itself */
export async function requireInput(operation: AnyOperation, parts: AdminParts, input: Values): Promise<void> {
  const found = problemsOf(operation, input);
  if (found.length > 0) throw InvalidInput.together(await examined(operation, parts, input, found));
}
