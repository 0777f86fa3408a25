import { secondsOf } from './environment.ts';
import type { ClientSecretRecord } from './records.ts';

/** A client has so many secrets at a time that authenticate it. */
export const MOST_LIVE_SECRETS = 2;

/** Whether a secret authenticates its client now. An expiry that is no number counts as past. */
export function isLiveSecret({ expiresAt }: ClientSecretRecord, nowMs: number): boolean {
  return expiresAt === undefined || nowMs < expiresAt * 1000;
}

/** What a rotation does to the secret that it replaces. */
export interface SecretRotation {
  readonly nowMs: number;
  /** Seconds for which the replaced secret still authenticates. */
  readonly overlap: number;
}

/**
 * The secrets of a client after a rotation: the new one, and the newest of the live ones, which gets an end or keeps an
 * earlier one. All others are gone.
 */
export function rotatedSecrets(
  secrets: readonly ClientSecretRecord[],
  added: ClientSecretRecord,
  { nowMs, overlap }: SecretRotation,
): readonly ClientSecretRecord[] {
  const replaced = secrets.find((one) => isLiveSecret(one, nowMs) && one.hash !== added.hash);
  if (replaced === undefined || overlap <= 0) return [added];
  const endsAt = secondsOf(nowMs) + overlap;
  return [added, { ...replaced, expiresAt: Math.min(replaced.expiresAt ?? endsAt, endsAt) }];
}
