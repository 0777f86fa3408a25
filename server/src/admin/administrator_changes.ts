// Who becomes an administrator by a plan, and who stops being one.
import { count, named, object, texts, type ValueOf } from './schema.ts';

/** Users of a plan whose names it has. */
const MAX_NAMES = 10;

const users = (about: string) =>
  object(
    {
      count: count('Number of these users.'),
      usernames: texts(`The usernames of the first ${MAX_NAMES} of them.`),
    },
    { description: about },
  );

export const ADMINISTRATOR_CHANGES = named(
  'AdministratorChanges',
  object({
    'become?': users('Users who become administrators. Absent if there are none.'),
    'stop?': users('Users who stop being administrators. Absent if there are none.'),
  }),
);
export type AdministratorChanges = ValueOf<typeof ADMINISTRATOR_CHANGES>;

/** What a plan does to a user. */
export type AdministratorChange = keyof AdministratorChanges;

/** Counts the users of a plan. */
export class AdministratorCounts {
  readonly #byChange = new Map<AdministratorChange, { count: number; readonly usernames: string[] }>();

  add(change: AdministratorChange, usernames: readonly string[]): void {
    if (usernames.length === 0) return;
    const before = this.#byChange.get(change) ?? { count: 0, usernames: [] };
    before.count += usernames.length;
    before.usernames.push(...usernames.slice(0, MAX_NAMES - before.usernames.length));
    this.#byChange.set(change, before);
  }

  /** @returns `undefined` if the plan leaves all administrators as they are */
  get changes(): AdministratorChanges | undefined {
    return this.#byChange.size === 0 ? undefined : Object.fromEntries(this.#byChange);
  }
}

const IN_WORDS = {
  planned: {
    become: 'would become administrators, who can change everything on this server',
    stop: 'would stop being administrators',
  },
  done: {
    become: 'are now administrators, who can change everything on this server',
    stop: 'are no longer administrators',
  },
} as const;

/** As commands print it. @param tense whether it has happened */
export function administratorsInWords(
  changes: AdministratorChanges | undefined,
  tense: keyof typeof IN_WORDS,
): readonly string[] {
  return (['become', 'stop'] as const).flatMap((change) => {
    const found = changes?.[change];
    if (found === undefined) return [];
    const more = found.count - found.usernames.length;
    const names = [...found.usernames, ...(more > 0 ? [`${more} more`] : [])].join(', ');
    return [`${IN_WORDS[tense][change]}: ${names}`];
  });
}
