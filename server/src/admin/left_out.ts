import { wholeSentenceIn } from '../config/said.ts';
import type { LineReport } from '../people/import.ts';
import type { IMPORT_FAULTS, ImportFault } from '../people/import_faults.ts';

/** Kinds that a command or a page shows. */
const MAX_KINDS = 20;

/** Something that an import left out of lines, or for which it refused them. */
export interface LeftOutKind {
  /** Of the first line. What differs from user to user is in parentheses in each sentence. */
  readonly fault: ImportFault;
  users: number;
}

/** Counts what an import left out, or why it refused lines, by kind. */
export class LeftOut {
  readonly #byKind = new Map<string, LeftOutKind>();
  /** Users with anything of it. */
  users = 0;

  /** @param faults of one line */
  count(faults: LineReport['warnings'] = []): void {
    if (faults.length > 0) this.users += 1;
    const kinds = new Map(faults.map((fault) => [withoutDetails(String(fault)), fault]));
    for (const [kind, fault] of kinds) {
      const known = this.#byKind.get(kind);
      if (known === undefined) this.#byKind.set(kind, { fault, users: 1 });
      else known.users += 1;
    }
  }

  /** The kinds, most frequent first, and the number of further ones. */
  get kinds(): { readonly first: readonly LeftOutKind[]; readonly more: number } {
    const kinds = [...this.#byKind.values()].sort((one, other) => other.users - one.users);
    return { first: kinds.slice(0, MAX_KINDS), more: Math.max(0, kinds.length - MAX_KINDS) };
  }

  /** As a command prints them. */
  lines(): readonly string[] {
    const { first, more } = this.kinds;
    const shown = first.map(
      ({ fault, users }) => `${users === 1 ? '1 user' : `${users} users`}: ${withoutDetails(String(fault))}`,
    );
    return more > 0 ? [...shown, `and ${more} more kinds`] : shown;
  }
}

/** What was left out, in the words of a language. */
export function leftOutSentence({ fault }: LeftOutKind, sentences: typeof IMPORT_FAULTS): string {
  return withoutDetails(wholeSentenceIn(sentences, fault.said));
}

function withoutDetails(sentence: string): string {
  return sentence.replaceAll(/ \(.*?\)(?=:)/g, '');
}
