// How names and email addresses are stored, compared and searched.
import { domainToASCII, domainToUnicode } from 'node:url';
import { type Claims, unreadableName } from '@grantd/core';

const MAX_LENGTH = 128;

/** Characters that show nothing (UAX 44, `Default_Ignorable_Code_Point`), such as a zero-width space. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A variation selector after an emoji selects a picture. */
const BLANK = `(?:\\s|(?!(?<=\\p{Extended_Pictographic})[\\uFE0E\\uFE0F])${INVISIBLE.source})`;
/** Looks for the end once in each run of blanks: a long text takes no long time. */
const BLANKS_AROUND = new RegExp(`^${BLANK}+|(?<!${BLANK})${BLANK}+$`, 'gu');

/** No name or address is as long. To normalize a long text with many marks, which anyone can send, takes very long. */
const MAX_TRIMMED = 1000;

/** A typed or copied text without blanks around it: white space, and what shows nothing. The end of a long text is cut. */
export function trimmed(text: string): string {
  return text.slice(0, MAX_TRIMMED).replaceAll(BLANKS_AROUND, '');
}

/** Whether a text can be a username. Other texts are never looked up. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= MAX_LENGTH && !/\p{C}/u.test(name);
}

/**
 * Why a text is not allowed as a new username.
 * @returns the end of a sentence “expected …”; `undefined` if the name is allowed
 */
export function nameProblem(text: string): string | undefined {
  if (!isName(text)) return `visible characters, at most ${MAX_LENGTH}`;
  // `иван@example.com`: the domain of an address is not chosen to match the letters before it.
  const unreadable = partsOf(nameAsKept(text))
    .map(unreadableName)
    .find((problem) => problem !== undefined);
  if (unreadable !== undefined) return unreadable;
  // RFC 8264 §9.17: identifiers exclude characters with a compatibility mapping, except other widths, which are mapped.
  const name = nameAsKept(text);
  return plainWidth(name).normalize('NFKC') === plainWidth(name)
    ? undefined
    : 'letters in their ordinary form';
}

/**
 * Normalizes a name for storage, lookup and display: canonically equivalent spellings are equal, and blanks around the
 * name do not count, because the keyboards of phones add some, and web pages hide some in what is copied.
 */
export function nameAsKept(text: string): string {
  return trimmed(text).normalize('NFC');
}

/** What is before and after the last `@` of an address. Any other text is one part. */
function partsOf(text: string): readonly string[] {
  const at = text.lastIndexOf('@');
  return at <= 0 || at === text.length - 1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** An address with its domain in another form, if it has one. */
function withDomain(address: string, form: (domain: string) => string): string {
  const [local = '', domain] = partsOf(address);
  return domain === undefined ? address : `${local}@${form(domain) || domain}`;
}

/** Lower-case letters of other scripts with the Latin letters that they resemble in either case (UTS 39 §4). */
const LOOKALIKES: readonly (readonly [letters: string, resembles: string])[] = [
  ['авсԁеһіјкмнорԛѕтуԝхӏ', 'abcdehijkmhopqstywxl'], // Cyrillic
  ['αβεηικμνορςτυχζ', 'abehikmvopσtyxz'], // Greek; its final sigma is a sigma
];

const RESEMBLES: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.flatMap(([letters, resembles]) =>
    Array.from(letters, (letter, index) => [letter, resembles.charAt(index)] as const),
  ),
);

/**
 * A key that confusable names share: ignores width, case (RFC 8265 §3.3, UsernameCaseMapped), invisible characters, the
 * number of spaces, look-alike letters of other scripts, and whether a domain is in Punycode. Each key belongs to one
 * user (ADR 54).
 */
export function nameKey(text: string): string {
  const lowered = lowerCase(text.replaceAll(INVISIBLE, '')).replaceAll(/\s+/g, ' ');
  return likeLatin(lowered.includes('@') ? withDomain(lowered, unicodeDomain) : lowered);
}

/** The key of a name, and the one of earlier versions: with invisible characters, all spaces, and a domain in Punycode. */
export function nameKeysOf(text: string) {
  return { nameKey: nameKey(text), formerKey: likeLatin(lowerCase(text)) };
}

function lowerCase(text: string): string {
  return trimmed(text).normalize('NFKC').toLowerCase();
}

/** In letters that look alike, the Latin ones. */
export function likeLatin(lowered: string): string {
  return lowered.replaceAll(/./gsu, (letter) => RESEMBLES.get(letter) ?? letter).normalize('NFC');
}

/** A domain in Punycode as Unicode. Others stay as they are. @returns empty if it is no domain */
function unicodeDomain(domain: string): string {
  return domain.includes('xn--') ? domainToUnicode(domain) : domain;
}

/** Maximum spellings of a name in one script. */
const MAX_SPELLINGS = 16;

/**
 * Spellings that readers confuse with a name, for users who are looked up elsewhere: as given, and in the letters of each
 * script whose letters resemble all of it. No username has letters of several of these scripts.
 * @returns `undefined` if there are too many
 */
export function spellingsOf(text: string): ReadonlySet<string> | undefined {
  const key = nameKey(text);
  const spellings = new Set([nameAsKept(text), key]);
  for (const [letters, resembles] of LOOKALIKES) {
    const choices = Array.from(key, (character) => {
      const own = Array.from(letters).filter((_, index) => resembles.charAt(index) === character);
      return own.length > 0 || /\p{L}/u.test(character) ? own : [character];
    });
    if (choices.reduce((product, { length }) => product * length, 1) > MAX_SPELLINGS) return undefined;
    const some = choices.reduce<readonly string[]>(
      (begun, own) => begun.flatMap((start) => own.map((end) => start + end)),
      [''],
    );
    for (const one of some) spellings.add(one);
  }
  return spellings;
}

/** Fullwidth and halfwidth letters (Unicode: U+FF00 to U+FFEF) in their ordinary form (RFC 8265 §3.3.2). */
function plainWidth(name: string): string {
  return name.replaceAll(/[\uFF00-\uFFEF]+/g, (wide) => wide.normalize('NFKC'));
}

/** Claims that a search finds, besides the username. */
const SEARCHED_CLAIMS = ['email', 'name', 'given_name', 'family_name', 'phone_number'];

/** The start of a word: after punctuation, or an ideograph, because nothing separates these from others. */
const WORD_START = /(?<![^\p{P}\p{Z}\p{C}+])[^\p{P}\p{Z}\p{C}+]|\p{Ideographic}/gu;

/** Words of a user. */
const MAX_WORDS = 50;
/** Words of a search. The others do not count. */
const MAX_TERMS = 10;
/** Characters of a word, and of a text that begins with it. */
const MAX_WORD = 64;

/** Parts of a text without blanks in them. Parts that readers confuse are the same, also a domain in Punycode. */
function searchParts(text: string): readonly string[] {
  const parts = lowerCase(text.replaceAll(INVISIBLE, '')).split(/[\s\p{C}"\\]+/u);
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const domain = part.slice(part.lastIndexOf('@') + 1);
      return likeLatin(part.slice(0, part.length - domain.length) + (unicodeDomain(domain) || domain));
    });
}

function cutWord(text: string): string {
  return text.slice(0, MAX_WORD).toWellFormed();
}

/**
 * What a search finds a user by, each after a line break: the parts of their texts from each word on (ADR 202). From
 * `ada.byron@example.com`, these are `ada.byron@example.com`, `byron@example.com`, `example.com` and `com`.
 */
export function searchTextOf({ name, claims }: { readonly name: string; readonly claims: Claims }): string {
  const texts = SEARCHED_CLAIMS.map((claim) => claims[claim]).filter((value) => typeof value === 'string');
  const found = [name, ...texts]
    .flatMap(searchParts)
    .flatMap((part) => Array.from(part.matchAll(WORD_START), ({ index }) => cutWord(part.slice(index))));
  const words = [...new Set(found)].slice(0, MAX_WORDS).sort();
  // A search for the beginning of a word finds the longer one too.
  return `\n${words.filter((word, index) => !words[index + 1]?.startsWith(word)).join('\n')}`;
}

/**
 * What words of a user begin with, if a search finds the user: the longest first, because it finds the fewest users.
 * Punctuation around a part does not count, as in `Byron, Ada` and `Smith & Co`.
 */
export function searchTerms(search: string): readonly string[] {
  const terms = searchParts(search).flatMap((part) => {
    const at = part.search(WORD_START);
    return at === -1 ? [] : [cutWord(part.slice(at).replace(/(?<!\p{P})\p{P}+$/u, ''))];
  });
  const longestFirst = [...new Set(terms)].sort((one, other) => other.length - one.length);
  // No word begins with a line break.
  return terms.length === 0 ? ['\n'] : longestFirst.slice(0, MAX_TERMS);
}

/** Letters that become ASCII ones when they are normalized or lowered. To some mail servers, they are other letters. */
const ALMOST_ASCII = /[\u212A\u0130\u037E\u1FEF]/;

/**
 * An email address in the form in which addresses are compared: in lower case, with the domain as the mailer sends it
 * (UTS 46, Punycode), and without blanks around it (ADR 131).
 */
export function emailKey(address: string): string {
  return withDomain(foldAscii(trimmed(address)), asciiDomain).replace(/^[^@]*/, (local) =>
    ALMOST_ASCII.test(local) ? local : local.normalize('NFC').toLowerCase(),
  );
}

/** The domain of an email address, as `emailKey`. @returns `undefined` without one */
export function emailDomain(address: string): string | undefined {
  return partsOf(emailKey(address))[1];
}

/** A trailing dot ends the name at the root. @returns empty if it is no domain */
function asciiDomain(domain: string): string {
  return domainToASCII(domain).replace(/\.$/, '');
}

/** As earlier versions stored keys of addresses, and as their migration did in SQL. */
function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The key of an address, and those that earlier versions may have stored for it. */
export function emailKeysOf(address: string) {
  const key = emailKey(address);
  return {
    emailKey: key,
    foldedEmail: foldAscii(trimmed(address)),
    unicodeEmail: withDomain(key, unicodeDomain),
  };
}

/** The key of a verified email address. @returns `undefined` without one */
export function verifiedEmailOf({ email, email_verified: isVerified }: Claims): string | undefined {
  return typeof email === 'string' && isVerified === true ? emailKey(email) : undefined;
}
