import type { Claims } from './claims.ts';
import type { ClaimRequest } from './claims_request.ts';

/** Claims that were asked for one by one: a member of the `claims` parameter (OpenID Connect Core §5.5.1). */
export type RequestedClaims = Readonly<Record<string, ClaimRequest>>;

/**
 * Those requests that the granted scopes permit. A claim in a certain language (`name#de`) is permitted where the
 * claim is (OpenID Connect Core §5.2).
 */
export function permittedRequests(
  requested: RequestedClaims | undefined,
  permitted: ReadonlySet<string>,
): RequestedClaims {
  return Object.fromEntries(
    Object.entries(requested ?? {}).filter(([name]) => permitted.has(withoutLanguage(name))),
  );
}

/**
 * Of a person's claims those that were asked for, whether voluntary or essential: one that the person does not have, or
 * not with the value that was asked for, is left out (OpenID Connect Core §5.5.1). What does not exist in the language
 * that was asked for comes as it is without one.
 */
export function requestedClaims(attributes: Claims, requested: RequestedClaims): Claims {
  const given: Record<string, unknown> = {};
  for (const [asked, request] of Object.entries(requested)) {
    const name = hasValue(attributes, asked) ? asked : withoutLanguage(asked);
    if (hasValue(attributes, name) && fits(attributes[name], request)) given[name] = attributes[name];
  }
  return given;
}

function withoutLanguage(name: string): string {
  return name.split('#', 1)[0] ?? name;
}

function hasValue(attributes: Claims, name: string): boolean {
  return Object.hasOwn(attributes, name) && attributes[name] !== undefined && attributes[name] !== null;
}

function fits(value: unknown, request: ClaimRequest): boolean {
  const { value: wanted, values = wanted === undefined ? undefined : [wanted] } = request ?? {};
  return values === undefined || values.some((one) => JSON.stringify(one) === JSON.stringify(value));
}
