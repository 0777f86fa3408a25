// What converters of exports have in common.

import { type Fields, isObject } from '../fields.ts';
import { ImportFault } from '../import_faults.ts';
import { PROVIDER_NAME } from '../import_lines.ts';

/** The issuers of identity providers, by the names that links have. */
export type ProviderIssuers = ReadonlyMap<string, string>;

/** The providers whose issuer is known, by their kind. With others, such as Microsoft, servers know users by other identifiers. */
export const KNOWN_ISSUERS: ReadonlyMap<string, string> = new Map([
  ['google', 'https://accounts.google.com'],
  ['github', 'https://github.com'],
  ['apple', 'https://appleid.apple.com'],
]);

/** What an operator says about the whole file. */
export interface ConvertOptions {
  /** Default: those of providers that are the same for everyone. */
  readonly issuers?: ProviderIssuers;
  /** Whether roles become groups. */
  readonly rolesAreGroups?: boolean;
  /** Whether addresses count as verified if the export does not say. */
  readonly emailsAreVerified?: boolean;
  /** Whether a user whose hash cannot be used is imported without it. */
  readonly dropsUnusableHashes?: boolean;
  /** The parameters of the hashes of a Firebase project. */
  readonly firebaseHash?: FirebaseHash | undefined;
}

/** The parameters of a Firebase project, as its console shows them. */
export interface FirebaseHash {
  readonly signerKey: string;
  readonly saltSeparator: string;
  readonly rounds: number;
  readonly memCost: number;
}

/** Reads one user. Adds to `warnings` what is left out. @returns members of a line, or `reasons` why it is none */
export type Converter = (user: Fields, warnings: ImportFault[], options: ConvertOptions) => Fields;

/** Warns about members that have a value, and that neither the converter uses nor anybody misses. */
export function warnOfOthers(
  fields: Fields,
  used: ReadonlySet<string>,
  warnings: ImportFault[],
  prefix = '',
): void {
  for (const [name, value] of Object.entries(fields)) {
    const hasContent =
      typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
    if (!used.has(name) && hasContent) warnings.push(new ImportFault('not_imported', `${prefix}${name}`));
  }
}

/** An account at a provider, as other servers describe it. */
interface OtherLink {
  readonly provider: unknown;
  readonly sub: unknown;
  readonly label?: unknown;
}

export function linksFrom(
  links: readonly OtherLink[],
  { issuers = KNOWN_ISSUERS }: ConvertOptions,
  warnings: ImportFault[],
) {
  const known = links.flatMap(({ provider, sub, label }) => {
    const name = String(provider);
    const issuer = issuers.get(name);
    const isUsable = issuer !== undefined && PROVIDER_NAME.test(name) && sub !== undefined && sub !== '';
    if (isUsable)
      return [{ provider: name, issuer, sub: String(sub), ...(typeof label === 'string' && { label }) }];
    warnings.push(new ImportFault('link_left_out', name));
    return [];
  });
  return known.length > 0 ? known : undefined;
}

/** Groups with the roles among them, or a warning about the roles. @returns `undefined` if there are neither */
export function withRoles(
  groups: readonly string[] | undefined,
  roles: readonly string[],
  warnings: ImportFault[],
  { rolesAreGroups }: ConvertOptions,
): readonly string[] | undefined {
  if (roles.length === 0) return groups;
  if (rolesAreGroups) return [...(groups ?? []), ...roles];
  warnings.push(new ImportFault('roles_left_out', roles.join(', ')));
  return groups;
}

/** Later than any time in seconds. */
const MILLISECONDS_SINCE = 100_000_000_000;

/**
 * The time of `created_at`: seconds or milliseconds since 1970, or a date with a time, in UTC if it names no zone.
 * Databases write 0 for an unknown time.
 */
export function creationTime(value: unknown, warnings: ImportFault[]): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const text = String(value).trim();
  const number = Number(text);
  const isZoned = /(?:Z|[+-]\d\d(?::?\d\d)?)$/i.test(text.slice(10));
  const iso = `${text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')}${isZoned ? '' : 'Z'}`;
  const time = Number.isNaN(number)
    ? Date.parse(/T/.test(iso) ? iso : text)
    : number * (number > MILLISECONDS_SINCE ? 1 : 1000);
  if (time > 0 && time < 8.64e15) return new Date(time).toISOString();
  if (!/^[0:. -]+$/.test(text)) warnings.push(new ImportFault('time_left_out'));
  return undefined;
}

/** A claim `name` of its parts. */
export function wholeName(...parts: readonly unknown[]): string | undefined {
  const names = parts.filter((part) => typeof part === 'string' && part !== '');
  return names.length > 0 ? names.join(' ') : undefined;
}

export function objectsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The only value of a list, or the list. */
export function singleIn(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

export function withoutAbsent(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
