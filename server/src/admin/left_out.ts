import type { LineReport } from '../people/import.ts';

/** Kinds that a command prints. */
const MAX_KINDS = 20;

/** Counts what an import left out, by kind. What differs from user to user is in parentheses in each warning. */
export class LeftOut {
  readonly #byKind = new Map<string, number>();
  /** Users of whom something was left out. */
  users = 0;

  count({ warnings = [] }: Pick<LineReport, 'warnings'>): void {
    if (warnings.length > 0) this.users += 1;
    for (const kind of new Set(warnings.map((warning) => warning.replaceAll(/ \(.*?\)(?=:)/g, ''))))
      this.#byKind.set(kind, (this.#byKind.get(kind) ?? 0) + 1);
  }

  /** The kinds, most frequent first. */
  lines(): readonly string[] {
    const kinds = [...this.#byKind].sort(([, one], [, other]) => other - one);
    const shown = kinds.slice(0, MAX_KINDS).map(([kind, users]) => `${counted(users)}: ${kind}`);
    const more = kinds.length - shown.length;
    return more > 0 ? [...shown, `and ${more} more kinds`] : shown;
  }
}

function counted(users: number): string {
  return users === 1 ? '1 user' : `${users} users`;
}
