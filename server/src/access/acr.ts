import { SIGN_IN_POLICIES } from '@grantd/core';
import {
  ACRS,
  type Level,
  MULTI_FACTOR,
  PASSWORD,
  PHISHING_RESISTANT,
  type SignInPolicy,
} from '../config/acr.ts';
import type { FactorsOfPerson } from '../data/factors.ts';

function levelOfAcr(acr: string): Level | undefined {
  return ACRS.find((item) => item.acr === acr)?.level;
}

/** Authentication methods of each step (RFC 8176 §2). */
export const METHODS = {
  password: ['pwd'],
  /** No registered value says it (RFC 8176 §2): `otp` would look like the code of an app, which is a further factor. */
  emailCode: ['email'],
  /** Codes of an app and recovery codes are one-time passwords. */
  code: ['otp', 'mfa'],
  /** A key that the user has, after user presence and verification by the authenticator. */
  passkey: ['pop', 'user', 'mfa'],
  /** A key that the user has, after something else. Its authenticator need not verify the user. */
  securityKey: ['pop', 'mfa'],
} as const;

/**
 * Marks a sign-in that rests on a recovery code: the code itself, or a factor that was added with one and does not count
 * yet. Tokens do not have it.
 */
const RECOVERY = 'recovery';

/** The methods of a step that rests on a recovery code. */
export function byRecovery(methods: readonly string[]): readonly string[] {
  return [...methods, RECOVERY];
}

export function restsOnRecovery(amr: readonly string[]): boolean {
  return doneHere(amr).includes(RECOVERY);
}

/** A sign-in at another provider. What it has passed on comes before, and what the user did here comes after. */
export const FEDERATED = 'fed';

/** What the user has done here. A provider’s word about methods is for applications, and never a step of this server. */
function doneHere(amr: readonly string[]): readonly string[] {
  return amr.slice(amr.lastIndexOf(FEDERATED) + 1);
}

/** The methods of a sign-in after a further step. A step with a factor that counts replaces those that do not. */
export function afterStep(amr: readonly string[], methods: readonly string[]): readonly string[] {
  const replaced = restsOnRecovery(amr) && !methods.includes(RECOVERY) ? BESIDE_PASSWORD : [];
  const elsewhere = amr.lastIndexOf(FEDERATED) + 1;
  const kept = amr.filter((item, index) => index < elsewhere || !replaced.includes(item));
  return [...kept.filter((item) => !methods.includes(item)), ...methods];
}

const BESIDE_PASSWORD: readonly string[] = [...METHODS.code, ...METHODS.passkey, RECOVERY];

/** Methods by which applications take a sign-in for phishing-resistant. */
const OF_KEY: readonly string[] = ['pop', 'user'];

/**
 * The methods as tokens have them, in the same order, so that they say as much about the sign-in. A key that a recovery
 * code has added is not named until it counts.
 */
export function amrShown(amr: readonly string[]): readonly string[] {
  const elsewhere = amr.lastIndexOf(FEDERATED) + 1;
  const left = restsOnRecovery(amr) ? [RECOVERY, ...OF_KEY] : [RECOVERY];
  return amr.filter((item, index) => item !== RECOVERY && (index < elsewhere || !left.includes(item)));
}

/** Of the lowest level: a code by email replaces the password, and is worth as much (ADR 159). */
const FIRST_FACTORS: readonly string[] = [...METHODS.password, ...METHODS.emailCode];

/** The methods with which a sign-in can begin below the highest level. */
export const FIRST_METHODS: readonly string[] = [...FIRST_FACTORS, FEDERATED];

/** Whether the user has signed in here with a code by email instead of a password. */
export function usesEmailCode(amr: readonly string[]): boolean {
  return METHODS.emailCode.some((method) => doneHere(amr).includes(method));
}

/** Whether the user has shown something that a security key can follow: a first factor, or a sign-in at a provider. */
export function hasFirstStep(amr: readonly string[]): boolean {
  return amr.includes(FEDERATED) || FIRST_FACTORS.some((method) => doneHere(amr).includes(method));
}

export function levelOf(amr: readonly string[]): Level {
  const done = doneHere(amr);
  // Only with user verification is a key more than one factor. Without, it needs another one (ADR 192).
  if (done.includes('pop') && !done.includes(RECOVERY) && (done.includes('user') || hasFirstStep(amr)))
    return PHISHING_RESISTANT;
  return done.includes('mfa') ? MULTI_FACTOR : PASSWORD;
}

/**
 * The `acr` of a sign-in: the most preferred requested class that it meets, else its own class; `undefined` for a sign-in
 * at another provider that says no more.
 * @param requested classes by preference, most preferred first
 */
export function acrOf(amr: readonly string[], requested: readonly string[] = []): string | undefined {
  const level = levelOf(amr);
  if (level === PASSWORD && !FIRST_FACTORS.some((method) => doneHere(amr).includes(method))) return undefined;
  const met = requested.find((acr) => (levelOfAcr(acr) ?? Number.POSITIVE_INFINITY) <= level);
  return met ?? ACRS.findLast((acr) => acr.level <= level)?.acr;
}

/** What a request wants of a sign-in. */
export interface AcrRequest {
  /** Classes of which one is required, unless the list is empty. */
  readonly required: readonly string[];
  /** Classes of which one is desired. A user who can reach none of them does as much as they can. */
  readonly desired: readonly string[];
}

export const NO_ACR: AcrRequest = { required: [], desired: [] };

/** The lowest level that meets one of the classes. Ignores unknown classes. */
function lowestOf(acrs: readonly string[]): Level {
  const levels = acrs.map(levelOfAcr).filter((level) => level !== undefined);
  return levels.length === 0 ? PASSWORD : (Math.min(...levels) as Level);
}

/** Each policy is stricter than the one before. */
const FROM_WEAKEST: readonly SignInPolicy[] = ['password', ...SIGN_IN_POLICIES];

export function strictestOf(...policies: readonly SignInPolicy[]): SignInPolicy {
  return FROM_WEAKEST.findLast((item) => policies.includes(item)) ?? 'password';
}

function levelOfPolicy(policy: SignInPolicy, reachable: Level): Level {
  if (policy === 'password') return PASSWORD;
  if (policy === 'second_factor') return MULTI_FACTOR;
  if (policy === 'phishing_resistant') return PHISHING_RESISTANT;
  return reachable === PASSWORD ? PASSWORD : MULTI_FACTOR;
}

/** Whether a sign-in meets a policy, apart from what a user’s own factors add to it. */
export function meets(amr: readonly string[], policy: SignInPolicy): boolean {
  return levelOf(amr) >= levelOfPolicy(policy, PASSWORD);
}

/** The factors of a user at a server, at a time. */
export interface FactorsNow extends Pick<FactorsOfPerson, 'passkeys' | 'hasTotp' | 'recoveryCodes'> {
  /** Whether one of the passkeys or security keys counts, at a server whose users can use them. */
  readonly passkeyCounts: boolean;
  readonly totpCounts: boolean;
  /** What the factors reached before a user with a recovery code changed some. `PASSWORD` after a while. */
  readonly heldLevel: Level;
}

/** @param hasPasskeys whether browsers can use passkeys at this server */
export function factorsNow(has: FactorsOfPerson, hasPasskeys: boolean, nowMs: number): FactorsNow {
  const { recoveryCodes, passkeysCountFromMs, totpCountsFromMs, held } = has;
  const highest = hasPasskeys ? PHISHING_RESISTANT : MULTI_FACTOR;
  return {
    passkeys: hasPasskeys ? has.passkeys : 0,
    hasTotp: has.hasTotp,
    recoveryCodes,
    passkeyCounts: hasPasskeys && passkeysCountFromMs !== undefined && passkeysCountFromMs <= nowMs,
    totpCounts: totpCountsFromMs !== undefined && totpCountsFromMs <= nowMs,
    heldLevel: held.untilMs > nowMs ? (Math.min(held.level, highest) as Level) : PASSWORD,
  };
}

/** The highest level that a user can reach now, with the factors that they have already added. */
export function reachableLevel({ passkeys, hasTotp, passkeyCounts }: FactorsNow): Level {
  if (passkeyCounts) return PHISHING_RESISTANT;
  return hasTotp || passkeys > 0 ? MULTI_FACTOR : PASSWORD;
}

/** The classes of sign-ins that meet a policy, weakest first; empty if each sign-in does. */
export function classesFor(policy: SignInPolicy, has: FactorsNow): readonly string[] {
  const level = levelOfPolicy(policy, reachableLevel(has));
  return level === PASSWORD ? [] : ACRS.filter((acr) => acr.level >= level).map(({ acr }) => acr);
}

/** A further step up to a level, a factor that the user has yet to add, or a class that this server cannot reach. */
export type MissingStep =
  | {
      readonly step: 'second';
      readonly level: Level;
      /** Whether a recovery code, or a factor that does not count yet, is enough. */
      readonly takesRecovery: boolean;
    }
  | { readonly step: 'enrol' | 'unmet' };

/**
 * What a sign-in lacks; `undefined` if it lacks nothing. A user who has a factor is asked for it before they may add
 * another one (ADR 89).
 */
export function missingStep(
  policy: SignInPolicy,
  { required, desired }: AcrRequest,
  {
    level,
    reachable,
    highest,
  }: {
    readonly level: Level;
    readonly reachable: Level;
    /** The highest level that users of this server, or this user in the next hours, can reach with a new factor. */
    readonly highest: Level;
  },
): MissingStep | undefined {
  const must = Math.max(levelOfPolicy(policy, reachable), lowestOf(required)) as Level;
  const wanted = Math.max(must, Math.min(lowestOf(desired), reachable)) as Level;
  if (level >= wanted) return undefined;
  if (reachable > level) {
    const owed = Math.min(wanted, reachable) as Level;
    return { step: 'second', level: owed, takesRecovery: owed < PHISHING_RESISTANT };
  }
  return { step: must > highest ? 'unmet' : 'enrol' };
}
