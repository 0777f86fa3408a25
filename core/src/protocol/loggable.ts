/** Opaque values of this server, and anything that looks like a JWT or like the beginning of one. */
const BEARERS = /grantd_(at|rt|ac|cs|ra|ia)_[\w.-]+|ey[\w-]{8,}\.[\w-]+(\.[\w-]*|$)/g;

/** Control characters, and those that reorder or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Characters that a log shows of a request's value. */
const LONGEST_VALUE = 256;

/** A text without bearer values. Remove them before cutting a text: a cut value is no longer recognizable. */
export function withoutBearers(text: string): string {
  return text.replace(BEARERS, '[removed]');
}

/** The value of a request as a log may show it: without bearer values, escaped, at most 256 characters. */
export function loggable(value: string): string {
  const printable = withoutBearers(value.slice(0, 4 * LONGEST_VALUE)).replace(UNPRINTABLE, escaped);
  return printable.length > LONGEST_VALUE ? `${printable.slice(0, LONGEST_VALUE - 1)}…` : printable;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
