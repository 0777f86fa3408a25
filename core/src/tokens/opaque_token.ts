// Opaque tokens and identifiers.
import * as base64url from 'jose/base64url';
import type { Clock, RandomSource } from '../platform/environment.ts';

/** Prefixes tell the kind, also to secret scanners. After them come 256 random bits in base64url. */
const OPAQUE_PREFIXES = {
  access_token: 'grantd_at_',
  refresh_token: 'grantd_rt_',
  authorization_code: 'grantd_ac_',
  device_code: 'grantd_dc_',
  client_secret: 'grantd_cs_',
  registration_token: 'grantd_ra_',
  personal_token: 'grantd_pat_',
} as const;

/** Also contains the prefix of initial access tokens, which are signed. */
export const PREFIXES = { ...OPAQUE_PREFIXES, initial_access_token: 'grantd_ia_' } as const;

type OpaqueKind = keyof typeof OPAQUE_PREFIXES;

const OPAQUE_KINDS = Object.keys(OPAQUE_PREFIXES) as OpaqueKind[];
const FORM = /^(grantd_[a-z]+_)[\w-]{43}$/;

/** Returns the kind of an opaque value by its form, or `undefined` if it is not one of this server (ADR 6). */
export function opaqueKindOf(text: string): OpaqueKind | undefined {
  const prefix = FORM.exec(text)?.[1];
  return OPAQUE_KINDS.find((kind) => PREFIXES[kind] === prefix);
}

/** Whether a text begins like a value of this server. If it is not one, it is damaged. */
export function hasPrefix(text: string): boolean {
  return Object.values(PREFIXES).some((prefix) => text.startsWith(prefix));
}

/** Returns a value with 256 random bits. */
export function newOpaque(kind: OpaqueKind, random: RandomSource): string {
  return opaqueFrom(kind, newOpaqueBody(random));
}

/** Returns 256 random bits in base64url. */
export function newOpaqueBody(random: RandomSource): string {
  return base64url.encode(random(32));
}

/** @param body at least 32 bytes in base64url */
export function opaqueFrom(kind: OpaqueKind, body: string): string {
  return PREFIXES[kind] + body;
}

/**
 * Returns an identifier with 128 random bits. It never begins with `-`, which a command line would take for a flag.
 * That costs a fiftieth of a bit.
 */
export function newIdentifier(random: RandomSource): string {
  return base64url.encode(random(16)).replace(/^-/, '_');
}

/** Returns an identifier for `jti`, pairs, families and grants: the time, then 128 random bits (ADR 30). */
export function newTimedIdentifier({
  clock,
  random,
}: {
  readonly clock: Clock;
  readonly random: RandomSource;
}): string {
  return timedIdentifier(clock(), base64url.encode(random(16)));
}

/** Begins with the time, so that new identifiers are neighbours in an index and touch few of its pages. */
export function timedIdentifier(milliseconds: number, secret: string): string {
  return Math.floor(milliseconds).toString(36) + secret;
}
