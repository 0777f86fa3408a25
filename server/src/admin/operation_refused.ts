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
export interface InEnglish {
  readonly english: string;
}

export function englishOf(said: Said | InEnglish): string {
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
  readonly #each: readonly OperationRefused[];

  /**
   * @param advice for users of the command line, after a colon
   * @param each if it stands for several
   */
  constructor(
    kind: RefusalKind,
    said: Said | InEnglish,
    advice?: string,
    member?: string,
    each: readonly OperationRefused[] = [],
  ) {
    const problem = englishOf(said);
    const own = advice === undefined ? `${problem}.` : `${problem}: ${advice}`;
    super(each.length === 0 ? own : each.map(({ message }) => message).join('\n'));
    this.kind = kind;
    this.problem = problem;
    this.advice = advice;
    this.member = member;
    this.said = 'english' in said ? undefined : said;
    this.#each = each.length === 0 ? [this] : each;
  }

  /** One for each reason. */
  get each(): readonly OperationRefused[] {
    return this.#each;
  }

  /** What is wrong, each at the value that does not fit. Without one, at an empty place. */
  get errors(): readonly ValueProblem[] {
    return this.#each.map(({ member = '', problem, said, advice }) => ({
      ...{ in: member === '' ? '' : pointerTo(member), detail: problem },
      ...(said !== undefined && { said }),
      ...(advice !== undefined && { advice }),
    }));
  }

  /** One refusal for several. @param found at least one */
  static together(found: readonly OperationRefused[]): OperationRefused {
    const [first, ...others] = found.flatMap((error) => error.each);
    if (first === undefined) throw new Error('expected an error');
    if (others.length === 0) return first;
    const all = [first, ...others];
    const english = all.map(({ problem }) => problem).join('; ');
    return new OperationRefused(first.kind, { english }, undefined, undefined, all);
  }
}

/** One invalid value. */
export interface ValueProblem {
  /** JSON Pointer in the input (RFC 6901), or the name of a parameter or header. */
  readonly in: string;
  readonly detail: string;
  /** What `detail` says, for other languages. */
  readonly said?: Said;
  /** For users of the command line. */
  readonly advice?: string;
}

/** Values are invalid, independently of what is stored. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  /** The name of the first value. */
  readonly member: string;
  /** What is wrong with it. Follows the name and a colon. */
  readonly problem: string;
  /** The same for other languages, unless it is only known in English. */
  readonly said: Said | InEnglish;
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
    this.said = said;
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
      errors.map(
        (error) => new InvalidInput(memberOf(error.in), error.said ?? { english: error.detail }, [error]),
      ),
    );
  }

  /** One error for several. @param found at least one */
  static together(found: readonly InvalidInput[]): InvalidInput {
    const [first, ...others] = found.flatMap((error) => error.each);
    if (first === undefined) throw new Error('expected an error');
    return others.length === 0 ? first : new InvalidInput(first.member, first.said, first.errors, others);
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

/** Checks of values against what is stored. They do not depend on each other. */
export type StoredChecks = readonly (() => Promise<void>)[];

/** @throws {OperationRefused} with every conflict that the checks find. Another refusal comes before all conflicts (ADR 227) */
export async function requireEachFits(checks: StoredChecks): Promise<void> {
  const found: OperationRefused[] = [];
  for (const check of checks)
    try {
      await check();
    } catch (error) {
      if (!(error instanceof OperationRefused) || error.kind !== 'conflict') throw error;
      found.push(error);
    }
  if (found.length > 0) throw OperationRefused.together(found);
}

/** `claims.email` as a JSON Pointer. */
function pointerTo(member: string): string {
  return `/${member.replaceAll('~', '~0').replaceAll('/', '~1').replace('.', '/')}`;
}

/** The names in a JSON Pointer. */
export function partsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** `/claims/email` as `claims.email`. */
export function memberOf(pointer: string): string {
  return pointer.replace(/^\//, '').replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}
