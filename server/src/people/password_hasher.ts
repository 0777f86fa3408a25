import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** RFC 9106 §4, the second recommended option: 64 MiB, three passes, four lanes. */
const COST = { memory: 65536, passes: 3, parallelism: 4, tagLength: 32 } as const;
const SALT_BYTES = 16;

/** The PHC string format keeps the cost beside the hash, so that it can be raised later. */
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** A hash takes 64 MiB and a thread of the pool that signatures need as well: a flood of sign-ins must not stop tokens. */
const MOST_AT_ONCE = 2;

/** Who comes later would wait for seconds, while their requests and passwords fill memory. */
const MOST_WAITING = 32;

const derive = promisify(argon2);

interface ParsedHash {
  readonly parameters: Omit<Argon2Parameters, 'message'>;
  readonly tag: Buffer;
}

const NOBODYS: ParsedHash = {
  parameters: { nonce: Buffer.alloc(SALT_BYTES), ...COST },
  tag: Buffer.alloc(COST.tagLength),
};

/** People's passwords, as argon2id (RFC 9106). */
export class PasswordHasher {
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #admitted = 0;

  /**
   * Does work that a password is checked in, unless so many are at it that whoever asks next is better sent away.
   * @returns `undefined` where nothing was begun
   */
  admit<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#admitted >= MOST_AT_ONCE + MOST_WAITING) return undefined;
    this.#admitted += 1;
    return work().finally(() => {
      this.#admitted -= 1;
    });
  }

  /** A password as it is stored. */
  async hash(password: string): Promise<string> {
    const nonce = randomBytes(SALT_BYTES);
    const tag = await this.#derive(password, { nonce, ...COST });
    const { memory, passes, parallelism } = COST;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
  }

  /** Whether a password is the stored one. Where none is stored, the answer is `false` at the same cost. */
  async fits(password: string, stored: string | undefined): Promise<boolean> {
    const hash = stored === undefined ? NOBODYS : parse(stored);
    const tag = await this.#derive(password, hash.parameters);
    return timingSafeEqual(tag, hash.tag) && stored !== undefined;
  }

  async #derive(password: string, parameters: ParsedHash['parameters']): Promise<Buffer> {
    while (this.#running >= MOST_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await derive('argon2id', { ...parameters, message: password.normalize('NFC') });
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
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
