// Authorization details: rights as JSON objects. § refers to RFC 9396.

import { OAuthError, type RefusalReason } from '../http/errors.ts';
import { isJsonObject, jsonCopy, parseJson } from '../http/http.ts';
import { hasResource, isResourceUri } from './client_metadata.ts';

/** The parameter, claim and response member (§2, §7, §9). */
export const AUTHORIZATION_DETAILS = 'authorization_details';

/** One object of `authorization_details` (§2). Its type decides which other members it has. */
export interface AuthorizationDetail {
  readonly type: string;
  /** Resource URIs of the APIs that the detail is for (§2.2). Default: every API that gets the token. */
  readonly locations?: readonly string[];
  readonly [member: string]: unknown;
}

export type AuthorizationDetails = readonly AuthorizationDetail[];

/** Limits for one list of details. They also keep access tokens short enough for request headers. */
const MAX_DETAILS = 20;
const MAX_BYTES = 4096;

/**
 * Reads the parameter `authorization_details`. Whether types exist and details fit them is checked elsewhere.
 * @throws {OAuthError} `invalid_authorization_details`: not a list of objects with a type, or over a limit
 */
export function parseAuthorizationDetails(parameter: string): AuthorizationDetails {
  const details = detailsIn(parseJson(parameter));
  if (details !== undefined) return details;
  throw refusedDetails(
    `authorization_details must be a JSON array of 1 to ${MAX_DETAILS} objects with a type and at most ${MAX_BYTES} bytes`,
    'authorization_details_malformed',
  );
}

/** Copies a list of details; `undefined` if the value is none, is over a limit, or cannot be stored exactly. */
export function detailsIn(value: unknown): AuthorizationDetails | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_DETAILS) return undefined;
  const details = value.map((item) => jsonCopy(item));
  if (!details.every(isDetail) || !hasExactNumbers(details)) return undefined;
  return new TextEncoder().encode(JSON.stringify(details)).length <= MAX_BYTES ? details : undefined;
}

function isDetail(value: unknown): value is AuthorizationDetail {
  if (!isJsonObject(value) || typeof value.type !== 'string') return false;
  const { locations } = value;
  if (locations === undefined) return true;
  return (
    Array.isArray(locations) &&
    locations.length > 0 &&
    locations.every((location) => typeof location === 'string' && isResourceUri(location))
  );
}

/** JavaScript rounds larger integers, so the token would say something else than the request. */
function hasExactNumbers(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(hasExactNumbers);
}

export function refusedDetails(description: string, reason: RefusalReason, value?: string): OAuthError {
  return new OAuthError('invalid_authorization_details', description, { reason, value });
}

// ── Audience ──────────────────────────────────────────────────────────────────────────────────────────────

/** All locations of the details, each once. */
export function locationsOf(details: AuthorizationDetails = []): readonly string[] {
  return [...new Set(details.flatMap(({ locations = [] }) => locations))];
}

/**
 * Returns the audience of a token for these details alone.
 * @returns `undefined` if one of them names no location, because it is then for every API
 */
export function audienceOfDetails(details: AuthorizationDetails): readonly string[] | undefined {
  return details.every(({ locations }) => locations !== undefined) ? locationsOf(details) : undefined;
}

/** Keeps what is for these APIs: details without locations, and others with the locations among them (§9.1, §9.2). */
export function detailsFor(
  details: AuthorizationDetails,
  audience: readonly string[],
): AuthorizationDetails | undefined {
  const kept = details.flatMap((detail) => {
    if (detail.locations === undefined) return [detail];
    const locations = detail.locations.filter((location) => hasResource(audience, location));
    return locations.length === 0 ? [] : [{ ...detail, locations }];
  });
  return kept.length === 0 ? undefined : kept;
}

// ── Comparison ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Reduces a granted detail to what a token request asks for (§6.1). Both have the same type.
 * @returns `undefined` if the request asks for anything else
 */
export type NarrowDetail = (
  granted: AuthorizationDetail,
  requested: AuthorizationDetail,
) => AuthorizationDetail | undefined;

/** Lists of which each value is a right of its own, so that fewer values are fewer rights (§2.2). */
const LISTS_OF_RIGHTS: readonly string[] = ['locations', 'actions', 'datatypes', 'privileges'];

/**
 * The comparison of types that have none of their own. The result is the granted detail, with fewer values in the
 * common lists. Every other member of the request must equal the granted one, and members that it omits stay as granted.
 */
export const narrowByCommonLists: NarrowDetail = (granted, requested) => {
  const lists: Record<string, readonly unknown[]> = {};
  for (const [name, value] of Object.entries(requested)) {
    const own = Object.hasOwn(granted, name) ? granted[name] : undefined;
    if (isEqual(value, own)) continue;
    if (!LISTS_OF_RIGHTS.includes(name) || !Array.isArray(own) || !Array.isArray(value)) return undefined;
    if (value.length === 0 || !value.every((item) => own.includes(item))) return undefined;
    lists[name] = own.filter((item) => value.includes(item));
  }
  return { ...granted, ...lists };
};

/**
 * Selects from the details of a grant. Each requested one selects every granted one that it narrows, so the result never
 * exceeds the grant.
 * @param narrowOf the comparison of a type
 * @throws {OAuthError} `invalid_authorization_details`: a requested one selects nothing, or the result is over a limit
 */
export function selectedDetails(
  granted: AuthorizationDetails,
  requested: AuthorizationDetails,
  narrowOf: (type: string) => NarrowDetail,
): AuthorizationDetails {
  const selected = requested.flatMap((wanted) => {
    const { type } = wanted;
    const candidates = granted.filter((item) => item.type === type);
    const narrowed = candidates
      .map((candidate) => narrowOf(type)(candidate, wanted))
      .filter((item) => item !== undefined);
    if (narrowed.length > 0) return narrowed;
    throw refusedDetails(
      'the authorization_details are not part of the grant',
      'authorization_details_not_granted',
      type,
    );
  });
  const details = detailsIn(
    selected.filter((item, at) => !selected.slice(0, at).some((o) => isEqual(o, item))),
  );
  if (details !== undefined) return details;
  throw refusedDetails(
    'the authorization_details match more of the grant than one token can contain',
    'authorization_details_malformed',
  );
}

/** Whether two JSON values are the same. Members of objects have no order (RFC 8259 §4). */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, at) => isEqual(value, b[at]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}
