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
  return ACRS.find((one) => one.acr === acr)?.level;
}

/** Authentication methods of each step (RFC 8176 §2). */
export const METHODS = {
  password: ['pwd'],
  /** Codes of an app and recovery codes are one-time passwords. */
  code: ['otp', 'mfa'],
  /** A key that the user has, after user presence and verification by the authenticator. */
  passkey: ['pop', 'user', 'mfa'],
} as const;

/** A sign-in at another provider. What it has passed on comes before, and what the user did here comes after. */
export const FEDERATED = 'fed';

/** What the user has done here. A provider’s word about methods is for applications, and never a step of this server. */
function doneHere(amr: readonly string[]): readonly string[] {
  return amr.slice(amr.lastIndexOf(FEDERATED) + 1);
}

/** The methods of a sign-in after a further step. */
export function afterStep(amr: readonly string[], methods: readonly string[]): readonly string[] {
  return [...amr.filter((one) => !methods.includes(one)), ...methods];
}

/** The methods as tokens have them. */
export function amrShown(amr: readonly string[]): readonly string[] {
  if (!amr.includes(FEDERATED)) return amr;
  return [FEDERATED, ...amr.filter((one) => one !== FEDERATED)];
}

export function levelOf(amr: readonly string[]): Level {
  const done = doneHere(amr);
  // Only with user verification is a key more than one factor.
  if (done.includes('pop') && done.includes('user')) return PHISHING_RESISTANT;
  return done.includes('mfa') ? MULTI_FACTOR : PASSWORD;
}

/**
 * The `acr` of a sign-in: the most preferred requested class that it meets, else its own class; `undefined` for a sign-in
 * at another provider that says no more.
 * @param requested classes by preference, most preferred first
 */
export function acrOf(amr: readonly string[], requested: readonly string[] = []): string | undefined {
  const level = levelOf(amr);
  if (level === PASSWORD && !doneHere(amr).includes('pwd')) return undefined;
  const met = requested.find((acr) => (levelOfAcr(acr) ?? Number.POSITIVE_INFINITY) <= level);
  return met ?? ACRS.findLast((one) => one.level <= level)?.acr;
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

function levelOfPolicy(policy: SignInPolicy, reachable: Level): Level {
  if (policy === 'password') return PASSWORD;
  if (policy === 'second_factor') return MULTI_FACTOR;
  if (policy === 'phishing_resistant') return PHISHING_RESISTANT;
  return reachable === PASSWORD ? PASSWORD : MULTI_FACTOR;
}

/** The highest level that a user can reach now, with the factors that they have already added. */
export function reachableLevel({ passkeys, hasTotp }: FactorsOfPerson, hasPasskeys: boolean): Level {
  if (passkeys > 0 && hasPasskeys) return PHISHING_RESISTANT;
  return hasTotp ? MULTI_FACTOR : PASSWORD;
}

/** A further step up to a level, a factor that the user has yet to add, or a class that this server cannot reach. */
export type MissingStep =
  | { readonly step: 'second'; readonly level: Level }
  | { readonly step: 'enrol' | 'unmet' };

/**
 * What a sign-in lacks; `undefined` if it lacks nothing. A user who has a factor is asked for it before they may add
 * another one.
 */
export function missingStep(
  policy: SignInPolicy,
  { required, desired }: AcrRequest,
  {
    level,
    reachable,
    highest,
  }: { readonly level: Level; readonly reachable: Level; readonly highest: Level },
): MissingStep | undefined {
  const must = Math.max(levelOfPolicy(policy, reachable), lowestOf(required)) as Level;
  const wanted = Math.max(must, Math.min(lowestOf(desired), reachable)) as Level;
  if (level >= wanted) return undefined;
  if (reachable > level) return { step: 'second', level: Math.min(wanted, reachable) as Level };
  return { step: must > highest ? 'unmet' : 'enrol' };
}
