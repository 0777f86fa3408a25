// How operations refuse. Each face shows it in its own way.
import { Refused } from '../config/refused.ts';
import { type SaidIn, sentenceIn } from '../config/said.ts';
import { REFUSALS } from '../texts/en/refusals.ts';

/**
 * Why an operation was refused: `not_found`, `conflict` with what is stored, `changed` in the meantime, `outdated` if the
 * caller has seen another version, or `forbidden` to this caller.
 */
export type RefusalKind = 'not_found' | 'conflict' | 'changed' | 'outdated' | 'forbidden';

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

/** Values are invalid, independently of what is stored. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  /** The name of the first value. */
  readonly member: string;
  /** What is wrong with it. Follows the name and a colon. */
  readonly problem: string;
  /** Of all values. */
  readonly errors: readonly ValueProblem[];
  readonly #each: readonly InvalidInput[];

  constructor(
    member: string,
    said: Said | InEnglish,
    errors?: readonly ValueProblem[],
    others: readonly InvalidInput[] = [],
  ) {
    const problem = englishOf(said);
    const own = errors ?? [{ in: pointerTo(member), detail: problem, ...(!('english' in said) && { said }) }];
    super(
      [member === '' ? problem : `${member}: ${problem}`, ...others.map(({ message }) => message)].join('; '),
    );
    this.member = member;
    this.problem = problem;
    this.errors = [...own, ...others.flatMap((other) => other.errors)];
    this.#each = others.length === 0 ? [this] : [new InvalidInput(member, said, own), ...others];
  }

  /** One for each value. */
  get each(): readonly InvalidInput[] {
    return this.#each;
  }

  /** @param errors at least one */
  static of(errors: readonly ValueProblem[]): InvalidInput {
    return InvalidInput.together(
      errors.map((error) => new InvalidInput(memberOf(error.in), { english: error.detail }, [error])),
    );
  }

  /** One error for several. @param found at least one */
  static together(found: readonly InvalidInput[]): InvalidInput {
    const [first, ...others] = found.flatMap((error) => error.each);
    if (first === undefined) throw new Error('expected an error');
    return others.length === 0
      ? first
      : new InvalidInput(first.member, { english: first.problem }, first.errors, others);
  }
}

/** Checks that do not depend on each other. Each throws an `InvalidInput`. */
export type Checks = readonly (() => void)[];

/** The check of a value, if there is one. */
export function ifGiven<T>(value: T | undefined, check: (value: T) => void): () => void {
  return () => {
    if (value !== undefined) check(value);
  };
}

/** What checks refuse. */
export function refusedBy(checks: Checks): readonly InvalidInput[] {
  const found: InvalidInput[] = [];
  for (const check of checks)
    try {
      check();
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      found.push(...error.each);
    }
  return found;
}

/** @throws {InvalidInput} with everything that the checks refuse */
export function requireEach(checks: Checks): void {
  const found = refusedBy(checks);
  if (found.length > 0) throw InvalidInput.together(found);
}

/** `claims.email` as a JSON Pointer. */
function pointerTo(member: string): string {
  return `/${member.replaceAll('~', '~0').replaceAll('/', '~1').replace('.', '/')}`;
}

/** `/claims/email` as `claims.email`. */
function memberOf(pointer: string): string {
  return pointer.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}
