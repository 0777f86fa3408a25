import type { SIGN_IN_POLICIES } from '@grantd/core';
import type { Configuration } from './configuration.ts';
import { isLoopback } from './networks.ts';
import { flagOf, type Settings } from './options.ts';
import { ConfigurationRefused } from './refused.ts';

/** Strength of a sign-in. Each level includes the lower ones. */
export type Level = 1 | 2 | 3;

export const PASSWORD: Level = 1;
export const MULTI_FACTOR: Level = 2;
export const PHISHING_RESISTANT: Level = 3;

/**
 * Authentication context classes, weakest first. `phr` is registered (OpenID Connect EAP ACR Values). Its stricter
 * form `phrh` needs hardware protection, which a server that accepts every authenticator cannot know.
 */
export const ACRS: readonly { readonly acr: string; readonly level: Level }[] = [
  { acr: 'urn:grantd:acr:password', level: PASSWORD },
  { acr: 'urn:grantd:acr:multi-factor', level: MULTI_FACTOR },
  { acr: 'phr', level: PHISHING_RESISTANT },
];

/** The classes that sign-ins at an issuer can reach, weakest first. */
export function acrValues(settings: PasskeySettings, issuer: string): readonly string[] {
  const hasPasskeys = rpIdOf(settings, issuer) !== undefined;
  return ACRS.filter(({ level }) => hasPasskeys || level < PHISHING_RESISTANT).map(({ acr }) => acr);
}

type PasskeySettings = Pick<Settings, 'passkeys'>;

/**
 * The RP ID of an issuer (WebAuthn §4): its host.
 * @returns `undefined` if passkeys are off, or browsers offer none there, because the URL is insecure or its host is an
 * IP address
 */
export function rpIdOf({ passkeys }: PasskeySettings, issuer: string): string | undefined {
  const { protocol, hostname } = new URL(issuer);
  if (!passkeys || /^[\d.]+$/.test(hostname) || hostname.startsWith('[')) return undefined;
  return protocol === 'https:' || isLoopback(hostname) ? hostname : undefined;
}

/** Which sign-ins this server accepts. */
export type SignInPolicy = Settings['signInPolicy'];

/** What a client or a group can need besides. */
export type FurtherPolicy = (typeof SIGN_IN_POLICIES)[number];

/** Why no sign-in can meet a policy: it needs passkeys, and this server has none. @returns `undefined` if some can */
export function unreachablePolicy(
  policy: SignInPolicy | undefined,
  { settings }: Pick<Configuration, 'settings'>,
  issuer: string,
): string | undefined {
  if (policy !== 'phishing_resistant' || rpIdOf(settings, issuer) !== undefined) return undefined;
  const advice = settings.passkeys
    ? `browsers offer no passkeys at the issuer ${issuer}. Use an https issuer with a host name, or another policy`
    : `${flagOf('passkeys')} is off. Turn it on, or use another policy`;
  return `phishing_resistant needs passkeys, but ${advice}`;
}

/** @throws {ConfigurationRefused} no sign-in can meet the policy of the server, or of its console */
export function refuseUnreachablePolicy(configuration: Configuration, issuer: string): void {
  const { settings, sourceOf } = configuration;
  const options = settings.console
    ? (['signInPolicy', 'consoleSignInPolicy'] as const)
    : (['signInPolicy'] as const);
  for (const option of options) {
    const problem = unreachablePolicy(settings[option], configuration, issuer);
    if (problem !== undefined) throw new ConfigurationRefused(`${sourceOf(option)}: ${problem}.`);
  }
}
