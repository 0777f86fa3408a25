declare const COMPARED: unique symbol;

/**
 * Whole milliseconds since 1970: what is needed until later stays. Only a `ClockWatch` makes one, so that no deletion goes by
 * the clock of one process (ADR 118).
 */
export type DeletionLimitMs = number & { readonly [COMPARED]: true };
