// How operations are typed and printed on the command line. The commands, their flags, --help and the page of commands
// derive from it (server/src/cli/operation_commands.ts).
import type { OptionName } from '../config/options.ts';

/** How a member of the input is given. What is left out comes from the schema of the member. */
export interface FlagForm {
  /** Default: the name of the member, with hyphens. */
  readonly flag?: string;
  readonly about?: string;
  /** Default: from the type of the value. */
  readonly placeholder?: string;
  /** What `--no-FLAG` means, which gives the value `null`. */
  readonly negated?: string;
  /** The flag says that the value is on standard input, because it is secret. */
  readonly isOnInput?: true;
}

/** Pages of a list, which a command reads one after the other. */
export interface PagesForm {
  /** The flag with the place at which the list begins. */
  readonly begin?: {
    readonly flag: string;
    readonly about: string;
    readonly placeholder: string;
    /** What the cursor is made of. @returns `undefined` if the text is no place */
    place(text: string): string | number | undefined;
  };
  /** The flag `--limit`. Without it, the command always prints the whole list. */
  readonly limit?: { readonly about: string; readonly byDefault?: number };
}

/** A cell of a table. */
type Cell<T> = { cell(item: T): string }['cell'];

type ItemOf<O> = O extends { readonly items: readonly (infer Item)[] } ? Item : never;

/** The input of a command, with the name of the user that it is about. */
export type Named<I> = I & { readonly username: string };

/** A command whose operation is not known. */
export type AnyCommandForm = CommandForm<never, never>;

export interface CommandForm<I, O> {
  /**
   * As it is typed, with members of the input in angle brackets. The member `sub` is typed as a username.
   * @example 'group remove <group>'
   */
  readonly line: string;
  /** Default: the summary of the operation. */
  readonly about?: string;
  /** Notes and examples below the flags. */
  readonly notes?: string;
  readonly flags?: { readonly [Member in keyof I & string]?: FlagForm };
  readonly pages?: PagesForm;
  /** Options of the server that the command needs, besides those of every command. */
  readonly options?: readonly OptionName[];
  /** Whether it may make the database, because things can exist before the first start of a server. */
  readonly createsDatabase?: true;
  /** Requires `--yes`, because it removes something. What to do instead, if there is something. */
  readonly isFinal?: string;
  /** The table that is printed for a list. */
  readonly columns?: Readonly<Record<string, Cell<ItemOf<O>>>>;
  /** Whether the exit code says that something is wrong. */
  fails?(document: O): boolean;
  /** What is printed, after the table if there is one. */
  lines?(document: O, input: Named<I>): string | readonly string[];
}

/** Formats labels and values, one per line, without undefined values. */
export function labelled(values: Readonly<Record<string, string | undefined>>): readonly string[] {
  const known = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const width = Math.max(0, ...known.map(([label]) => label.length));
  return known.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
}
