import { nameKey } from '../data/names.ts';

/** Maximum bytes of a password that a user chooses, so that a form cannot make the server hash a book. */
export const MAX_PASSWORD_BYTES = 1024;

/** Why a chosen password is refused. */
export type PasswordProblem = 'password_short' | 'password_long' | 'password_common' | 'password_is_name';

/** The names that must not be the password. */
interface OwnNames {
  readonly name?: string;
  readonly email?: unknown;
}

/**
 * The rules for passwords that users choose (NIST SP 800-63B §3.1.1.2): a minimum length and a list of common ones. No
 * character classes, because they make passwords harder to remember and no harder to guess.
 */
export class PasswordRules {
  readonly minLength: number;
  #common: Promise<ReadonlySet<string>> | undefined;

  constructor(minLength: number) {
    this.minLength = minLength;
  }

  /** @returns `undefined` if the password is allowed */
  async problemOf(password: string, { name, email }: OwnNames): Promise<PasswordProblem | undefined> {
    if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return 'password_long';
    if ([...password].length < this.minLength) return 'password_short';
    const key = nameKey(password);
    const own = [name, email].flatMap((item) => (typeof item === 'string' ? [nameKey(item)] : []));
    if (own.some((item) => key === item || key.replaceAll(item, '') === '')) return 'password_is_name';
    this.#common ??= commonPasswords();
    return isCommon(key, await this.#common) ? 'password_common' : undefined;
  }
}

/** A common password, also if it is repeated or followed by digits and signs: `password123!`, `qwertyqwerty`. */
function isCommon(key: string, common: ReadonlySet<string>): boolean {
  const bare = key.replace(/[\d\W_]+$/u, '');
  const [, repeated = ''] = /^(.+?)\1+$/su.exec(key) ?? [];
  return [key, bare, repeated].some((item) => common.has(item)) || [...repeated].length === 1;
}

/** Loads the list only when a user chooses a password. It has about 50,000 entries, most common first. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  // CommonJS: a bundle offers the default export only.
  const {
    default: { dictionary },
  } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common']);
}
