import { randomBytes } from 'node:crypto';
import { siteOf } from '../config/client_address.ts';
import {
  COST,
  type CostlyHash,
  deriveArgon2,
  inForm,
  OWN_HASH,
  type PasswordHash,
  readPasswordHash,
} from './password_formats.ts';

const SALT_BYTES = 16;

/** Password hash formats of other programs: modular crypt, PHC strings, LDAP schemes, Nextcloud, Django and Werkzeug. */
const HASH_FORM =
  /^(?:(?:\d\|)?\$(?:1|2[abxy]?|5|6|7|P|H|S|wp|y|gy|apr1|argon2\w*|(?:fire)?scrypt|pbkdf2[\w-]*)\$.+|\{[A-Z][\w-]*\}.{16,}|(?:pbkdf2|scrypt|argon2|bcrypt)\w*[:$].+[:$].+)$/i;

/** Whether a text looks like a password hash. */
export function isPasswordHash(text: string): boolean {
  return HASH_FORM.test(text);
}

/**
 * A hash needs 64 MiB and a thread of the pool that signatures also use. The limit keeps floods of sign-ins from
 * blocking tokens.
 */
const MAX_CONCURRENT = 2;

/** Maximum running and waiting checks per place. Later ones would wait for seconds. */
const MAX_PER_PLACE = MAX_CONCURRENT + 32;

/** Maximum per site (`siteOf`). A user can also have many known browsers. */
const MAX_PER_SITE = 2 * MAX_PER_PLACE;

/** Maximum checks of all places, because requests and passwords use memory. */
const MAX_TOTAL = 4 * MAX_PER_SITE;

/** Additional checks for known places, in case strangers use up the rest. */
const EXTRA_FOR_KNOWN = MAX_PER_PLACE;

/** No place has this name. */
const ALL = 'all places';

/** Where a sign-in attempt comes from. */
export interface Place {
  /** The address unit (`addressUnit`) or a browser. */
  readonly name: string;
  /** Whether the user has signed in from there before. */
  readonly isKnown: boolean;
  /** The address unit of a browser. Default: the name. */
  readonly address?: string;
}

/** The place of commands, which are trusted. */
const COMMAND_LINE: Place = { name: '', isKnown: true };

/** The result of a password check. */
export interface PasswordCheck {
  readonly fits: boolean;
  /** A new hash for the stored one, if the password fits and the stored hash is not one that `hash` could have made. */
  readonly upgraded?: string;
  /** Whether all that the imported hash covers fits, but it does not cover the whole password (ADR 130). */
  readonly isCutOff?: true;
}

/**
 * Hashes passwords with argon2id (RFC 9106), and verifies them also with the hashes of other servers. Places take turns:
 * many attempts from one place delay only that place (ADR 83).
 */
export class PasswordHasher {
  readonly #costliest: () => Promise<readonly CostlyHash[]>;
  /** Waiting checks by place, in order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** By place, by site, and in all. */
  readonly #admitted = new Map<string, number>();
  #running = 0;

  /** @param costliest returns one of the imported hashes that cost most, of each algorithm. Default: there are none */
  constructor(costliest: () => Promise<readonly CostlyHash[]> = async () => []) {
    this.#costliest = costliest;
  }

  /**
   * Runs work that checks a password, unless too much work is pending.
   * @returns `undefined` if the work was not started
   */
  admit<T>({ name, isKnown, address = name }: Place, work: () => Promise<T>): Promise<T> | undefined {
    const ofAll = isKnown ? MAX_TOTAL + EXTRA_FOR_KNOWN : MAX_TOTAL;
    const limits = Object.entries({ [name]: MAX_PER_PLACE, [siteOf(address)]: MAX_PER_SITE, [ALL]: ofAll });
    if (limits.some(([of, most]) => (this.#admitted.get(of) ?? 0) >= most)) return undefined;
    for (const [of] of limits) this.#count(of, 1);
    return work().finally(() => limits.map(([of]) => this.#count(of, -1)));
  }

  #count(of: string, change: 1 | -1): void {
    const count = (this.#admitted.get(of) ?? 0) + change;
    if (count === 0) this.#admitted.delete(of);
    else this.#admitted.set(of, count);
  }

  /** Hashes a password for storage. */
  async hash(password: string, place = COMMAND_LINE): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const parameters = { nonce, ...COST, message: inForm(password, 'NFC') };
    const tag = await this.#inTurn(place, () => deriveArgon2('argon2id', parameters));
    return `${OWN_HASH}${withoutPadding(nonce)}$${withoutPadding(tag)}`;
  }

  /**
   * Checks a password in each of its Unicode forms, and makes a new hash if the stored one comes from another server. A wrong
   * password costs the same for all users, and for a user who does not exist: one of our own hashes, and then the most that
   * imported hashes of each algorithm cost (ADR 215).
   */
  async check(password: string, stored: string | undefined, place = COMMAND_LINE): Promise<PasswordCheck> {
    const hash = usable(stored);
    const isOwn = stored?.startsWith(OWN_HASH) === true;
    // Other servers hash what was typed, or a normal form of it. This one hashes NFC.
    for (const form of new Set([password, inForm(password, 'NFC'), inForm(password, 'NFD')])) {
      const upgraded = isOwn ? undefined : await this.hash(password, place);
      const fits = isOwn && hash && (await this.#inTurn(place, () => hash.matches(form)));
      if (!fits && !(await this.#fitsImported(form, isOwn ? undefined : hash, place))) continue;
      // A current hash ignores nothing. One of another server may be of another form.
      if (hash?.isCurrent && form === inForm(password, 'NFC')) return { fits: true };
      if (hash?.ignoresPartOf(form)) return { fits: false, isCutOff: true };
      return { fits: true, upgraded: upgraded ?? (await this.hash(password, place)) };
    }
    return { fits: false };
  }

  /** @param hash `undefined` if there is none, or it is one of our own. A wrong password then costs the same */
  async #fitsImported(form: string, hash: PasswordHash | undefined, place: Place): Promise<boolean> {
    const costliest = await this.#costliest();
    const { algorithm, units = 0 } = hash?.work ?? {};
    const most = costliest.find(({ work }) => work.algorithm === algorithm)?.work.units ?? 0;
    const extraUnits = Math.max(0, most - units);
    if (hash && (await this.#inTurn(place, () => hash.matches(form, extraUnits)))) return true;
    for (const { work, matches } of costliest)
      if (work.algorithm !== algorithm) await this.#inTurn(place, () => matches(form));
    return false;
  }

  async #inTurn<T>({ name }: Place, work: () => Promise<T>): Promise<T> {
    if (this.#running < MAX_CONCURRENT) this.#running += 1;
    else await this.#waitForTurn(name);
    try {
      return await work();
    } finally {
      this.#startNext();
    }
  }

  #waitForTurn(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
    return promise;
  }

  /** Starts the next check, from the place that has waited longest since its last turn. */
  #startNext(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [name, [begin, ...others]] = next;
    this.#waiting.delete(name);
    if (others.length > 0) this.#waiting.set(name, others);
    begin?.();
  }
}

/** @returns `undefined` if there is no hash that a password could match */
function usable(stored: string | undefined): PasswordHash | undefined {
  const hash = stored === undefined ? undefined : readPasswordHash(stored);
  return hash !== undefined && 'matches' in hash ? hash : undefined;
}

function withoutPadding(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
