import { isJsonObject } from './json.ts';
import { ConfigurationError } from './oauth_error.ts';

/**
 * Refuses members with unknown names: a misspelt option would otherwise have no effect, and fail open. A block within the
 * options may be an instance of a host's class, which has members of its own.
 * @param known an object with a member for each name
 * @param place where the members are, such as `registration`; without one they are options themselves
 * @throws {ConfigurationError} names the first unknown member, and the known one that it resembles
 */
export function requireKnownNames(given: object, known: object, place?: string, noun?: string): void {
  if (place !== undefined && isInstance(given)) return;
  const names = Object.keys(known);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const path = place === undefined ? unknown : `${place}.${unknown}`;
  throw new ConfigurationError(path, `one of ${names.join(', ')}`, unknownName(path, unknown, names, noun));
}

function isInstance(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype !== Object.prototype && prototype !== null;
}

/**
 * Options as an object with known names.
 * @throws {ConfigurationError} they are no object, or one has an unknown name
 */
export function requireOptions(given: unknown, known: object, place?: string, noun?: string): void {
  if (!isJsonObject(given)) throw new ConfigurationError(place ?? 'options', 'an object');
  requireKnownNames(given, known, place, noun);
}

/** The message for an unknown name; it suggests a known one, or else lists them. */
export function unknownName(
  path: string,
  unknown: string,
  names: readonly string[],
  noun = 'option',
): string {
  const similar = similarName(unknown, names);
  return similar === undefined
    ? `${path}: no such ${noun}; expected one of ${names.join(', ')}`
    : `${path}: no such ${noun}. Did you mean ${similar}?`;
}

/** The name that was probably meant; `undefined` if none resembles it. */
export function similarName(unknown: string, names: readonly string[]): string | undefined {
  const wanted = letters(unknown);
  let best: { name: string; distance: number } | undefined;
  for (const name of names) {
    const candidate = letters(name);
    const isBeginning = wanted.length >= 4 && (candidate.startsWith(wanted) || wanted.startsWith(candidate));
    const distance = isBeginning ? 1 : editDistance(wanted, candidate);
    if (distance > Math.max(1, Math.floor(wanted.length / 3))) continue;
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best?.name;
}

/** Case and separators do not matter: `--redirect-uri`, `redirect_uri` and `redirectUri` are the same name. */
function letters(name: string): string {
  return name
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours between two texts. */
function editDistance(from: string, to: string): number {
  let beforeLast: readonly number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      const costs = [(last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1)];
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        costs.push((beforeLast[j - 2] ?? 0) + 1);
      row.push(Math.min(...costs));
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}
