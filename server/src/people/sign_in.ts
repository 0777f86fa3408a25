import { createHmac } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import { type Attempts, isName, nameKey, type People, type Person } from '../data/people.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import type { PasswordHasher, Place } from './password_hasher.ts';

export interface SignInParts {
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly hasher: PasswordHasher;
  readonly limit: AttemptLimit;
}

export type SignIn =
  | { readonly person: Person }
  | { readonly refused: 'person_unknown' | 'password_wrong' | 'person_disabled' }
  | { readonly refused: 'too_many_attempts' | 'too_many_sign_ins'; readonly secondsToWait: number };

/** After which a full queue of passwords has had time to move on. */
const SECONDS_TO_WAIT = 5;

/**
 * Whether a name and a password are somebody's who may sign in. An unknown name costs what a wrong password costs.
 * @param placeOf where the attempt comes from, for the limits
 */
export async function signIn(
  { people, storage, hasher, limit }: SignInParts,
  typedName: string,
  password: string,
  placeOf: (person: Person | undefined) => Promise<Place>,
): Promise<SignIn> {
  // Nothing is counted by the name as it was typed: another way of typing it would tell whether somebody has it.
  const name = isName(typedName) ? nameKey(typedName) : '';
  const person = name === '' ? undefined : await people.byName(typedName);
  const place = await placeOf(person);
  const check = async (): Promise<SignIn> => {
    const secondsToWait = await limit.begin(name, place.name);
    if (secondsToWait > 0) return { refused: 'too_many_attempts', secondsToWait };

    const fits = await hasher.fits(password, person?.passwordHash, place);
    if (person === undefined) return { refused: 'person_unknown' };
    if (!fits) return { refused: 'password_wrong' };
    const state = await storage.getPrincipalState('subject', person.subject);
    if (state?.disabledAtMs !== undefined) return { refused: 'person_disabled' };
    await limit.succeeded(name, place.name);
    return { person };
  };
  // A place in the queue before the attempt is counted: it is none of whoever is sent away.
  return hasher.admit(place, check) ?? { refused: 'too_many_sign_ins', secondsToWait: SECONDS_TO_WAIT };
}

const MOST_ATTEMPTS = 10;
const WINDOW_MS = 5 * 60 * 1000;

/**
 * Counts attempts to sign in by name and place, for all processes together. A place is an IPv4 address, an IPv6 /64, or a browser that
 * the person is known to use; such a browser keeps attempts of its own. An address is shared by all behind it: by a
 * household, and, where the option `trustedProxies` does not name it, by everyone behind a proxy. Ten guesses from
 * there keep the name from every new browser at the same address until the window ends. Strangers at other addresses
 * use up their own attempts only; someone with many addresses has as many times ten.
 */
export class AttemptLimit {
  readonly #attempts: Attempts;
  readonly #secret: ProgramSecret;
  readonly #clock: () => number;

  constructor(attempts: Attempts, secret: ProgramSecret, clock: () => number = Date.now) {
    this.#attempts = attempts;
    this.#secret = secret;
    this.#clock = clock;
  }

  /**
   * Counts an attempt before its password is looked at, so that many at once are counted as well.
   * @returns seconds to wait where there were too many; 0 where it may go on
   */
  async begin(name: string, place: string): Promise<number> {
    const nowMs = this.#clock();
    const key = await this.#keyOf(name, place);
    const { attempts, endsAtMs } = await this.#attempts.count(key, nowMs, WINDOW_MS);
    return attempts > MOST_ATTEMPTS ? Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000)) : 0;
  }

  async succeeded(name: string, place: string): Promise<void> {
    await this.#attempts.forget(await this.#keyOf(name, place));
  }

  /** Under a key, so that whoever reads the table learns neither names nor addresses by guessing. */
  async #keyOf(name: string, place: string): Promise<string> {
    const key = await this.#secret.key('sign_in_attempt');
    return createHmac('sha256', key)
      .update(JSON.stringify([name, place]))
      .digest('base64url');
  }
}
