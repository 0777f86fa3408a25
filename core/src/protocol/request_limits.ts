/** Bytes of a body; larger ones are refused with 413. */
export const MAX_BODY_BYTES = 64 * 1024;

/**
 * Characters of names and values of a request that people are asked about: a host may send them through addresses of
 * its pages, sealed.
 */
export const LONGEST_PARAMETERS = 6144;

/** Characters of an access token that an API looks at; longer ones are refused unread. */
export const LONGEST_ACCESS_TOKEN = 16 * 1024;
