import { createHash, randomInt } from 'node:crypto';
import { type Factors, factorBinding } from '../data/factors.ts';
import type { Notice } from '../data/mails.ts';
import type { Person } from '../data/people.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import type { AttemptLimits, Count } from './sign_in.ts';

/** RFC 6238 §4. Authenticator apps support no other values reliably. */
export const PERIOD_SECONDS = 30;
export const DIGITS = 6;

/** Steps before and after the current one that count, for clocks that are off (RFC 6238 §5.2). */
const WINDOW = 1;

const SECRET_BYTES = 20;

/** Wrong codes per user, from any sender: briefly against typing, and per day against guessing. */
export const CODE_LIMITS = [
  { attempts: 10, windowMs: 5 * 60 * 1000 },
  { attempts: 50, windowMs: 24 * 60 * 60 * 1000 },
];

const RECOVERY_CODES = 10;

/** Characters that readers do not confuse. 16 of them carry 79 bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const CODE_LENGTH = 16;

export type CodeRefusal =
  | { readonly refused: 'code_wrong' | 'code_used' | 'recovery_code_wrong' }
  | { readonly refused: 'too_many_codes'; readonly secondsToWait: number; readonly isFirst: boolean };

/** Why an authenticator app could not be added. */
export type TotpRefusal = 'code_wrong' | 'totp_exists' | 'totp_offer_wrong';

interface Parts {
  readonly issuer: string;
  /** The name that the app shows. */
  readonly issuerName: string;
  readonly factors: Factors;
  readonly limits: AttemptLimits;
  readonly secret: ProgramSecret;
  readonly clock: () => number;
}

/** Authenticator apps (RFC 6238) and recovery codes. */
export class SecondFactors {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A new secret for an app. It counts only after a first code. */
  async offerTotp({ subject, name }: Person): Promise<TotpOffer> {
    const { Secret } = await import('otpauth');
    const secret = new Secret({ size: SECRET_BYTES });
    const totp = await this.#totp(secret.base32, name);
    const sealed = await this.#seal(secret.base32, subject);
    return { sealed, secret: secret.base32, uri: totp.toString() };
  }

  /** Opens an offer again, to show it after a wrong code. */
  async offeredTotp({ subject, name }: Person, sealed: string): Promise<TotpOffer | undefined> {
    const secret = await this.#unseal(sealed, subject);
    if (secret === undefined) return undefined;
    return { sealed, secret, uri: (await this.#totp(secret, name)).toString() };
  }

  /** Adds an app, confirmed by its first code. @param countsFromMs as of a passkey */
  async addTotp(
    { subject, name }: Person,
    sealed: string,
    code: string,
    countsFromMs = 0,
    notice?: Notice,
  ): Promise<TotpRefusal | undefined> {
    const { factors, clock } = this.#parts;
    const secret = await this.#unseal(sealed, subject);
    if (secret === undefined) return 'totp_offer_wrong';
    const step = await this.#stepOf(secret, name, code);
    if (step === undefined) return 'code_wrong';
    const totp = { sealed, createdAtMs: clock(), countsFromMs };
    const isAdded = await factors.addTotp(subject, totp, step, notice);
    return isAdded ? undefined : 'totp_exists';
  }

  /** Checks a code of the user’s app. Each code counts once. */
  async checkTotp({ subject, name }: Person, code: string): Promise<CodeRefusal | undefined> {
    const reached = await this.#begin(subject);
    if (reached !== undefined) return reached;
    const { factors } = this.#parts;
    const stored = await factors.totpOf(subject);
    const secret = stored && (await this.#unseal(stored.sealed, subject));
    const step = secret === undefined ? undefined : await this.#stepOf(secret, name, code);
    if (stored === undefined || secret === undefined || step === undefined) return { refused: 'code_wrong' };
    if (!(await factors.useTotp(subject, stored, step))) return { refused: 'code_used' };
    await this.#succeeded(subject);
    return undefined;
  }

  /** Checks and uses up a recovery code. */
  async useRecoveryCode({ subject }: Person, typed: string): Promise<CodeRefusal | undefined> {
    const reached = await this.#begin(subject);
    if (reached !== undefined) return reached;
    const isUsed = await this.#parts.factors.useRecoveryCode(subject, digestOf(subject, typed));
    if (!isUsed) return { refused: 'recovery_code_wrong' };
    await this.#succeeded(subject);
    return undefined;
  }

  /**
   * Replaces the user’s recovery codes.
   * @returns `false` if the user has no other factor
   */
  async newRecoveryCodes(subject: string, notice?: Notice): Promise<boolean> {
    const { factors, clock, secret } = this.#parts;
    const key = await secret.key('recovery_code');
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode).map((code) => ({
      digest: digestOf(subject, code),
      sealed: seal(key, code, this.#boundTo(subject)),
    }));
    return factors.setRecoveryCodes(subject, codes, clock(), notice);
  }

  /** The recovery codes that the user has not saved yet. Empty afterwards, or if their server secret is gone. */
  async unsavedRecoveryCodes(subject: string): Promise<readonly string[]> {
    const sealed = await this.#parts.factors.unsavedCodesOf(subject);
    const codes = await Promise.all(sealed.map((item) => this.#unseal(item, subject, 'recovery_code')));
    return codes.filter((code) => code !== undefined);
  }

  /** An attempt that one limit refuses does not count for the next. @returns `undefined` to go on */
  async #begin(subject: string): Promise<Extract<CodeRefusal, { refused: 'too_many_codes' }> | undefined> {
    const reached = await this.#parts.limits.begin(...countsOf(subject));
    if (reached === undefined) return undefined;
    const { secondsToWait, isFirst } = reached;
    return { refused: 'too_many_codes', secondsToWait, isFirst };
  }

  async #succeeded(subject: string): Promise<void> {
    await this.#parts.limits.end({ forgotten: countsOf(subject) });
  }

  async #totp(secret: string, label: string) {
    const { Secret, TOTP } = await import('otpauth');
    return new TOTP({
      // Apps split the label at the first colon, also at an encoded one.
      issuer: withoutColons(this.#parts.issuerName),
      label: withoutColons(label),
      secret: Secret.fromBase32(secret),
      algorithm: 'SHA1',
      digits: DIGITS,
      period: PERIOD_SECONDS,
    });
  }

  /** The time step of a code; `undefined` if the code is wrong. */
  async #stepOf(secret: string, label: string, typed: string): Promise<number | undefined> {
    const token = typed.replaceAll(/\s/g, '');
    if (!/^\d{6}$/.test(token)) return undefined;
    const timestamp = this.#parts.clock();
    const delta = (await this.#totp(secret, label)).validate({ token, timestamp, window: WINDOW });
    return delta === null ? undefined : Math.floor(timestamp / 1000 / PERIOD_SECONDS) + delta;
  }

  async #seal(secret: string, subject: string): Promise<string> {
    return seal(await this.#parts.secret.key('totp_secret'), secret, this.#boundTo(subject));
  }

  async #unseal(
    sealed: string,
    subject: string,
    use: 'totp_secret' | 'recovery_code' = 'totp_secret',
  ): Promise<string | undefined> {
    for (const key of await this.#parts.secret.keys(use)) {
      const secret = unseal(key, sealed, this.#boundTo(subject));
      if (secret !== undefined) return secret;
    }
    return undefined;
  }

  #boundTo(subject: string): string {
    return factorBinding(this.#parts.issuer, subject);
  }
}

/** A secret that the user can add to an app. */
export interface TotpOffer {
  /** Sent back with the first code. */
  readonly sealed: string;
  /** Base32, to type. */
  readonly secret: string;
  /** `otpauth://`, for the QR code. */
  readonly uri: string;
}

/** Wherever a code comes from, it counts. */
function countsOf(subject: string): readonly Count[] {
  return CODE_LIMITS.map((most, index) => ({
    name: codeCountName(subject, index),
    place: '',
    most,
    triedSubject: subject,
  }));
}

/** No username has a line break. */
export function codeCountName(subject: string, index: number): string {
  return `code ${index}\n${subject}`;
}

function newRecoveryCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length)));
  return letters.join('').replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** 79 random bits need no slow hash. */
function digestOf(subject: string, typed: string): string {
  const code = typed.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  return createHash('sha256')
    .update(JSON.stringify([subject, code]))
    .digest('base64url');
}

function withoutColons(text: string): string {
  return text.replaceAll(/\s*:\s*/g, ' ').trim();
}
