import { unreadableName } from '@grantd/core';

const LONGEST = 128;

/** Whether a text could be the name of a person: only such a name is looked up. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= LONGEST && name.trim() === name && !/\p{C}/u.test(name);
}

/**
 * Why a name cannot be given to a person.
 * @returns ends the sentence "expected …"; `undefined` for a name that can be given
 */
export function nameProblem(text: string): string | undefined {
  if (!isName(text)) return `visible characters, at most ${LONGEST}, without space around them`;
  const unreadable = unreadableName(text);
  if (unreadable !== undefined) return unreadable;
  // RFC 8264 §9.17: characters with a compatibility mapping are not for identifiers; other widths are mapped.
  const name = nameAsKept(text);
  return plainWidth(name).normalize('NFKC') === plainWidth(name)
    ? undefined
    : 'letters in their ordinary form';
}

/** A name as it is shown: canonically equivalent spellings are one. */
export function nameAsKept(text: string): string {
  return text.normalize('NFC');
}

/** Letters of other scripts, in lower case, beside those that they are taken for in either case (UTS 39 §4). */
const LOOK_ALIKES: readonly (readonly [letters: string, takenFor: string])[] = [
  ['авсԁеһіјкмнорԛѕтуԝхӏ', 'abcdehijkmhopqstywxl'], // Cyrillic
  ['αβεηικμνορςτυχζ', 'abehikmvopσtyxz'], // Greek; its final sigma is a sigma
];

const TAKEN_FOR: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.flatMap(([letters, takenFor]) =>
    Array.from(letters, (letter, index) => [letter, takenFor.charAt(index)] as const),
  ),
);

/**
 * What two names have in common that a reader takes for the same one: without regard to width, case (RFC 8265
 * §3.3, UsernameCaseMapped) and letters of another script that look alike. Nobody else can have a name with this key.
 */
export function nameKey(text: string): string {
  const lowered = text.normalize('NFKC').toLowerCase();
  return Array.from(lowered, (letter) => TAKEN_FOR.get(letter) ?? letter)
    .join('')
    .normalize('NFC');
}

/** Fullwidth and halfwidth letters (Unicode: U+FF00 to U+FFEF) in their ordinary form (RFC 8265 §3.3.2). */
function plainWidth(name: string): string {
  return name.replaceAll(/[\uFF00-\uFFEF]+/g, (wide) => wide.normalize('NFKC'));
}
