import { seconds } from '@grantd/core/options';
import type { GivenFlags } from '../config/configuration.ts';
import { BadUsage } from './exit.ts';
import { printOne, timeOf } from './output.ts';
import type { CommandParts } from './with_instance.ts';

export interface RegistrationTokenFlags extends GivenFlags {
  readonly lifetime?: string;
  readonly once?: true;
}

/** Seconds: a day. */
const USUAL_LIFETIME = 24 * 60 * 60;

/** Seconds: ninety days, since what was given away cannot be taken back earlier. */
const LONGEST_LIFETIME = 90 * 24 * 60 * 60;

/** @throws {BadUsage} no such lifetime */
export function lifetimeOf({ lifetime }: RegistrationTokenFlags): number {
  if (lifetime === undefined) return USUAL_LIFETIME;
  const kind = seconds(1, LONGEST_LIFETIME);
  const read = kind.fromText(lifetime);
  if (read === undefined) throw new BadUsage(`--lifetime: expected ${kind.expected}`);
  return read;
}

/** Prints a new initial access token, by which a client may register itself (RFC 7591 §3). */
export async function makeRegistrationToken(
  parts: CommandParts,
  lifetime: number,
  isForOne: boolean,
): Promise<void> {
  const server = await parts.server();
  const token = await server.newInitialAccessToken({ lifetime, isForOne });
  const expiresAt = timeOf(Date.now() + lifetime * 1000);
  if (parts.configuration.settings.registration !== 'token')
    console.error('grantd: the server takes it while it runs with --registration token');
  printOne(parts, { token, expiresAt, isForOne }, [token]);
}
