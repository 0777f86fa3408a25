import { base64url } from 'jose';
import type { Clock, RandomSource } from '../environment.ts';

/** Opaque values: a prefix that secret scanners recognise and that tells the kind, then 256 bits in base64url. */
const OPAQUE_PREFIXES = {
  access_token: 'grantd_at_',
  refresh_token: 'grantd_rt_',
  authorization_code: 'grantd_ac_',
  client_secret: 'grantd_cs_',
  registration_token: 'grantd_ra_',
} as const;

/** All prefixes, those of signed values included. */
export const PREFIXES = { ...OPAQUE_PREFIXES, initial_access_token: 'grantd_ia_' } as const;

type OpaqueKind = keyof typeof OPAQUE_PREFIXES;

const OPAQUE_KINDS = Object.keys(OPAQUE_PREFIXES) as OpaqueKind[];
const BODY = /^[A-Za-z0-9_-]{43}$/;

/** The kind of an opaque value, from the value itself; `undefined` where it is none of this server's. */
export function opaqueKindOf(text: string): OpaqueKind | undefined {
  const kind = OPAQUE_KINDS.find((one) => text.startsWith(PREFIXES[one]));
  return kind !== undefined && BODY.test(text.slice(PREFIXES[kind].length)) ? kind : undefined;
}

/** A new value of 256 random bits. */
export function newOpaque(kind: OpaqueKind, random: RandomSource): string {
  return opaqueFrom(kind, newOpaqueBody(random));
}

/** The base64url of 256 random bits. */
export function newOpaqueBody(random: RandomSource): string {
  return base64url.encode(random(32));
}

/** A value with a given body: the base64url of 32 bytes. */
export function opaqueFrom(kind: OpaqueKind, body: string): string {
  return PREFIXES[kind] + body;
}

/**
 * A new identifier of 128 random bits, for clients. None begins with `-`, since a command would take it for a flag; that
 * costs a fiftieth of a bit.
 */
export function newIdentifier(random: RandomSource): string {
  return base64url.encode(random(16)).replace(/^-/, '_');
}

/** A new identifier for `jti`, pairs, families and grants: the time, then 128 random bits. */
export function newTimedIdentifier({
  clock,
  random,
}: {
  readonly clock: Clock;
  readonly random: RandomSource;
}): string {
  return timedIdentifier(clock(), base64url.encode(random(16)));
}

/**
 * Milliseconds, and what nobody can guess. Identifiers that are made one after another are so in an index as well, and
 * are written to the same few pages of it.
 */
export function timedIdentifier(milliseconds: number, secret: string): string {
  return Math.floor(milliseconds).toString(36) + secret;
}
