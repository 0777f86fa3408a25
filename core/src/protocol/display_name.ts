/** Letters of these scripts go together in one name with Latin ones (UTS 39 §5.2, Highly Restrictive). */
const WITH_LATIN = [
  ['Han', 'Hiragana', 'Katakana'],
  ['Han', 'Bopomofo'],
  ['Han', 'Hangul'],
  // Scripts in general use that share no shapes with Latin (UTS 39 §5.2, Moderately Restrictive; UAX 31 table 5)
  ...['Arabic', 'Armenian', 'Bengali', 'Devanagari', 'Ethiopic', 'Georgian', 'Gujarati', 'Gurmukhi'],
  ...['Hebrew', 'Kannada', 'Khmer', 'Lao', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu'],
  ...['Thaana', 'Thai', 'Tibetan'],
];

/** Letters of these go with no other script: many look like Latin ones, or the script is rare. */
const ALONE = [
  ...['Cyrillic', 'Greek', 'Adlam', 'Balinese', 'Canadian_Aboriginal', 'Chakma', 'Cherokee', 'Javanese'],
  ...['Lisu', 'Mongolian', 'Nko', 'Osage', 'Syriac', 'Tai_Le', 'Tifinagh', 'Vai', 'Yi'],
];

const SCRIPT_SETS = [
  ...WITH_LATIN.map((scripts) => ['Latin', scripts].flat()),
  ...ALONE.map((one) => [one]),
].map((scripts) => {
  const classes = ['Common', 'Inherited', ...scripts].map((script) => `\\p{Script_Extensions=${script}}`);
  return new RegExp(`^[${classes.join('')}]*$`, 'u');
});

/** A space in any script, and characters that show nothing although they are letters or symbols. */
const BLANK = /[\s\p{Z}\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** Characters that show nothing; a variation selector behind an emoji only chooses its picture. */
const INVISIBLE = /(?!(?<=\p{Emoji})[\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}|\u2800/u;

/** More marks than any language puts on one letter (UTS 39 §5.4). */
const HEAPED_MARKS = /\p{M}{5}/u;

/**
 * Why a name could be taken for another, or for none, when a person reads it (Unicode Technical Standard 39).
 * @returns ends the sentence "expected …"; `undefined` for a name that reads as it is written
 */
export function unreadableName(name: string): string | undefined {
  if (/^\p{M}*$/u.test(name.replaceAll(BLANK, ''))) return 'a name that can be seen';
  if (INVISIBLE.test(name) || /^\p{M}/u.test(name)) return 'a name without invisible characters';
  if (HEAPED_MARKS.test(name)) return 'a name with at most four marks on a letter';
  if (!SCRIPT_SETS.some((set) => set.test(name.normalize('NFC')))) return 'a name in letters of one script';
  return undefined;
}
