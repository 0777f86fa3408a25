// Which tokens of a trusted issuer a rule accepts, by their claims.
import { ConfigurationError } from '../http/errors.ts';
import { isJsonObject, type JsonObject } from '../http/http.ts';
import type { Claims } from '../protocol/claims.ts';

/** Names what does not fit: the path of a member with dots, empty for the value itself. `undefined` if all fits. */
type Mismatch = (value: unknown) => string | undefined;

/** The first claim that a rule does not accept; `undefined` if it accepts all. */
export type UnmatchedClaim = (claims: Claims) => string | undefined;

const SEPARATOR = /([:/])/;

/** Parts of `sub` that a pattern names before its first `*`. One alone is often the same for all tokens of an issuer. */
const LEAST_NAMED_PARTS = 2;

/**
 * @param place of the patterns, for messages
 * @param needsSub whether `sub` must be among them
 * @returns names the first claim that does not match
 * @throws {ConfigurationError} a pattern has another form, or that of `sub` is missing or lets too much in
 */
export function patternsOf(patterns: unknown, place: string, needsSub = true): UnmatchedClaim {
  const unmatched = membersOf(patterns, place);
  if (!needsSub) return unmatched;
  const { sub } = patterns as JsonObject;
  const subjects = typeof sub === 'string' ? [sub] : Array.isArray(sub) ? sub.map(String) : [];
  if (subjects.length === 0) throw new ConfigurationError(`${place}.sub`, 'a pattern, or a list of patterns');
  const open = subjects.find((pattern) => pattern.includes('*') && namedParts(pattern) < LEAST_NAMED_PARTS);
  if (open === undefined) return unmatched;
  throw new ConfigurationError(
    `${place}.sub`,
    `at least ${LEAST_NAMED_PARTS} parts between : or / before the first *, got ${open}`,
  );
}

/** The scheme of a URL names nothing. */
function namedParts(pattern: string): number {
  const parts = partsOf(pattern.replace(/^[a-z][a-z\d+.-]*:\/\//i, ''));
  return parts.slice(0, parts.indexOf('*')).filter((part) => !/^[:/]?$/.test(part)).length;
}

function membersOf(patterns: unknown, place: string): Mismatch {
  if (!isJsonObject(patterns) || Object.keys(patterns).length === 0)
    throw new ConfigurationError(place, 'an object with a pattern for each claim');
  const members = Object.entries(patterns).map(
    ([name, pattern]) => [name, matcherOf(pattern, `${place}.${name}`)] as const,
  );
  return (value) => {
    if (!isJsonObject(value)) return '';
    for (const [name, mismatch] of members) {
      const within = Object.hasOwn(value, name) ? mismatch(value[name]) : '';
      if (within !== undefined) return within === '' ? name : `${name}.${within}`;
    }
    return undefined;
  };
}

function matcherOf(pattern: unknown, place: string): Mismatch {
  if (typeof pattern === 'number' || typeof pattern === 'boolean')
    return (value) => (value === pattern ? undefined : '');
  if (isJsonObject(pattern)) return membersOf(pattern, place);
  const texts: readonly unknown[] = Array.isArray(pattern) ? pattern : [pattern];
  if (texts.length === 0) throw new ConfigurationError(place, 'at least one pattern');
  const alternatives = texts.map((text) => textMatcher(text, place));
  return (value) =>
    typeof value === 'string' && alternatives.some((matches) => matches(value)) ? undefined : '';
}

function textMatcher(pattern: unknown, place: string): (value: string) => boolean {
  if (typeof pattern !== 'string' || pattern === '')
    throw new ConfigurationError(place, 'a text, a number, true, false, a list of texts, or an object');
  const wanted = partsOf(pattern);
  if (wanted.some((part) => part.includes('*') && part !== '*'))
    throw new ConfigurationError(place, `* alone between : or /, got ${pattern}`);
  return (value) => {
    const parts = partsOf(value);
    return (
      parts.length === wanted.length &&
      parts.every((part, index) => (wanted[index] === '*' ? part !== '' : part === wanted[index]))
    );
  };
}

/** Parts and separators in turn. */
function partsOf(text: string): readonly string[] {
  return text.split(SEPARATOR);
}
