import { createHmac } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import { type Attempts, isName, nameKey, type People, type Person } from '../data/people.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import type { Sessions } from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';
import { DirectoryFault } from '../directory/contract.ts';
import type { DirectorySignIn, DirectorySignInRefusal } from './directory.ts';
import type { PasswordHasher, Place } from './password_hasher.ts';

export interface SignInParts {
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly hasher: PasswordHasher;
  /** Limits attempts for a name. */
  readonly limit: AttemptLimit;
  /** Limits failures for all names together (`FAILURES_OF_ADDRESS`). */
  readonly addressLimit: AttemptLimit;
  /** `undefined` if all users are local. */
  readonly directory: DirectorySignIn | undefined;
}

export type SignIn =
  | { readonly person: Person }
  | {
      readonly refused: DirectorySignInRefusal;
      /** The user whose name was typed, if there is one. */
      readonly triedSubject?: string;
    }
  | {
      readonly refused: 'too_many_attempts' | 'too_many_failures' | 'too_many_sign_ins';
      readonly secondsToWait: number;
    };

/** The time in which a full queue moves on. */
const SECONDS_TO_WAIT = 5;

/**
 * Checks a username and a password. An unknown name costs as much as a wrong password.
 * @param placeOf returns where the attempt comes from, for the limits
 * @throws {DirectoryFault} the directory does not decide. The attempt does not count
 */
export async function signIn(
  { people, storage, hasher, limit, addressLimit, directory }: SignInParts,
  typedName: string,
  password: string,
  placeOf: (person: Person | undefined) => Promise<Place>,
): Promise<SignIn> {
  // Attempts count by name key. Counting the typed name would reveal whether another spelling exists.
  // A directory finds a name with several spaces as the name with one.
  const name = isName(typedName) ? nameKey(typedName).replaceAll(/\s+/g, ' ') : '';
  const person = name === '' ? undefined : await people.byName(typedName);
  const place = await placeOf(person);
  const check = async (): Promise<SignIn> => {
    const secondsToWait = await limit.begin(name, place.name);
    if (secondsToWait > 0) return { refused: 'too_many_attempts', secondsToWait };

    const checked =
      directory?.decidesAbout(person) === true
        ? await askDirectory({ directory, hasher, limit }, typedName, password, { name, place })
        : await checkPassword({ people, hasher }, person, password, place);
    const tried = person !== undefined && { triedSubject: person.subject };
    if ('refused' in checked) return { ...checked, ...tried };
    const state = await storage.getPrincipalState('subject', checked.person.subject);
    if (state?.disabledAtMs !== undefined) return { refused: 'person_disabled', ...tried };
    await limit.succeeded(name, place.name);
    return checked;
  };
  // The limit of the address comes first, so that a refused attempt adds no row for its name.
  const checkFromPlace = () => withinAddressLimit(addressLimit, place, check);
  // Queues before counting, so that a refused request does not count as an attempt.
  return (
    hasher.admit(place, checkFromPlace) ?? { refused: 'too_many_sign_ins', secondsToWait: SECONDS_TO_WAIT }
  );
}

/**
 * Runs an attempt if its address has not failed too often. The count is of failures and pending attempts: everything
 * else is given back, so that many correct sign-ins at once do not fill it.
 */
async function withinAddressLimit(
  limit: AttemptLimit,
  { name: address, isKnown }: Place,
  attempt: () => Promise<SignIn>,
): Promise<SignIn> {
  // A known browser does not depend on what others at its address do.
  if (isKnown) return attempt();
  const secondsToWait = await limit.begin(ANY_NAME, address);
  try {
    const outcome =
      secondsToWait > 0 ? ({ refused: 'too_many_failures', secondsToWait } as const) : await attempt();
    if ('person' in outcome || 'secondsToWait' in outcome) await limit.giveBack(ANY_NAME, address);
    return outcome;
  } catch (error) {
    if (error instanceof DirectoryFault) await limit.giveBack(ANY_NAME, address);
    throw error;
  }
}

/**
 * The same work as for a local user runs meanwhile, so that a fast answer does not tell who is a user of the directory.
 * Attempts also count by entry, because a filter may find one by many names. Being refused then looks like a wrong
 * password, so that it does not tell which names are of one entry.
 */
async function askDirectory(
  {
    directory,
    hasher,
    limit,
  }: { readonly directory: DirectorySignIn } & Pick<SignInParts, 'hasher' | 'limit'>,
  typedName: string,
  password: string,
  { name, place }: { readonly name: string; readonly place: Place },
): Promise<SignIn> {
  const entries: string[] = [];
  const admits = async (entry: string): Promise<boolean> => {
    // No name has a line break.
    const counted = `directory\n${entry}`;
    entries.push(counted);
    return (await limit.begin(counted, place.name)) === 0;
  };
  try {
    const [outcome] = await Promise.all([
      directory.signIn(typedName, password, admits),
      hasher.fits(password, undefined, place),
    ]);
    if ('person' in outcome) for (const entry of entries) await limit.succeeded(entry, place.name);
    return outcome;
  } catch (error) {
    if (error instanceof DirectoryFault)
      for (const counted of [name, ...entries]) await limit.giveBack(counted, place.name);
    throw error;
  }
}

/**
 * Checks a password, and replaces a hash from another server.
 * @returns the user with the stored hash, which the session depends on
 */
async function checkPassword(
  { people, hasher }: Pick<SignInParts, 'people' | 'hasher'>,
  person: Person | undefined,
  password: string,
  place: Place,
): Promise<SignIn> {
  const { fits, upgraded } = await hasher.check(password, person?.passwordHash, place);
  if (person === undefined) return { refused: 'person_unknown' };
  if (!fits) return { refused: 'password_wrong' };
  if (upgraded === undefined) return { person };
  if (await people.replacePasswordHash(person.subject, person.passwordHash, upgraded))
    return { person: { ...person, passwordHash: upgraded } };
  // Another sign-in has replaced the hash, or the password has changed.
  const current = await people.bySubject(person.subject);
  return current !== undefined && (await hasher.fits(password, current.passwordHash, place))
    ? { person: current }
    : { refused: 'password_wrong' };
}

/** A sign-in that was refused after something was checked. */
export interface FailedSignIn {
  readonly reason: string;
  /** The user, if known. What was typed as a name may be a password, so it is not recorded. */
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  /** The address unit (`addressUnit`). */
  readonly address: string;
  /** Whether a limit of attempts has counted it. */
  readonly isCounted: boolean;
  /** The browser, as in the history of sign-ins. */
  readonly userAgent: string;
  readonly network?: string | undefined;
}

/** Refusals without a check. A flood of them would fill the audit trail. */
const UNCHECKED: ReadonlySet<string> = new Set([
  ...['too_many_attempts', 'too_many_failures', 'too_many_sign_ins', 'too_many_codes'],
  'provider_answer_foreign',
  // Nobody has said yet who they are.
  ...['provider_denied', 'provider_unavailable'],
]);

/**
 * Of sign-ins that no limit counts, such as those with passkeys, at most `FAILURES_OF_ADDRESS` are recorded, so that they
 * do not fill the audit trail.
 * @returns a function that records failed sign-ins in the audit trail, and in the history of the user if one is known
 */
export function failureRecorder({
  storage,
  sessions,
  limit,
  clock,
}: {
  readonly storage: Pick<AdministrableStorage, 'recordAct'>;
  readonly sessions: Pick<Sessions, 'addFailedSignIn'>;
  readonly limit: AttemptLimit;
  readonly clock: () => number;
}): (failure: FailedSignIn) => Promise<void> {
  return async ({ subject, address, isCounted, ...failure }) => {
    const { reason, clientId } = failure;
    if (UNCHECKED.has(reason)) return;
    // A count of its own: failures with passkeys keep no one from signing in with a password.
    if (!isCounted && (await limit.begin(RECORDED, address)) > 0) return;
    if (subject !== undefined && (await sessions.addFailedSignIn({ ...failure, subject }, clock()))) return;
    const facts = { target: subject ?? '', subject, clientId, reason };
    await askStorage(() => storage.recordAct({ type: 'sign_in_failed', actor: 'anonymous', ...facts }));
  };
}

const MAX_ATTEMPTS = 10;
const WINDOW_MS = 5 * 60 * 1000;

/** Failed sign-ins of one address, for all names together: more than the typing errors of an office. */
export const FAILURES_OF_ADDRESS = { attempts: 100, windowMs: 15 * 60 * 1000 };

/** Stand for all names. No name has a line break. */
const ANY_NAME = 'any name\n';
const RECORDED = 'recorded\n';

/**
 * Limits sign-in attempts by name and place, across all processes. A place is an IPv4 address, an IPv6 /64, or a
 * browser that the user is known to use. A known browser has attempts of its own. Users behind one address share its
 * attempts, for example a household, or everyone behind a proxy that `trustedProxies` does not list. Ten wrong guesses
 * block the name in every new browser at that address until the window ends. Strangers at other addresses only use up
 * their own attempts; an attacker with many addresses has ten for each.
 */
export class AttemptLimit {
  readonly #attempts: Attempts;
  readonly #secret: ProgramSecret;
  readonly #clock: () => number;
  readonly #most: { readonly attempts: number; readonly windowMs: number };

  constructor(
    attempts: Attempts,
    secret: ProgramSecret,
    clock: () => number = Date.now,
    most = { attempts: MAX_ATTEMPTS, windowMs: WINDOW_MS },
  ) {
    this.#most = most;
    this.#attempts = attempts;
    this.#secret = secret;
    this.#clock = clock;
  }

  /**
   * Counts an attempt before its password check, so that concurrent attempts also count.
   * @returns seconds to wait; 0 if the attempt may proceed
   */
  async begin(name: string, place: string): Promise<number> {
    const nowMs = this.#clock();
    const key = await this.#keyOf(name, place);
    const { attempts, endsAtMs } = await this.#attempts.count(key, nowMs, this.#most.windowMs);
    return attempts > this.#most.attempts ? Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000)) : 0;
  }

  /** Takes back an attempt whose password nobody has checked. */
  async giveBack(name: string, place: string): Promise<void> {
    await this.#attempts.takeBack(await this.#keyOf(name, place));
  }

  async succeeded(name: string, place: string): Promise<void> {
    await this.#attempts.forget(await this.#keyOf(name, place));
  }

  /** A keyed digest, so that readers of the table cannot guess names or addresses. */
  async #keyOf(name: string, place: string): Promise<string> {
    const key = await this.#secret.key('sign_in_attempt');
    return createHmac('sha256', key)
      .update(JSON.stringify([name, place]))
      .digest('base64url');
  }
}
