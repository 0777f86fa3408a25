import type { Attempts } from '../data/attempts.ts';
import type { Person } from '../data/people.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import { emailCodeCountNames } from './email_codes.ts';
import { verifiedAddressOf } from './mailing.ts';
import { CODE_LIMITS, codeCountName } from './second_factors.ts';
import {
  ATTEMPTS_OF_NAME,
  type AttemptLimit,
  AttemptLimits,
  attemptName,
  entryCountName,
  linkCountName,
  personCountName,
} from './sign_in.ts';

/** The steps of a sign-in whose attempts count for a user. */
export const LOCKED_STEPS = ['password', 'code', 'mailed_link'] as const;

/** A step that is refused after too many attempts. */
export interface Lock {
  readonly step: (typeof LOCKED_STEPS)[number];
  /** The number of places from which it is refused. */
  readonly places: number;
  /** When the last of them is let in again. */
  readonly endsAtMs: number;
}

interface CountedStep {
  readonly step: Lock['step'];
  readonly name: string;
  readonly most: AttemptLimit;
}

/** All names under which attempts for a user count. */
function countsFor(person: LockedPerson): readonly CountedStep[] {
  const { subject, name, directoryId } = person;
  const address = verifiedAddressOf(person);
  const ofPassword = [
    ...[attemptName(name), personCountName(subject)],
    ...(address === undefined ? [] : [attemptName(address)]),
    ...(directoryId === undefined ? [] : [entryCountName(directoryId)]),
  ];
  return [
    ...ofPassword.map((name) => ({ step: 'password' as const, name, most: ATTEMPTS_OF_NAME })),
    ...CODE_LIMITS.map((most, index) => ({
      step: 'code' as const,
      name: codeCountName(subject, index),
      most,
    })),
    { step: 'mailed_link', name: linkCountName(subject), most: ATTEMPTS_OF_NAME },
  ];
}

type LockedPerson = Pick<Person, 'subject' | 'name' | 'claims' | 'directoryId'>;

/** What too many attempts have locked for users. The limit of an address for all names together is not about a user. */
export class Locks {
  readonly #limits: AttemptLimits;

  constructor(attempts: Attempts, secret: ProgramSecret, clock?: () => number) {
    this.#limits = new AttemptLimits(attempts, secret, clock);
  }

  /** @returns one for each step that is refused somewhere */
  async of(person: LockedPerson): Promise<readonly Lock[]> {
    const steps = countsFor(person);
    const reached = await Promise.all(steps.map(({ name, most }) => this.#limits.reachedAt(name, most)));
    return LOCKED_STEPS.flatMap((step): readonly Lock[] => {
      const ends = reached.filter((_, index) => steps[index]?.step === step);
      const endsAtMs = Math.max(0, ...ends.flat());
      // Each limit counts the same places.
      return endsAtMs === 0
        ? []
        : [{ step, places: Math.max(...ends.map(({ length }) => length)), endsAtMs }];
    });
  }

  /** Forgets all attempts for a user, wherever they came from. */
  async unlock(person: LockedPerson): Promise<void> {
    const { subject } = person;
    const names = countsFor(person).map(({ name }) => name);
    await this.#limits.forgetAll([...names, ...emailCodeCountNames(subject)], subject);
  }
}
