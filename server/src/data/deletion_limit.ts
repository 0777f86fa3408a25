/**
 * Milliseconds by which clocks may differ. Used identifiers are kept for a minute longer than they are accepted, so two
 * processes may differ from the database by half of that.
 */
export const MAX_SKEW_MS = 30_000;

declare const COMPARED: unique symbol;

/**
 * Whole milliseconds since 1970: what is needed until later stays. Only a `ClockWatch` makes one, so that no deletion goes by
 * the clock of one process (ADR 118).
 */
export type DeletionLimitMs = number & { readonly [COMPARED]: true };
