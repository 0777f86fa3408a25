// Types of authorization details in the config file, with the texts in which users see them (RFC 9396).
import { ConfigurationError } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';

/** A type as the config file declares it. The library checks `schema` and `clientCredentials`. */
export interface DetailsType {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly clientCredentials?: boolean;
  /**
   * Templates by member and language: `name`, `description`, `name#de` (as in RFC 7591 §2.2). `name` is always present.
   * A placeholder such as `{amount}` or `{creditor.name}` is the path of a member that every detail has.
   */
  readonly texts: Readonly<Record<string, string>>;
}

export type DetailsTypes = Readonly<Record<string, DetailsType>>;

/** @returns `undefined` if the block does not have the form of types */
export function readDetailsTypes(values: Readonly<Record<string, unknown>>): DetailsTypes | undefined {
  return Object.values(values).every(isDetailsType) ? (values as DetailsTypes) : undefined;
}

function isDetailsType(value: unknown): value is DetailsType {
  if (!isJsonObject(value)) return false;
  const { schema, texts, clientCredentials = false, ...unknown } = value;
  return (
    isJsonObject(schema) &&
    isJsonObject(texts) &&
    Object.values(texts).every((text) => typeof text === 'string') &&
    typeof clientCredentials === 'boolean' &&
    Object.keys(unknown).length === 0
  );
}

/** Texts, and paths of members in their places. */
export type Template = readonly (string | readonly string[])[];

/** Splits `Pay {amount}` at its placeholders. @returns `undefined` if a brace belongs to no placeholder */
export function parseTemplate(text: string): Template | undefined {
  const parts = text.split(/\{([^{}\s]+)\}/).map((part, at) => (at % 2 === 0 ? part : part.split('.')));
  return parts.some((part) => typeof part === 'string' && /[{}]/.test(part)) ? undefined : parts;
}

const MAX_LENGTH = { name: 100, description: 300 } as const;

/**
 * Checks the texts of all types. A placeholder must stand for a required member, so that no sentence has a gap.
 * @throws {ConfigurationError} names the text and says what was expected
 */
export function requireTexts(types: DetailsTypes): void {
  for (const [type, { schema, texts }] of Object.entries(types)) {
    const at = `authorizationDetails.types.${type}.texts`;
    for (const [member, text] of Object.entries(texts)) requireText(schema, member, text, at);
    if (texts.name === undefined)
      throw new ConfigurationError(`${at}.name`, 'a text without a language tag, which users see');
  }
}

function requireText(schema: DetailsType['schema'], key: string, text: string, at: string): void {
  const [, member] = /^(name|description)(?:#[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)?$/.exec(key) ?? [];
  if (member !== 'name' && member !== 'description')
    throw new ConfigurationError(
      `${at}.${key}`,
      'name or description, with or without a language tag such as #de',
    );
  if (text.trim() === '' || text.length > MAX_LENGTH[member] || /\p{C}/u.test(text))
    throw new ConfigurationError(`${at}.${key}`, `one line of at most ${MAX_LENGTH[member]} characters`);
  const template = parseTemplate(text);
  if (template === undefined)
    throw new ConfigurationError(`${at}.${key}`, 'braces only around the name of a member, as in {amount}');
  const missing = template.find((part) => typeof part !== 'string' && !isRequired(schema, part));
  if (typeof missing === 'object')
    throw new ConfigurationError(
      `${at}.${key}`,
      `members that the schema has in properties and in required, got {${missing.join('.')}}`,
    );
}

/** Whether a schema requires a member, and its parents if it is within objects. */
function isRequired(schema: unknown, [name = '', ...within]: readonly string[]): boolean {
  if (!isJsonObject(schema) || !Array.isArray(schema.required) || !schema.required.includes(name))
    return false;
  const { properties } = schema;
  if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return false;
  return within.length === 0 || isRequired(properties[name], within);
}
