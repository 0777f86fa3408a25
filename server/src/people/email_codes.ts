// Six digits by email, which a user types instead of a password (ADR 159).
import { createHmac, randomBytes } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import { type CodeGroups, type CodeSettings, codeGroups, isOffered } from '../access/client_access.ts';
import type { MailedLink, MailedLinks } from '../data/mails.ts';
import type { People, Person } from '../data/people.ts';
import type { ProgramSecret } from '../data/secrets.ts';
import { askStorage } from '../data/tables.ts';
import {
  digestOf,
  isAddress,
  isCurrent,
  isFromBrowser,
  LINK_LIFETIMES_MS,
  verifiedAddressOf,
} from './mailing.ts';
import type { OwnPasswords } from './own_passwords.ts';
import type { Place } from './password_hasher.ts';
import { type AttemptLimit, type AttemptLimits, type Count, failuresAt } from './sign_in.ts';

const DIGITS = 6;
const HOUR_MS = 60 * 60 * 1000;

/** Wrong codes after which a code no longer counts. */
export const GUESSES_OF_CODE: AttemptLimit = { attempts: 5, windowMs: 2 * LINK_LIFETIMES_MS.code };

/**
 * Codes for one user, whichever name was typed. Each is five guesses of a million: 300 in a day, from all browsers that the
 * user has not signed in with before.
 */
const CODES_OF_USER: readonly AttemptLimit[] = [
  { attempts: 20, windowMs: HOUR_MS },
  { attempts: 60, windowMs: 24 * HOUR_MS },
];

/** The part of them that one place can use up, by whichever names of the user. */
const CODES_AT_PLACE: readonly AttemptLimit[] = [
  { attempts: 5, windowMs: HOUR_MS },
  { attempts: 15, windowMs: 24 * HOUR_MS },
];

/** Codes for one user and one browser that the user has signed in with before. */
const CODES_OF_BROWSER: AttemptLimit = { attempts: 10, windowMs: HOUR_MS };

/**
 * Codes for any browser, which a user gets beyond the limits of all places together. One is always valid, so that strangers
 * who use up these limits keep no user out. There are a few, because an email can be lost.
 */
const SHARED_CODES: AttemptLimit = { attempts: 3, windowMs: HOUR_MS };

/** Of counts. No place has this name. */
const ALL_PLACES = '';

/** Too many to guess, because such a code counts in every browser. */
const SHARED_DIGITS = 16;

/** Instead of the identifier of a request, which has other characters. */
const ANY_REQUEST = { id: '*' };

/** A request for a code, as the browser and the queued email have it. */
export interface CodeRequest {
  /** Random. A code counts only together with it. */
  readonly id: string;
  /** The cookie of the browser. */
  readonly browser: string;
  /** The identifier of a browser that the user has signed in with before. */
  readonly knownBrowser?: string | undefined;
}

/** A code for a user, to be sent. */
export interface NewCode {
  readonly person: Person;
  readonly address: string;
  readonly code: string;
  readonly validMs: number;
  /** Whether it counts in every browser that has asked for a code for this user. */
  readonly isShared: boolean;
}

export type EmailCodeRefusal =
  | {
      readonly refused: 'email_code_wrong' | 'person_changed';
      /** The user whose code it was. */
      readonly subject?: string;
    }
  | { readonly refused: 'email_code_guessed' | 'too_many_failures'; readonly secondsToWait: number };

/** Whom the options give codes. */
interface CodePolicy extends CodeGroups {
  readonly passwords: Pick<OwnPasswords, 'areAskedOf' | 'mayReset'>;
}

/** @returns `undefined` if there are no codes */
export function codePolicy(
  settings: CodeSettings,
  passwords: CodePolicy['passwords'],
): CodePolicy | undefined {
  return settings.emailCode === 'off' ? undefined : { passwords, ...codeGroups(settings) };
}

/** Whether a user gets codes, once they have a verified address. */
export async function areCodesFor(
  person: Person,
  { passwords, onlyGroups, withoutCodes }: CodePolicy,
): Promise<boolean> {
  if (
    !isOffered(person, { onlyGroups, withoutCodes }) ||
    !passwords.areAskedOf(verifiedAddressOf(person) ?? '')
  )
    return false;
  return passwords.mayReset(person);
}

interface Parts extends CodePolicy {
  readonly links: MailedLinks;
  readonly people: Pick<People, 'byName' | 'byOwnEmail' | 'bySubject'>;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly limits: AttemptLimits;
  readonly secret: ProgramSecret;
  /** Whether users may type their verified email address instead of the username. */
  readonly takesAddresses: boolean;
  readonly clock: () => number;
}

/** @returns a request of a browser that nothing else knows */
export function newCodeRequest(browser: string, knownBrowser: string | undefined): CodeRequest {
  return { id: randomBytes(16).toString('base64url'), browser, knownBrowser };
}

export class EmailCodes {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Makes a code when its email is due. For a request whose code was made before, as when its email is sent again, it is the
   * same code, which counts once and is then valid from now on.
   * @param place where the request came from: an address unit
   * @returns `undefined` if the user gets none, or the code of this request no longer counts
   */
  async make(typed: string, request: CodeRequest, place: string): Promise<NewCode | undefined> {
    const { links, limits, secret, clock } = this.#parts;
    const person = await this.#userOf(typed);
    const address = person && verifiedAddressOf(person);
    if (person === undefined || address === undefined || !isAddress(address)) return undefined;
    if (!(await this.mayUse(person))) return undefined;
    const made = madeCountOf(request);
    if ((await limits.reachedAt(made.name, made.most)).length > 0)
      return this.#madeBefore(person, address, request);
    const reached = await limits.begin(...countsOf(person, request, place));
    const isShared = reached !== undefined;
    // Only a limit of all places together can be used up elsewhere.
    if (isShared && reached.count.place !== ALL_PLACES) return undefined;
    if (isShared && (await limits.begin(sharedCountOf(person))) !== undefined) return undefined;
    const { digest, ...code } = codeOf(await secret.key('email_code'), request, isShared);
    await links.add(digest, {
      ...{ purpose: 'code', subject: person.subject, address },
      passwordDigest: digestOf(person.passwordHash),
      ...(!isShared && { browserDigest: digestOf(request.browser) }),
      expiresAtMs: clock() + code.validMs,
    });
    // After the code: an attempt that stored none counts as no attempt.
    await limits.begin(made);
    return { person, address, ...code };
  }

  /** The code of an earlier attempt to send the email. */
  async #madeBefore(person: Person, address: string, request: CodeRequest): Promise<NewCode | undefined> {
    const { links, secret, clock } = this.#parts;
    for (const key of await secret.keys('email_code'))
      for (const isShared of [false, true]) {
        const { digest, ...code } = codeOf(key, request, isShared);
        const link = await links.renew(digest, clock(), clock() + code.validMs);
        if (link !== undefined) return isCurrent(link, person) ? { person, address, ...code } : undefined;
      }
    return undefined;
  }

  /**
   * Uses a code up. A wrong one costs the same whether there is a user or not.
   * @param request with the name that the user has typed
   * @param place where the attempt comes from, for the limits
   * @returns the user, and whether the code would still count
   */
  async redeem(
    request: CodeRequest & { readonly typed: string },
    typed: string,
    place: Place,
  ): Promise<{ readonly person: Person; readonly isStillThere: () => Promise<boolean> } | EmailCodeRefusal> {
    const { people, limits } = this.#parts;
    // A known browser does not depend on what others at its address do.
    const ofAddress = place.isKnown ? [] : [failuresAt(place.name)];
    const ofCode: Count = { name: 'email code', place: request.id, most: GUESSES_OF_CODE };
    const reached = await limits.begin(...ofAddress, ofCode);
    if (reached !== undefined) {
      const refused = reached.count === ofCode ? 'email_code_guessed' : 'too_many_failures';
      await limits.end({ takenBack: ofAddress });
      return { refused, secondsToWait: reached.secondsToWait };
    }
    const link = await this.#use(request, typed.replaceAll(/[\s-]/g, ''));
    if (link?.subject === undefined || !(await this.#isFor(link, request)))
      return { refused: 'email_code_wrong' };
    const { subject } = link;
    const isStillThere = async () => {
      const person = await people.bySubject(subject);
      return person !== undefined && isCurrent(link, person) && this.mayUse(person);
    };
    const person = await people.bySubject(subject);
    if (person === undefined || !(await isStillThere())) return { refused: 'person_changed', subject };
    const isShared = link.browserDigest === undefined;
    await limits.end({ takenBack: ofAddress, forgotten: isShared ? [sharedCountOf(person)] : [] });
    return { person, isStillThere };
  }

  /** Of concurrent uses, one finds the code. */
  async #use(request: CodeRequest, code: string): Promise<MailedLink | undefined> {
    const { links, secret, clock } = this.#parts;
    const about = code.length === SHARED_DIGITS ? ANY_REQUEST : request;
    for (const key of await secret.keys('email_code')) {
      const link = await links.use(digestOfCode(key, about, code), clock());
      if (link !== undefined) return isFromBrowser(link, request.browser) ? link : undefined;
    }
    return undefined;
  }

  /** Looks no user up unless the code is right. */
  async #isFor(
    { browserDigest, subject }: MailedLink,
    { typed }: { readonly typed: string },
  ): Promise<boolean> {
    return browserDigest !== undefined || (await this.#userOf(typed))?.subject === subject;
  }

  /** As for a password: a username comes first, and an address leads to one user (ADR 191). */
  async #userOf(typed: string): Promise<Person | undefined> {
    const { people, takesAddresses } = this.#parts;
    const byName = await people.byName(typed);
    return byName ?? (takesAddresses && isAddress(typed) ? people.byOwnEmail(typed) : undefined);
  }

  /** Users whose way in is elsewhere, or who need more than their mailbox, get no code. */
  async mayUse(person: Person): Promise<boolean> {
    if (!(await areCodesFor(person, this.#parts))) return false;
    const { storage } = this.#parts;
    const state = await askStorage(() => storage.getPrincipalState('subject', person.subject));
    return state?.disabledAtMs === undefined;
  }
}

/** A place comes first: what it is refused uses up nothing of the codes for others. */
function countsOf({ subject }: Person, { knownBrowser }: CodeRequest, place: string): readonly Count[] {
  const counts = (limits: readonly AttemptLimit[], at: string) =>
    limits.map((most) => ({ name: countName(subject, most), place: at, most }));
  if (knownBrowser !== undefined) return counts([CODES_OF_BROWSER], `browser ${knownBrowser}`);
  return [...counts(CODES_AT_PLACE, place), ...counts(CODES_OF_USER, ALL_PLACES)];
}

function sharedCountOf({ subject }: Pick<Person, 'subject'>): Count {
  return { name: `email code shared\n${subject}`, place: ALL_PLACES, most: SHARED_CODES };
}

/** Whether a code was made for a request, for longer than its email is sent again. */
function madeCountOf({ id }: CodeRequest): Count {
  const most: AttemptLimit = { attempts: 1, windowMs: GUESSES_OF_CODE.windowMs };
  return { name: `email code made\n${id}`, place: ALL_PLACES, most };
}

/** The names under which codes for a user count. */
export function emailCodeCountNames(subject: string): readonly string[] {
  const limits = [...CODES_OF_USER, ...CODES_AT_PLACE, CODES_OF_BROWSER];
  const names = limits.map((most) => countName(subject, most));
  return [...new Set([...names, sharedCountOf({ subject }).name])];
}

/** No username has a line break. */
function countName(subject: string, { windowMs }: AttemptLimit): string {
  return `email code ${windowMs}\n${subject}`;
}

/** Keyed, so that readers of the table cannot try all codes. */
function digestOfCode(key: Uint8Array, { id }: Pick<CodeRequest, 'id'>, code: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([id, code]))
    .digest('base64url');
}

/** The code of a request, and the digest under which it is stored. It is the same each time, and is stored nowhere. */
function codeOf(key: Uint8Array, request: CodeRequest, isShared: boolean) {
  const digits = digitsOf(key, request, isShared ? SHARED_DIGITS : DIGITS);
  return {
    digest: digestOfCode(key, isShared ? ANY_REQUEST : request, digits),
    code: isShared ? inGroups(digits) : digits,
    validMs: isShared ? SHARED_CODES.windowMs : LINK_LIFETIMES_MS.code,
    isShared,
  };
}

/** Of 256 bits, so many more than the digits need that all numbers are equally likely. */
function digitsOf(key: Uint8Array, { id }: CodeRequest, count: number): string {
  const hmac = createHmac('sha256', key).update(JSON.stringify(['digits', count, id]));
  const number = BigInt(`0x${hmac.digest('hex')}`) % 10n ** BigInt(count);
  return String(number).padStart(count, '0');
}

/** As cards have their numbers. */
function inGroups(digits: string): string {
  return digits.replaceAll(/\d{4}(?=\d)/g, '$& ');
}
