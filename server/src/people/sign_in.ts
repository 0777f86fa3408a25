import { createHmac } from 'node:crypto';
import { type AdministrableStorage, StorageFault } from '@grantd/core';
import { byRecovery, METHODS } from '../access/acr.ts';
import type { Attempts } from '../data/attempts.ts';
import type { Passkey } from '../data/factors.ts';
import { isName, nameKey } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import type { Sessions } from '../data/sessions.ts';
import { askStorage } from '../data/tables.ts';
import { DirectoryFault } from '../directory/contract.ts';
import type { AdmissionRefusal, DirectorySignIn, DirectorySignInRefusal } from './directory.ts';
import { isAddress } from './mailing.ts';
import type { OwnPasswords } from './own_passwords.ts';
import type { PasskeyAnswer, PasskeyRefusal, Passkeys } from './passkeys.ts';
import type { PasswordHasher, Place } from './password_hasher.ts';

export interface SignInParts {
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly hasher: PasswordHasher;
  readonly limits: AttemptLimits;
  readonly passwords: Pick<OwnPasswords, 'areAskedOf'>;
  /** Finds the user whose email address was typed instead of the username; `undefined` if that is not allowed. */
  readonly byAddress: ((typed: string) => Promise<Person | undefined>) | undefined;
  /** `undefined` if all users are local. */
  readonly directory: DirectorySignIn | undefined;
}

export type SignIn =
  | { readonly person: Person }
  | {
      readonly refused: DirectorySignInRefusal | 'password_not_asked' | 'password_cut_off' | 'person_limited';
      /** The user whose name was typed, if there is one. */
      readonly triedSubject?: string;
    }
  | {
      readonly refused: 'too_many_attempts' | 'too_many_failures' | 'too_many_sign_ins';
      readonly secondsToWait: number;
      /** Whether the limit of the user has just been reached. */
      readonly isFirst?: boolean;
      readonly triedSubject?: string;
    };

/** A full queue moves on within the time to wait. */
const QUEUE_IS_FULL = { refused: 'too_many_sign_ins', secondsToWait: 5 } as const;

/**
 * Checks a username and a password. An unknown name costs as much as a wrong password. The address counts failures and
 * pending attempts only: everything else is given back, so that many correct sign-ins at once do not reach its limit.
 * Attempts count for what was typed and for the user. Only the first limit shows, so that it does not tell which address
 * belongs to which username (ADR 191).
 * @param typedName as `trimmed` returns it
 * @param placeOf returns where the attempt comes from, for the limits
 * @throws {DirectoryFault} the directory does not decide. The attempt does not count
 */
export async function signIn(
  { people, storage, hasher, limits, passwords, byAddress, directory }: SignInParts,
  typedName: string,
  password: string,
  placeOf: (person: Person | undefined) => Promise<Place>,
): Promise<SignIn> {
  const name = attemptName(typedName);
  const person = name ? ((await people.byName(typedName)) ?? (await byAddress?.(typedName))) : undefined;
  const tried = person !== undefined && { triedSubject: person.subject };
  if (!passwords.areAskedOf(typedName)) return { refused: 'password_not_asked', ...tried };
  const place = await placeOf(person);
  const ofName: Count = { name, place: place.name, most: ATTEMPTS_OF_NAME, ...tried };
  // Without a user too, so that both cost the same.
  const ofPerson: Count = { ...ofName, name: personCountName(person?.subject ?? `\n${name}`) };
  // A known browser does not depend on what others at its address do.
  const ofAddress: readonly Count[] = place.isKnown
    ? []
    : [{ name: ANY_NAME, place: place.name, most: FAILURES_OF_ADDRESS }];
  const ofEntries: Count[] = [];

  const check = async (): Promise<SignIn> => {
    const checked =
      directory?.decidesAbout(person) === true
        ? await askDirectory({ directory, hasher, limits }, typedName, password, place, ofEntries)
        : await checkPassword({ people, hasher }, person, password, place);
    if ('refused' in checked) return { ...checked, ...tried };
    const state = await storage.getPrincipalState('subject', checked.person.subject);
    if (state?.disabledAtMs !== undefined) return { refused: 'person_disabled', ...tried };
    const forgotten = [...ofEntries, ofName, ofPerson];
    // If this fails, the attempts count until their windows end, as after a crash (ADR 212).
    limits.end({ takenBack: ofAddress, forgotten, isSoon: true }).catch(unlessOutage);
    return checked;
  };
  const attempt = async (): Promise<SignIn> => {
    // The limit of the address comes first, so that a refused attempt adds no row for its name.
    const reached = await limits.begin(...ofAddress, ofName, ofPerson);
    if (reached !== undefined) {
      if (reached.count === ofPerson) {
        await hasher.check(password, undefined, place);
        return { refused: 'person_limited', ...tried };
      }
      await limits.end({ takenBack: ofAddress });
      const refused = reached.count === ofName ? 'too_many_attempts' : 'too_many_failures';
      return {
        refused,
        secondsToWait: reached.secondsToWait,
        isFirst: reached.isFirst && refused === 'too_many_attempts',
        ...tried,
      };
    }
    try {
      return await check();
    } catch (error) {
      if (error instanceof DirectoryFault)
        await limits.end({ takenBack: [...ofAddress, ...ofEntries, ofName, ofPerson] });
      throw error;
    }
  };
  // Queues before counting, so that a refused request does not count as an attempt.
  return hasher.admit(place, attempt) ?? { ...QUEUE_IS_FULL, ...tried };
}

/**
 * Finds the user whose address was typed. A user whose password is elsewhere has none to type here, by whichever name
 * (ADR 126).
 */
export function addressLookup(
  people: Pick<People, 'byOwnEmail'>,
  passwords: Pick<OwnPasswords, 'areAskedOf' | 'has'>,
): NonNullable<SignInParts['byAddress']> {
  return async (typed) => {
    if (!isAddress(typed) || !passwords.areAskedOf(typed)) return undefined;
    const person = await people.byOwnEmail(typed);
    return person !== undefined && passwords.has(person) ? person : undefined;
  };
}

/**
 * The same work as for a local user runs meanwhile, so that a fast answer does not tell who is a user of the directory.
 * Attempts also count by entry, because a filter may find one by many names. Being refused then looks like a wrong
 * password, so that it does not tell which names are of one entry.
 * @param ofEntries receives the counts by entry
 */
async function askDirectory(
  {
    directory,
    hasher,
    limits,
  }: { readonly directory: DirectorySignIn } & Pick<SignInParts, 'hasher' | 'limits'>,
  typedName: string,
  password: string,
  place: Place,
  ofEntries: Count[],
): Promise<SignIn> {
  const admits = async (entry: string): Promise<boolean> => {
    const ofEntry: Count = { name: entryCountName(entry), place: place.name, most: ATTEMPTS_OF_NAME };
    ofEntries.push(ofEntry);
    return (await limits.begin(ofEntry)) === undefined;
  };
  const [outcome] = await Promise.all([
    directory.signIn(typedName, password, admits),
    hasher.check(password, undefined, place),
  ]);
  return outcome;
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
  const { fits, upgraded, isCutOff } = await hasher.check(password, person?.passwordHash, place);
  if (person === undefined) return { refused: 'person_unknown' };
  if (!fits) return { refused: isCutOff ? 'password_cut_off' : 'password_wrong' };
  if (upgraded === undefined) return { person };
  if (await people.replacePasswordHash(person.subject, person.passwordHash, upgraded))
    return { person: { ...person, passwordHash: upgraded } };
  // Another sign-in has replaced the hash, or the password has changed.
  const current = await people.bySubject(person.subject);
  return current !== undefined && (await hasher.check(password, current.passwordHash, place)).fits
    ? { person: current }
    : { refused: 'password_wrong' };
}

/** The methods of a step with a passkey, which may not count yet. */
export function passkeyMethods({ countsFromMs, isSecurityKey }: Passkey, nowMs: number): readonly string[] {
  const methods = isSecurityKey ? METHODS.securityKey : METHODS.passkey;
  return countsFromMs <= nowMs ? methods : byRecovery(methods);
}

export type PasskeySignInRefusal = PasskeyRefusal | AdmissionRefusal | 'passkey_foreign' | 'passkey_waits';

/**
 * Finds the user who signs in with a passkey. The directory of a user must still let them in.
 * @param only the user who must own it, and has shown something before: only then does a security key count
 */
export async function signInWithPasskey(
  passkeys: Passkeys | undefined,
  { people, storage, directory }: Pick<SignInParts, 'people' | 'storage' | 'directory'>,
  answer: PasskeyAnswer,
  only?: Person,
): Promise<
  | { readonly person: Person; readonly passkey: Passkey }
  | { readonly refused: PasskeySignInRefusal; readonly subject?: string }
> {
  const outcome = (await passkeys?.verify(answer, { isSecond: only !== undefined })) ?? {
    refused: 'passkey_unknown' as const,
  };
  if ('refused' in outcome) return outcome;
  const { passkey } = outcome;
  const { subject } = passkey;
  if (only !== undefined && only.subject !== subject) return { refused: 'passkey_foreign' };
  const person = await people.bySubject(subject);
  if (person === undefined) return { refused: 'passkey_unknown' };
  const state = await storage.getPrincipalState('subject', subject);
  if (state?.disabledAtMs !== undefined) return { refused: 'person_disabled', subject };
  const admitted = (await directory?.admit(person)) ?? { person };
  return 'refused' in admitted ? { ...admitted, subject } : { ...admitted, passkey };
}

/** A refused sign-in. */
export interface FailedSignIn {
  readonly reason: string;
  /** The user, if known. What was typed as a name may be a password, so it is not recorded. */
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  /** The address unit (`addressUnit`). */
  readonly address: string;
  /** Whether a limit of attempts has counted it. */
  readonly isCounted: boolean;
  /** Whether a limit of the user has just been reached. */
  readonly isFirst?: boolean | undefined;
  /** The browser, as in the history of sign-ins. */
  readonly userAgent: string;
  readonly network?: string | undefined;
}

/** Refusals without a check. A flood of them would fill the audit trail. */
const UNCHECKED: ReadonlySet<string> = new Set([
  ...['too_many_attempts', 'too_many_failures', 'too_many_sign_ins', 'too_many_codes'],
  ...['provider_answer_foreign', 'password_not_asked'],
  // The visitor has not said yet who they are.
  ...['provider_denied', 'provider_unavailable'],
]);

const LIMITS_OF_USER: ReadonlySet<string> = new Set(['too_many_attempts', 'too_many_codes']);

/**
 * Of sign-ins that no limit counts, such as those with passkeys, at most `FAILURES_OF_ADDRESS` are recorded, so that they
 * do not fill the audit trail (ADR 128).
 * @returns a function that records failed sign-ins in the audit trail, and in the history of the user if one is known
 */
export function failureRecorder({
  storage,
  sessions,
  limits,
  clock,
}: {
  readonly storage: Pick<AdministrableStorage, 'recordAct'>;
  readonly sessions: Pick<Sessions, 'addFailedSignIn'>;
  readonly limits: AttemptLimits;
  readonly clock: () => number;
}): (failure: FailedSignIn) => Promise<void> {
  return async ({ subject, address, isCounted, isFirst = false, ...failure }) => {
    const { reason, clientId } = failure;
    // Once for each window, so that the trail says since when the user is refused.
    const isReached = isFirst && LIMITS_OF_USER.has(reason) && subject !== undefined;
    if (UNCHECKED.has(reason) && !isReached) return;
    // A count of its own: failures with passkeys keep no one from signing in with a password.
    const ofAddress = { name: RECORDED, place: address, most: FAILURES_OF_ADDRESS };
    if (!isCounted && (await limits.begin(ofAddress)) !== undefined) return;
    if (subject !== undefined && (await sessions.addFailedSignIn({ ...failure, subject }, clock()))) return;
    const facts = { target: subject ?? '', subject, clientId, reason };
    await askStorage(() => storage.recordAct({ type: 'sign_in_failed', actor: 'anonymous', ...facts }));
  };
}

/** How many attempts count together in a window. */
export interface AttemptLimit {
  readonly attempts: number;
  readonly windowMs: number;
}

export const ATTEMPTS_OF_NAME: AttemptLimit = { attempts: 10, windowMs: 5 * 60 * 1000 };

/** Failed sign-ins of one address, for all names together: more than the typing errors of an office (ADR 109). */
export const FAILURES_OF_ADDRESS: AttemptLimit = { attempts: 100, windowMs: 15 * 60 * 1000 };

/**
 * The name under which attempts count: the name key, because counting the typed name would reveal whether another
 * spelling exists (ADR 133).
 */
export function attemptName(typed: string): string {
  return isName(typed) ? nameKey(typed) : '';
}

/** The name under which attempts at a user count, by whichever name they were typed. No username has a line break. */
export function personCountName(subject: string): string {
  return `person\n${subject}`;
}

/** The name under which attempts at an entry of the directory count. No username has a line break. */
export function entryCountName(entry: string): string {
  return `directory\n${entry}`;
}

/** The name under which wrong usernames for a mailed link count. */
export function linkCountName(subject: string): string {
  return `link\n${subject}`;
}

/** Maximum links to a new address that a user may ask for in an hour. */
const MAILS_OF_USER: AttemptLimit = { attempts: 5, windowMs: 60 * 60 * 1000 };

/** Counts a link to a new address. @returns seconds to wait; 0 to go on */
export async function linksToWait(limits: AttemptLimits, subject: string): Promise<number> {
  const reached = await limits.begin({ name: 'mail verify of', place: subject, most: MAILS_OF_USER });
  return reached?.secondsToWait ?? 0;
}

/** The failures of an address with what is no password. They count together with those with one. */
export function failuresAt(place: string): Count {
  return { name: ANY_NAME, place, most: FAILURES_OF_ADDRESS };
}

/** Stand for all names. No name has a line break. */
const ANY_NAME = 'any name\n';
const RECORDED = 'recorded\n';

/** Attempts that count together: for a name at a place. */
export interface Count {
  readonly name: string;
  readonly place: string;
  readonly most: AttemptLimit;
  /** The user whom the attempt is for, if there is one. */
  readonly triedSubject?: string;
}

/** Counts of an attempt that has ended. */
interface EndedCounts {
  /** The attempt does not count, for example because no password was checked. */
  readonly takenBack?: readonly Count[];
  /** These start again. */
  readonly forgotten?: readonly Count[];
  /** Whether it is written some milliseconds later, together with other writes. Default: false. */
  readonly isSoon?: boolean;
}

/** A count that has reached its limit. */
interface ReachedLimit {
  readonly count: Count;
  readonly secondsToWait: number;
  /** Whether this is the first attempt beyond it. */
  readonly isFirst: boolean;
}

/**
 * Limits sign-in attempts by name and place, across all processes. A place is an IPv4 address, an IPv6 /64, or a
 * browser that the user is known to use. A known browser has attempts of its own. Users behind one address share its
 * attempts, for example a household, or everyone behind a proxy that `trustedProxies` does not list. Ten wrong guesses
 * block the name in every new browser at that address until the window ends. Strangers at other addresses only use up
 * their own attempts; an attacker with many addresses has ten for each.
 */
export class AttemptLimits {
  readonly #attempts: Attempts;
  readonly #secret: ProgramSecret;
  readonly #clock: () => number;

  constructor(attempts: Attempts, secret: ProgramSecret, clock: () => number = Date.now) {
    this.#attempts = attempts;
    this.#secret = secret;
    this.#clock = clock;
  }

  /**
   * Counts an attempt before its password check, so that concurrent attempts also count. It counts in the given order, up
   * to the first limit that is reached.
   * @returns that limit; `undefined` if the attempt may proceed
   */
  async begin(...counts: readonly Count[]): Promise<ReachedLimit | undefined> {
    const nowMs = this.#clock();
    const keyDigests = await this.#keysOf(counts);
    const keys = counts.map((one, index) => ({ ...one, ...one.most, keyDigest: keyDigests[index] ?? '' }));
    const counted = await this.#attempts.count(keys, nowMs);
    const [count, last] = [counts[counted.length - 1], counted.at(-1)];
    if (count === undefined || last === undefined || last.attempts <= count.most.attempts) return undefined;
    const secondsToWait = Math.max(1, Math.ceil((last.endsAtMs - nowMs) / 1000));
    return { count, secondsToWait, isFirst: last.attempts === count.most.attempts + 1 };
  }

  /**
   * Ends an attempt. Give the counts in the same order each time, so that no two transactions wait for each other on
   * PostgreSQL.
   */
  async end({ takenBack = [], forgotten = [], isSoon = false }: EndedCounts): Promise<void> {
    if (takenBack.length + forgotten.length === 0) return;
    const keys = { takenBack: await this.#keysOf(takenBack), forgotten: await this.#keysOf(forgotten) };
    await this.#attempts[isSoon ? 'endSoon' : 'end'](keys);
  }

  /** When the limit of a name ends, for each place at which it is reached. */
  async reachedAt(name: string, { attempts }: AttemptLimit): Promise<readonly number[]> {
    const nowMs = this.#clock();
    const digests = await this.#digestsOfName(name);
    const counted = await Promise.all(digests.map((digest) => this.#attempts.ofName(digest, nowMs)));
    const reached = counted.flat().filter((item) => item.attempts >= attempts);
    return reached.map(({ endsAtMs }) => endsAtMs);
  }

  /** Forgets the counts of names at all places. @param subject the user whom the change is recorded for */
  async forgetAll(names: readonly string[], subject: string): Promise<void> {
    const digests = await Promise.all(names.map((name) => this.#digestsOfName(name)));
    await this.#attempts.forgetNames(digests.flat(), subject);
  }

  /** Under each accepted secret: a running server may not use the newest one yet. */
  async #digestsOfName(name: string): Promise<readonly string[]> {
    return (await this.#secret.keys('sign_in_attempt')).map((key) => digestOfName(key, name));
  }

  /** Keyed digests, so that readers of the table cannot guess names or addresses. */
  async #keysOf(counts: readonly Count[]): Promise<readonly string[]> {
    const key = await this.#secret.key('sign_in_attempt');
    return counts.map(({ name, place }) => `${digestOfName(key, name)}.${digestOf(key, name, place)}`);
  }
}

function unlessOutage(error: unknown): void {
  if (!(error instanceof StorageFault)) throw error;
}

/** Begins the keys of all places of a name, so that an operator can unlock it. Short, because keys are not secret. */
function digestOfName(key: Uint8Array, name: string): string {
  return digestOf(key, name).slice(0, 22);
}

function digestOf(key: Uint8Array, ...parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url');
}
