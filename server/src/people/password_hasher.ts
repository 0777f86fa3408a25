import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** RFC 9106 §4, the second recommended option: 64 MiB, three passes, four lanes. */
const COST = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 } as const;
const SALT_BYTES = 16;

/** The PHC string format keeps the cost beside the hash, so that it can be raised later. */
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** How other programs write the hashes of passwords: as modular crypt, PHC strings, LDAP schemes, Django's and Werkzeug's. */
const HASH_FORM =
  /^(?:\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2\w*|scrypt|pbkdf2[\w-]*)\$.+|\{[A-Z][\w-]*\}.{16,}|(?:pbkdf2|scrypt|argon2|bcrypt)\w*[:$].+[:$].+)$/i;

/** Whether a text is the hash of a password instead of a password. */
export function isPasswordHash(text: string): boolean {
  return HASH_FORM.test(text);
}

/** A hash takes 64 MiB and a thread of the pool that signatures need as well: a flood of sign-ins must not stop tokens. */
const MOST_AT_ONCE = 2;

/** Of one place, at work or waiting. Who comes later would wait for seconds. */
const MOST_OF_ONE_PLACE = MOST_AT_ONCE + 32;

/** Of all places together: their requests and passwords fill memory. */
const MOST_OF_ALL = 4 * MOST_OF_ONE_PLACE;

/** Besides, for places that people have signed in from before, where strangers have taken all others. */
const MORE_OF_KNOWN = MOST_OF_ONE_PLACE;

/** Where somebody types a password. */
export interface Place {
  /** The unit of an address (`addressUnit`), or a browser. */
  readonly name: string;
  /** Whether the person has signed in from there before. */
  readonly isKnown: boolean;
}

/** Where no stranger is: of commands. */
const OWN: Place = { name: '', isKnown: true };

const derive = promisify(argon2);

interface ParsedHash {
  readonly parameters: Omit<Argon2Parameters, 'message'>;
  readonly tag: Buffer;
}

const NOBODYS: ParsedHash = {
  parameters: { nonce: Buffer.alloc(SALT_BYTES), ...COST },
  tag: Buffer.alloc(COST.tagLength),
};

/**
 * People's passwords, as argon2id (RFC 9106). Places take turns: whoever tries many passwords from one waits for
 * themselves, and everyone else for one of theirs at a time.
 */
export class PasswordHasher {
  /** By place, the one whose turn is next first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #admitted = new Map<string, number>();
  #admittedInAll = 0;
  #running = 0;

  /**
   * Does work that a password is checked in, unless so many are at it that whoever asks next is better sent away.
   * @returns `undefined` where nothing was begun
   */
  admit<T>({ name, isKnown }: Place, work: () => Promise<T>): Promise<T> | undefined {
    const ofPlace = this.#admitted.get(name) ?? 0;
    const mostOfAll = isKnown ? MOST_OF_ALL + MORE_OF_KNOWN : MOST_OF_ALL;
    if (ofPlace >= MOST_OF_ONE_PLACE || this.#admittedInAll >= mostOfAll) return undefined;
    this.#count(name, 1);
    return work().finally(() => this.#count(name, -1));
  }

  #count(name: string, change: 1 | -1): void {
    const ofPlace = (this.#admitted.get(name) ?? 0) + change;
    if (ofPlace === 0) this.#admitted.delete(name);
    else this.#admitted.set(name, ofPlace);
    this.#admittedInAll += change;
  }

  /** A password as it is stored. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, { nonce, ...COST }, OWN);
    const { memory, passes, parallelism } = COST;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Whether a password is the stored one. Where none is stored, the answer is `false` at the same cost. */
  async fits(password: string, stored: string | undefined, place = OWN): Promise<boolean> {
    const hash = stored === undefined ? NOBODYS : parse(stored);
    const tag = await this.#derive(password, hash.parameters, place);
    return timingSafeEqual(tag, hash.tag) && stored !== undefined;
  }

  async #derive(password: string, parameters: ParsedHash['parameters'], { name }: Place): Promise<Buffer> {
    if (this.#running < MOST_AT_ONCE) this.#running += 1;
    else await this.#turnOf(name);
    try {
      return await derive('argon2id', { ...parameters, message: password.normalize('NFC') });
    } finally {
      this.#handOver();
    }
  }

  #turnOf(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), resolve]);
    return promise;
  }

  /** To the place that has waited longest since its last turn. */
  #handOver(): void {
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
