// How operations refuse. Each face shows it in its own way.
import { Refused } from '../config/refused.ts';
import { REFUSALS } from '../texts/en/refusals.ts';

/**
 * Why an operation was refused: `not_found`, `conflict` with what is stored, `changed` in the meantime, `outdated` if the
 * caller has seen another version, or `forbidden` to this caller.
 */
export type RefusalKind = 'not_found' | 'conflict' | 'changed' | 'outdated' | 'forbidden';

type Sentences = Readonly<Record<string, (...names: string[]) => string>>;

/** A code of a table of sentences, and what its sentence names. */
export type SaidIn<T extends Sentences> = {
  [Code in keyof T]: readonly [code: Code, ...names: Parameters<T[Code]>];
}[keyof T];

/** What a code says in the words of a language. @param sentences of the language */
export function sentenceIn<T extends Sentences>(sentences: T, [code, ...names]: SaidIn<T>): string {
  // Each code has a sentence.
  const say = sentences[code] as (...names: string[]) => string;
  return say(...names);
}

/** The same as a whole sentence. A name at its beginning stays as it is. */
export function wholeSentenceIn<T extends Sentences>(sentences: T, said: SaidIn<T>): string {
  const text = sentenceIn(sentences, said);
  const [, ...names] = said;
  const begins = names.some((name) => name !== '' && text.startsWith(name));
  const first = begins ? text : text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** Why something is refused. Texts of each language have a sentence for it. */
export type Said = SaidIn<typeof REFUSALS>;

/** The sentence about a refusal, in the words of a language. Default: English. */
export function sentenceAbout(said: Said, refusals = REFUSALS): string {
  return sentenceIn(refusals, said);
}

/** What another server said, or several problems together. */
interface InEnglish {
  readonly english: string;
}

function englishOf(said: Said | InEnglish): string {
  return 'english' in said ? said.english : sentenceAbout(said);
}

/** The operation cannot be done with what is stored now. Nothing was changed. */
export class OperationRefused extends Refused {
  readonly kind: RefusalKind;
  /** What is wrong, without advice for users of the command line. */
  readonly problem: string;
  readonly advice: string | undefined;
  /** The member of the input whose value does not fit what is stored. */
  readonly member: string | undefined;
  /** Absent if another server refused. */
  readonly said: Said | undefined;

  /** @param advice for users of the command line, after a colon */
  constructor(kind: RefusalKind, said: Said | InEnglish, advice?: string, member?: string) {
    const problem = englishOf(said);
    super(advice === undefined ? `${problem}.` : `${problem}: ${advice}`);
    this.kind = kind;
    this.problem = problem;
    this.advice = advice;
    this.member = member;
    this.said = 'english' in said ? undefined : said;
  }
}

/** One invalid value. */
export interface ValueProblem {
  /** JSON Pointer in the input (RFC 6901), or the name of a parameter or header. */
  readonly in: string;
  readonly detail: string;
  /** What `detail` says, for other languages. */
  readonly said?: Said;
}

/** A value is invalid, independently of what is stored. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  /** The name of the value. */
  readonly member: string;
  /** Follows the name and a colon. */
  readonly problem: string;
  readonly errors: readonly ValueProblem[];

  constructor(member: string, said: Said | InEnglish, errors?: readonly ValueProblem[]) {
    const problem = englishOf(said);
    super(member === '' ? problem : `${member}: ${problem}`);
    this.member = member;
    this.problem = problem;
    this.errors = errors ?? [
      { in: pointerTo(member), detail: problem, ...(!('english' in said) && { said }) },
    ];
  }

  /** @param errors at least one */
  static of(errors: readonly ValueProblem[]): InvalidInput {
    const [first = { in: '', detail: 'invalid' }, ...others] = errors;
    const more = others
      .map(({ in: pointer, detail }) => `; ${pointer === '' ? '' : `${memberOf(pointer)}: `}${detail}`)
      .join('');
    return new InvalidInput(memberOf(first.in), { english: `${first.detail}${more}` }, errors);
  }
}

/** `claims.email` as a JSON Pointer. */
function pointerTo(member: string): string {
  return `/${member.replaceAll('~', '~0').replaceAll('/', '~1').replace('.', '/')}`;
}

/** `/claims/email` as `claims.email`. */
function memberOf(pointer: string): string {
  return pointer.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}
