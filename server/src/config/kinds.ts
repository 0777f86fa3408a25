/** A kind of value: how it is written as text and in JSON, and what to say where it does not fit. */
export interface Kind<T> {
  /** Ends the sentence "expected …". Values themselves are never repeated: one of them may be a secret. */
  readonly expected: string;
  /** Stands for the value in the help. */
  readonly placeholder: string;
  /** From a flag or the environment; `undefined` where it does not fit. */
  fromText(text: string): T | undefined;
  /** From the configuration file; `undefined` where it does not fit. */
  fromJson(value: unknown): T | undefined;
}

export function wholeNumber(least: number, most: number): Kind<number> {
  const fromJson = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined;
  return {
    expected: `a whole number from ${least} to ${most}`,
    placeholder: 'N',
    fromText: (text) => (/^\d{1,15}$/.test(text) ? fromJson(Number(text)) : undefined),
    fromJson,
  };
}

/** Ten years at most where nothing else is said, as in the library. */
export function seconds(least: number, most = 10 * 365 * 24 * 60 * 60): Kind<number> {
  return { ...wholeNumber(least, most), placeholder: 'SECONDS' };
}

/** An hour at most. */
export function milliseconds(least: number): Kind<number> {
  return { ...wholeNumber(least, 60 * 60 * 1000), placeholder: 'MILLISECONDS' };
}

/** Placeholder of what is on or off; its flag alone means on. */
export const SWITCH = 'true|false';

export const trueOrFalse: Kind<boolean> = {
  expected: 'true or false',
  placeholder: SWITCH,
  fromText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  fromJson: (value) => (typeof value === 'boolean' ? value : undefined),
};

export function oneOf<T extends string>(...allowed: readonly T[]): Kind<T> {
  const find = (value: unknown) => allowed.find((one) => one === value);
  return {
    expected: `one of ${allowed.join(', ')}`,
    placeholder: allowed.join('|'),
    fromText: find,
    fromJson: find,
  };
}

export function text(placeholder: string, expected: string, fits: (text: string) => boolean): Kind<string> {
  const read = (value: unknown) => (typeof value === 'string' && fits(value) ? value : undefined);
  return { expected, placeholder, fromText: read, fromJson: read };
}

/** One text, or several as a JSON array: a text that may hold any character, commas and digits alone included. */
export function textOrArray(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): Kind<readonly string[]> {
  return texts(placeholder, expected, fits, (given) => [given]);
}

/** One text or several: separated by commas, or as a JSON array. */
export function textList(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
): Kind<readonly string[]> {
  return texts(placeholder, expected, fits, (given) => given.split(',').map((one) => one.trim()));
}

function texts(
  placeholder: string,
  expected: string,
  fits: (text: string) => boolean,
  split: (given: string) => readonly string[],
): Kind<readonly string[]> {
  const fromJson = (value: unknown) => {
    const list: unknown[] = Array.isArray(value) ? value : [value];
    const texts = list.filter((one) => typeof one === 'string').filter(fits);
    return texts.length > 0 && texts.length === list.length ? texts : undefined;
  };
  return {
    expected,
    placeholder,
    fromText: (given) => fromJson(arrayOfTexts(given) ?? split(given)),
    fromJson,
  };
}

/** `true`, `false`, or a block of members that `read` accepts. */
export function switchOrBlock<B extends object>(
  expected: string,
  read: (block: Readonly<Record<string, unknown>>) => B | undefined,
): Kind<boolean | B> {
  const fromJson = (value: unknown) => {
    if (typeof value === 'boolean') return value;
    return isBlock(value) ? read(value) : undefined;
  };
  return { expected, placeholder: SWITCH, fromText: (given) => fromJson(parsedJson(given)), fromJson };
}

export function isBlock(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Only an array of texts is meant as JSON: digits alone would be a number, and lose what they say. */
function arrayOfTexts(given: string): readonly string[] | undefined {
  const value = parsedJson(given);
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

function parsedJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}
