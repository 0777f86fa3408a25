/** How long events stay where nothing else is said: 30 days. */
export const DEFAULT_EVENT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/**
 * Seconds for which a retired key is kept at the least, though nothing that it signed is stored: a token whose
 * signature another process was asked for before the rotation is stored after it.
 */
export const SIGNING_IN_FLIGHT_SECONDS = 60 * 60;
