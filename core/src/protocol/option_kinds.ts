// Kinds of option values, and how options are read and checked.
import { ConfigurationError } from '../http/errors.ts';
import { isJsonObject, isListOfTexts, parseJson } from '../http/http.ts';

/** A kind of value: its type, how it is written as text and in JSON, and what a message says was expected. */
export interface Kind<V> {
  /** Ends the sentence "expected …". Messages never repeat a value: it may be a secret. */
  readonly expected: string;
  /** The type in TypeScript, for the generated interface, unless the source of the option has a type parameter. */
  readonly type: string;
  /** Placeholder for the value in the help of the command line. */
  readonly placeholder: string;
  /** The value of a flag or environment variable; `undefined` if it does not fit. */
  fromText(text: string): V | undefined;
  /** The value in code or in a configuration file; `undefined` if it does not fit. */
  read(value: unknown): V | undefined;
  /** Whether the value is one of a fixed list, of which a later version or another server may know more. */
  readonly isChoice?: true;
  /** Of a kind that takes a list: the index of the first element that does not fit, or -1. */
  misfitIn?(list: readonly unknown[]): number;
}

/** Heading of an option in the help and in the documentation. */
type Group =
  | 'Server'
  | 'Backups'
  | 'TLS'
  | 'Monitoring'
  | 'Administration'
  | 'Pages'
  | 'Users'
  | 'Directory'
  | 'Endpoints'
  | 'Tokens'
  | 'Lifetimes'
  | 'Host';

/**
 * What a server needs to know of an option. Its name in the table is its name in code and in the configuration file. The
 * program's flag and environment variable follow from it: `accessTokenFormat`, `--access-token-format`,
 * `GRANTD_ACCESS_TOKEN_FORMAT`.
 */
export interface Setting<V, D = V | undefined> {
  readonly kind: Kind<V>;
  /** Value if the option is left out. */
  readonly byDefault: D;
  /** Whether it must be given. */
  readonly isRequired?: true;
  /** Secrets have no flag: arguments are visible to every user of the machine. */
  readonly isSecret?: true;
  /** Whether a running program cannot apply another value. Members of a library’s options are read once anyway. */
  readonly needsRestart?: true;
}

/** What editors, the help and the documentation say about an option. */
export interface OptionText {
  readonly group: Group;
  /** What it does. */
  readonly about: string;
  /** The default in words, if it is not a fixed value. */
  readonly defaultInWords?: string;
  /** The document and section behind it, such as `RFC 7662 §2.1`. */
  readonly section?: string;
}

/** One option. */
export interface Option<V, D = V | undefined> extends Setting<V, D>, OptionText {}

export type SettingTable = Readonly<Record<string, Setting<unknown, unknown>>>;

export type OptionTable = Readonly<Record<string, Option<unknown, unknown>>>;

/** A text for each option of a table. Without a fixed default, it says what happens by default. */
export type TextsOf<T> = {
  readonly [Name in keyof T]: T[Name] extends Setting<infer _V, infer D>
    ? [undefined] extends [D]
      ? OptionText & { readonly defaultInWords: string }
      : OptionText
    : never;
};

/** The options of a table of settings. */
export type Described<T> = { readonly [Name in keyof T]: T[Name] & OptionText };

/** Adds the texts to a table of settings. */
export function described<T extends SettingTable>(table: T, texts: TextsOf<T>): Described<T> {
  const options = Object.entries(table).map(([name, setting]) => [name, { ...setting, ...texts[name] }]);
  return Object.fromEntries(options);
}

/** What an option does, with the section behind it. */
export function describeOption({ about, section }: OptionText): string {
  return section === undefined ? about : about.replace(/\.$/, ` (${section}).`);
}

/** The values of a table's options. */
export type ValuesOf<T> = {
  readonly [Name in keyof T]: T[Name] extends Setting<infer V, infer D> ? V | Extract<D, undefined> : never;
};

/** Narrows the values of an option. */
export interface Rule {
  /** Replaces a missing value. `undefined`: the usual default is allowed. */
  readonly byDefault: unknown;
  allows(value: unknown): boolean;
  /** Ends the sentence "expected …". */
  readonly expected: string;
}

/** Rules for some of the options, by name. */
export interface Narrowing {
  readonly rules: Readonly<Record<string, Rule | undefined>>;
  /** What requires them, for messages. */
  readonly source: string;
}

/**
 * The value of every option, defaults included. Functions are bound to the object that they came with.
 * @param place where the options are, such as `oidc`; without one they are the caller's whole object
 * @throws {ConfigurationError} names the option and what was expected
 */
export function readOptions<T extends SettingTable>(
  table: T,
  options: object,
  place?: string,
  { rules, source }: Narrowing = { rules: {}, source: '' },
): ValuesOf<T> {
  requireOptions(options, table, place);
  const values: Record<string, unknown> = {};
  for (const [name, { kind, byDefault, isRequired, isSecret }] of Object.entries(table)) {
    const value: unknown = Reflect.get(options, name);
    const path = place === undefined ? name : `${place}.${name}`;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    const usual = rule?.byDefault ?? byDefault;
    const read = value === undefined && isRequired !== true ? usual : kind.read(value);
    if (read === undefined && (value !== undefined || isRequired === true))
      throw new ConfigurationError(path, `${kind.expected}, got ${received(kind, value, isSecret)}`);
    if (rule?.allows(read) === false)
      throw new ConfigurationError(path, `${rule.expected}, because of ${source}`);
    // A bound function keeps its own members, such as `refusalOf` of `fetchDocument`.
    const isGivenFunction = typeof read === 'function' && value !== undefined;
    values[name] = isGivenFunction ? Object.assign(read.bind(options), read) : read;
  }
  return values as ValuesOf<T>;
}

/** What a value is that does not fit; of a list, which element does not. */
function received(kind: Kind<unknown>, value: unknown, isSecret?: boolean): string {
  if (!Array.isArray(value) || kind.misfitIn === undefined) return kindOf(value, isSecret);
  if (value.length === 0) return 'an empty list';
  const index = kind.misfitIn(value);
  return index === -1 ? 'a list' : `a list with ${kindOf(value[index], true)} at index ${index}`;
}

/** Characters of a received text that errors show. */
const LONGEST_SHOWN = 100;

/** What a value is. Of one that may be a secret, only what is needed to see the difference. */
function kindOf(value: unknown, isSecret = false): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (!isSecret && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (Array.isArray(value)) return 'a list';
  if (value === '') return 'an empty text';
  if (typeof value === 'string')
    return isSecret || value.length > LONGEST_SHOWN || value.includes('@') // a URL with a password
      ? `a text of ${value.length} characters`
      : `the text ${JSON.stringify(value)}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A setting with a fixed default. */
export function setting<V>(
  kind: Kind<V>,
  byDefault: NoInfer<V>,
  more: Pick<Setting<V>, 'needsRestart'> = {},
): Setting<V, V> {
  return { kind, byDefault, ...more };
}

/** A setting whose default is no value, or follows from something else. */
export function settingWithoutDefault<V>(
  kind: Kind<V>,
  more: Pick<Setting<V>, 'isSecret' | 'needsRestart'> = {},
): Setting<V, undefined> {
  return { kind, byDefault: undefined, ...more };
}

/** A setting that must be given. */
export function requiredSetting<V>(kind: Kind<V>): Setting<V, never> {
  return { kind, isRequired: true } as Setting<V, never>;
}

/** A setting with a fixed default, and its text. */
export function option<V>(
  group: Group,
  kind: Kind<V>,
  about: string,
  byDefault: NoInfer<V>,
  more: Pick<Option<V>, 'section' | 'defaultInWords' | 'needsRestart'> = {},
): Option<V, V> {
  return { group, kind, about, byDefault, ...more };
}

/** A setting whose default is no value, or follows from something else, and its text. */
export function optionWithoutDefault<V>(
  group: Group,
  kind: Kind<V>,
  about: string,
  defaultInWords: string,
  more: Pick<Option<V>, 'section' | 'isSecret' | 'needsRestart'> = {},
): Option<V, undefined> {
  return { group, kind, about, byDefault: undefined, defaultInWords, ...more };
}

// ── Kinds ─────────────────────────────────────────────────────────────────────────────────────────────────

export function wholeNumber(least: number, most: number): Kind<number> {
  const read = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined;
  return {
    expected: `a whole number from ${least} to ${most}`,
    type: 'number',
    placeholder: 'N',
    fromText: (text) => (/^\d{1,15}$/.test(text) ? read(Number(text)) : undefined),
    read,
  };
}

/** Seconds: ten years. Longer ones would not be exact in milliseconds. */
const LONGEST_LIFETIME = 10 * 365 * 24 * 60 * 60;

export function seconds(least: number, most = LONGEST_LIFETIME): Kind<number> {
  return {
    ...wholeNumber(least, most),
    expected: `whole seconds from ${least} to ${most}`,
    placeholder: 'SECONDS',
  };
}

/** An hour at most. */
export function milliseconds(least: number, most = 60 * 60 * 1000): Kind<number> {
  return {
    ...wholeNumber(least, most),
    expected: `whole milliseconds from ${least} to ${most}`,
    placeholder: 'MILLISECONDS',
  };
}

/** Placeholder of what is on or off; its flag alone means on. */
export const SWITCH = 'true|false';

export const trueOrFalse: Kind<boolean> = {
  expected: 'true or false',
  type: 'boolean',
  placeholder: SWITCH,
  fromText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

export function oneOf<T extends string>(...allowed: readonly T[]): Kind<T> {
  const find = (value: unknown) => allowed.find((item) => item === value);
  return {
    expected: allowed.length === 1 ? allowed.join() : `one of ${allowed.join(', ')}`,
    type: allowed.map((item) => `'${item}'`).join(' | '),
    placeholder: allowed.join('|'),
    isChoice: true,
    fromText: find,
    read: find,
  };
}

export function text(placeholder: string, expected: string, fits: (text: string) => boolean): Kind<string> {
  const read = (value: unknown) => (typeof value === 'string' && fits(value) ? value : undefined);
  return { expected, type: 'string', placeholder, fromText: read, read };
}

/** One text, or several as a list: each may hold any character, commas included. */
export function textOrArray(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): Kind<readonly string[]> {
  const read = (value: unknown) => textsOf(typeof value === 'string' ? [value] : value, fits, 1);
  return {
    expected,
    type: 'string | readonly string[]',
    placeholder,
    fromText: (text) => read(arrayOfTexts(text) ?? text),
    read,
    misfitIn: (list) => indexOfMisfit(list, fits),
  };
}

/** A list of texts; as text they are separated by commas, or a JSON array. */
export function textList(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
  least = 0,
): Kind<readonly string[]> {
  const read = (value: unknown) => textsOf(value, fits, least);
  return {
    expected,
    type: 'readonly string[]',
    placeholder,
    fromText: (text) => read(arrayOfTexts(text) ?? splitAtCommas(text)),
    read,
    misfitIn: (list) => indexOfMisfit(list, fits),
  };
}

/** A list of values, each one of those that are allowed. */
export function listOf<T extends string>(allowed: readonly T[], least = 0): Kind<readonly T[]> {
  const fits = (item: string) => allowed.some((known) => known === item);
  return textList('LIST', `a list of ${allowed.join(', ')}`, fits, least) as Kind<readonly T[]>;
}

/** One text, which stays one, or a list of them; as text they are separated by commas, or a JSON array. */
export function textOrList(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): Kind<string | readonly string[]> {
  const read = (value: unknown) =>
    typeof value === 'string' ? (fits(value) ? value : undefined) : textsOf(value, fits, 1);
  return {
    expected,
    type: 'string | readonly string[]',
    placeholder,
    fromText(text) {
      const list = arrayOfTexts(text) ?? splitAtCommas(text);
      return read(list.length === 1 ? list[0] : list);
    },
    read,
    misfitIn: (list) => indexOfMisfit(list, fits),
  };
}

/** A value that only code can give. */
export function hostValue<V>(
  expected: string,
  fits: (value: unknown) => boolean = (value) => value !== undefined,
): Kind<V> {
  return {
    expected,
    type: '',
    placeholder: 'VALUE',
    fromText: () => undefined,
    read: (value) => (fits(value) ? (value as V) : undefined),
  };
}

/** A function of the host. */
export function functionOf<F extends (...args: never[]) => unknown>(): Kind<F> {
  return hostValue<F>('a function', (value) => typeof value === 'function');
}

/** `true`, `false`, or a block of members that `read` accepts. */
export function switchOrBlock<B extends object>(
  expected: string,
  readBlock: (block: Readonly<Record<string, unknown>>) => B | undefined,
): Kind<boolean | B> {
  const members = block(expected, readBlock);
  const read = (value: unknown) => (typeof value === 'boolean' ? value : members.read(value));
  return {
    ...members,
    type: 'boolean | object',
    placeholder: SWITCH,
    fromText: (text) => read(parseJson(text)),
    read,
  };
}

/** A block of members that `readBlock` accepts; as text it is JSON. */
export function block<B extends object>(
  expected: string,
  readBlock: (block: Readonly<Record<string, unknown>>) => B | undefined,
): Kind<B> {
  const read = (value: unknown) => (isJsonObject(value) ? readBlock(value) : undefined);
  return { expected, type: 'object', placeholder: 'JSON', fromText: (text) => read(parseJson(text)), read };
}

function textsOf(
  value: unknown,
  fits: (text: string) => boolean,
  least: number,
): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length < least) return undefined;
  return indexOfMisfit(value, fits) === -1 ? Object.freeze(value.slice()) : undefined;
}

function indexOfMisfit(list: readonly unknown[], fits: (text: string) => boolean): number {
  return list.findIndex((item) => typeof item !== 'string' || !fits(item));
}

function splitAtCommas(text: string): readonly string[] {
  return text.split(',').map((item) => item.trim());
}

/** Only an array of texts is meant as JSON: digits alone would become a number and change. */
function arrayOfTexts(text: string): readonly string[] | undefined {
  const value = parseJson(text);
  return isListOfTexts(value) ? value : undefined;
}

// ── Options that are checked one by one where they are used ───────────────────────────────────────────────

/** The kinds of a function's options; the type requires one for each name. */
export type KindsOf<Options> = { readonly [Name in keyof Required<Options>]: Kind<unknown> };

export const anyFunction: Kind<unknown> = /* @__PURE__ */ functionOf();

export const anyValue: Kind<unknown> = /* @__PURE__ */ hostValue('a value');

export const anyText: Kind<string> = /* @__PURE__ */ text('TEXT', 'a text', () => true);

export const anyTexts: Kind<unknown> = /* @__PURE__ */ textOrList(
  'TEXTS',
  'a text or a list of texts',
  () => true,
);

/**
 * Refuses options with unknown names and values of a wrong type.
 * @throws {ConfigurationError} names the option and what was expected
 */
export function requireKinds(
  options: object,
  kinds: Readonly<Record<string, Kind<unknown>>>,
  place?: string,
  noun?: string,
): void {
  requireOptions(options, kinds, place, noun);
  for (const [name, kind] of Object.entries(kinds)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined || kind.read(value) !== undefined) continue;
    const path = place === undefined ? name : `${place}.${name}`;
    throw new ConfigurationError(path, `${kind.expected}, got ${received(kind, value, true)}`);
  }
}

/**
 * Refuses members with unknown names: a misspelt option would otherwise have no effect, and fail open. A block within
 * the options may be an instance of a host's class, which has members of its own.
 * @param known an object with a member for each name
 * @param place where the members are, such as `registration`; without one they are options themselves
 * @throws {ConfigurationError} names the first unknown member, and the known one that it resembles
 */
export function requireKnownNames(options: object, known: object, place?: string, noun?: string): void {
  if (place !== undefined && isInstance(options)) return;
  const names = Object.keys(known);
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const path = place === undefined ? unknown : `${place}.${unknown}`;
  throw new ConfigurationError(path, `one of ${names.join(', ')}`, unknownName(path, unknown, names, noun));
}

function isInstance(options: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(options);
  return prototype !== Object.prototype && prototype !== null;
}

/**
 * Options as an object with known names.
 * @throws {ConfigurationError} they are no object, or one has an unknown name
 */
export function requireOptions(options: unknown, known: object, place?: string, noun?: string): void {
  if (!isJsonObject(options)) throw new ConfigurationError(place ?? 'options', 'an object');
  requireKnownNames(options, known, place, noun);
}

/** The message for an unknown name; it suggests a known one, or else lists them. */
export function unknownName(
  path: string,
  unknown: string,
  names: readonly string[],
  noun = 'option',
): string {
  const similar = similarName(unknown, names);
  return similar === undefined
    ? `${path}: no such ${noun}; expected one of ${names.join(', ')}`
    : `${path}: no such ${noun}. Did you mean ${similar}?`;
}

/** The name that was probably meant; `undefined` if none resembles it. */
export function similarName(unknown: string, names: readonly string[]): string | undefined {
  const wanted = letters(unknown);
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    const candidate = letters(name);
    const isBeginning = wanted.length >= 4 && (candidate.startsWith(wanted) || wanted.startsWith(candidate));
    const edits = editDistance(wanted, candidate);
    // The beginning of a name stands for it, unless another one is nearer.
    if (!isBeginning && edits > Math.max(1, Math.floor(wanted.length / 3))) continue;
    const distance = isBeginning ? Math.min(edits, 1 + edits / 100) : edits;
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best?.name;
}

/** Case and separators do not matter: `--redirect-uri`, `redirect_uri` and `redirectUri` are the same name. */
function letters(name: string): string {
  return name
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours between two texts. */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const costs = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        costs.push((beforeLast[j - 2] ?? 0) + 1);
      row.push(Math.min(...costs));
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}
