import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { NO_PASSWORD } from '../data/people.ts';

/** RFC 9106 §4, second recommended option: 64 MiB, three passes, four lanes. */
const COST = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 } as const;
const SALT_BYTES = 16;

/** The PHC string format stores the cost with the hash, so that it can be raised later. */
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Password hash formats of other programs: modular crypt, PHC strings, LDAP schemes, Django and Werkzeug. */
const HASH_FORM =
  /^(?:\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2\w*|scrypt|pbkdf2[\w-]*)\$.+|\{[A-Z][\w-]*\}.{16,}|(?:pbkdf2|scrypt|argon2|bcrypt)\w*[:$].+[:$].+)$/i;

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

/** Maximum checks of all places, because requests and passwords use memory. */
const MAX_TOTAL = 4 * MAX_PER_PLACE;

/** Additional checks for known places, in case strangers use up the rest. */
const EXTRA_FOR_KNOWN = MAX_PER_PLACE;

/** Where a sign-in attempt comes from. */
export interface Place {
  /** The address unit (`addressUnit`) or a browser. */
  readonly name: string;
  /** Whether the user has signed in from there before. */
  readonly isKnown: boolean;
}

/** The place of commands, which are trusted. */
const COMMAND_LINE: Place = { name: '', isKnown: true };

const derive = promisify(argon2);

interface ParsedHash {
  readonly parameters: Omit<Argon2Parameters, 'message'>;
  readonly tag: Buffer;
}

const DUMMY_HASH: ParsedHash = {
  parameters: { nonce: Buffer.alloc(SALT_BYTES), ...COST },
  tag: Buffer.alloc(COST.tagLength),
};

/**
 * Hashes and verifies passwords with argon2id (RFC 9106). Places take turns: many attempts from one place delay only
 * that place.
 */
export class PasswordHasher {
  /** Waiting checks by place, in order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #admitted = new Map<string, number>();
  #admittedInAll = 0;
  #running = 0;

  /**
   * Runs work that checks a password, unless too much work is pending.
   * @returns `undefined` if the work was not started
   */
  admit<T>({ name, isKnown }: Place, work: () => Promise<T>): Promise<T> | undefined {
    const ofPlace = this.#admitted.get(name) ?? 0;
    const maxTotal = isKnown ? MAX_TOTAL + EXTRA_FOR_KNOWN : MAX_TOTAL;
    if (ofPlace >= MAX_PER_PLACE || this.#admittedInAll >= maxTotal) return undefined;
    this.#count(name, 1);
    return work().finally(() => this.#count(name, -1));
  }

  #count(name: string, change: 1 | -1): void {
    const ofPlace = (this.#admitted.get(name) ?? 0) + change;
    if (ofPlace === 0) this.#admitted.delete(name);
    else this.#admitted.set(name, ofPlace);
    this.#admittedInAll += change;
  }

  /** Hashes a password for storage. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, { nonce, ...COST }, COMMAND_LINE);
    const { memory, passes, parallelism } = COST;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Whether a password matches the stored hash. Without a stored hash, returns `false` at the same cost. */
  async fits(password: string, stored: string | undefined, place = COMMAND_LINE): Promise<boolean> {
    const isThere = stored !== undefined && stored !== NO_PASSWORD;
    const hash = isThere ? parse(stored) : DUMMY_HASH;
    const tag = await this.#derive(password, hash.parameters, place);
    return timingSafeEqual(tag, hash.tag) && isThere;
  }

  async #derive(password: string, parameters: ParsedHash['parameters'], { name }: Place): Promise<Buffer> {
    if (this.#running < MAX_CONCURRENT) this.#running += 1;
    else await this.#waitForTurn(name);
    try {
      return await derive('argon2id', { ...parameters, message: password.normalize('NFC') });
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

function parse(stored: string): ParsedHash {
  const [, memory, passes, parallelism, salt = '', hash = ''] = PHC.exec(stored) ?? [];
  const tag = Buffer.from(hash, 'base64');
  if (tag.length === 0) throw new Error('a stored password hash is not in the form that grantd writes');
  return {
    parameters: {
      nonce: Buffer.from(salt, 'base64'),
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: tag.length,
    },
    tag,
  };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
