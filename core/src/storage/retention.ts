import { LONGEST_ID_TOKEN_LIFETIME, type NewToken } from '../protocol/records.ts';

/** How long events stay where nothing else is said: 30 days. */
export const DEFAULT_EVENT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/**
 * Seconds for which a retired key is kept at the least, though nothing that it signed is stored: an access token
 * that was being signed during the rotation is stored after it, and ID tokens are never stored.
 */
export const RETIRED_KEY_SECONDS = LONGEST_ID_TOKEN_LIFETIME;

const DAY = 24 * 60 * 60;

/** Seconds for which the row of an expired code is kept, so that the log can say why a late client is refused. */
export const EXPIRED_CODE_SECONDS = DAY;

/**
 * Until when a key is said to be needed that signed a row which is kept until `keepUntil` (both in seconds): the end
 * of that day (UTC), so that issuance writes to the key's own row about once a day and not with every token.
 */
export function keyNeededUntil(keepUntil: number): number {
  return Math.ceil(keepUntil / DAY) * DAY;
}

/** Seconds until which the last of the tokens is kept. */
export function latest(tokens: readonly NewToken[]): number {
  return Math.max(0, ...tokens.map(({ keepUntil }) => keepUntil));
}
