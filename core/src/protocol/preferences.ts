/** Entries of a header that are looked at. */
const MOST_PREFERENCES = 50;

/** RFC 9110 §12.4.2: qvalue. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** What a header such as `Accept` wants, in lower case, and how much: from 0, not at all, to 1. */
export interface Preference {
  readonly value: string;
  readonly weight: number;
}

/**
 * The entries of `Accept` or `Accept-Language`, in their order and at most 50 (RFC 9110 §12.5). What has a weight that is
 * none is not wanted.
 */
export function preferencesOf(header: string | undefined): readonly Preference[] {
  return header?.split(',', MOST_PREFERENCES).map(preferenceOf) ?? [];
}

/** How much an `Accept` header wants a media type that it names (RFC 9110 §12.5.1). Wildcards name nothing. */
export function qualityOf(mediaType: string, accept: string | undefined): number {
  return preferencesOf(accept).find(({ value }) => value === mediaType)?.weight ?? 0;
}

function preferenceOf(entry: string): Preference {
  const [value = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length) ?? '1';
  return { value, weight: WEIGHT.test(weight) ? Number(weight) : 0 };
}
