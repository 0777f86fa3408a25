// Claims by scope and by the `claims` parameter. § refers to OpenID Connect Core.
import type { TokenScheme } from '../http/bearer.ts';
import { OAuthError } from '../http/errors.ts';
import { isJsonObject, parseJson } from '../http/http.ts';

/** Claims of a token or a user, named as on the wire. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * The key that a confirmation (`cnf`) names (RFC 9449 §6.1), by its thumbprint.
 * @returns `undefined` if it also or only has other members: they name proofs that are not known here
 */
export function dpopKeyOf(cnf: unknown): string | undefined {
  if (!isJsonObject(cnf) || Object.keys(cnf).length !== 1) return undefined;
  return typeof cnf.jkt === 'string' ? cnf.jkt : undefined;
}

/**
 * Why a token cannot be used in the way that it was presented (RFC 9449 §7.1, §7.2).
 * @param cnf of the token; `undefined` for a bearer token
 * @returns `undefined` if the scheme fits; a token that is bound to a key then still needs its proof
 */
export function schemeRefusal(
  cnf: unknown,
  scheme: TokenScheme,
): 'token_unbound' | 'confirmation_unknown' | 'token_bound' | undefined {
  if (cnf === undefined) return scheme === 'Bearer' ? undefined : 'token_unbound';
  if (dpopKeyOf(cnf) === undefined) return 'confirmation_unknown';
  return scheme === 'Bearer' ? 'token_bound' : undefined;
}

/** The claims that each scope permits. */
export type ClaimsByScope = Readonly<Record<string, readonly string[]>>;

/** OpenID Connect Core §5.4. */
export const STANDARD_CLAIMS_BY_SCOPE: ClaimsByScope = {
  openid: [],
  profile: [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
};

/** Returns the permitted claims of the user, without those that have no value (OpenID Connect Core §5.3.2). */
export function permittedClaims(attributes: Claims, permitted: ReadonlySet<string>): Claims {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([name, value]) => permitted.has(name) && value !== undefined && value !== null,
    ),
  );
}

/**
 * Returns the names of the claims that the scopes permit (OpenID Connect Core §5.4).
 * @param except claims that no scope may give
 */
export function permittedNames(
  scopes: readonly string[],
  byScope: ClaimsByScope,
  except?: ReadonlySet<string>,
): ReadonlySet<string> {
  const names = scopes.flatMap((scope) => (Object.hasOwn(byScope, scope) ? (byScope[scope] ?? []) : []));
  return new Set(except === undefined ? names : names.filter((name) => !except.has(name)));
}

/** A request for one claim (OpenID Connect Core §5.5.1). `null` requests it as voluntary. */
export type ClaimRequest = {
  readonly essential?: boolean;
  readonly value?: unknown;
  readonly values?: readonly unknown[];
} | null;

/** The `claims` parameter (OpenID Connect Core §5.5). */
export interface ClaimsRequest {
  readonly userinfo?: Readonly<Record<string, ClaimRequest>>;
  readonly id_token?: Readonly<Record<string, ClaimRequest>>;
}

/** Limits for the nesting of a requested value, and for the number of requested claims. */
const MAX_VALUE_DEPTH = 4;
const MAX_CLAIMS = 100;

/**
 * Parses the `claims` parameter (OpenID Connect Core §5.5). Ignores unknown members at every level.
 * @throws {OAuthError} `invalid_request`: not JSON, or not of the required form
 */
export function parseClaimsParameter(parameter: string): ClaimsRequest {
  const parsed = parseJson(parameter);
  if (!isJsonObject(parsed)) throw refused();
  const userinfo = requestsOf(parsed.userinfo);
  const idToken = requestsOf(parsed.id_token);
  return {
    ...(userinfo !== undefined && { userinfo }),
    ...(idToken !== undefined && { id_token: idToken }),
  };
}

function requestsOf(member: unknown): Readonly<Record<string, ClaimRequest>> | undefined {
  if (member === undefined || member === null) return undefined;
  if (!isJsonObject(member)) throw refused();
  const entries = Object.entries(member);
  if (entries.length > MAX_CLAIMS || !entries.every(([name]) => isStorable(name))) throw refused();
  return Object.fromEntries(entries.map(([name, request]) => [name, requestOf(request)]));
}

function requestOf(request: unknown): ClaimRequest {
  if (request === null) return null;
  if (!isJsonObject(request)) throw refused();
  const { essential, value, values } = request;
  if (essential !== undefined && typeof essential !== 'boolean') throw refused();
  if (values !== undefined && (!Array.isArray(values) || values.length === 0)) throw refused();
  if (![value, ...(values ?? [])].every((one) => isPlain(one))) throw refused();
  return {
    ...(essential !== undefined && { essential }),
    ...(value !== undefined && { value }),
    ...(values !== undefined && { values }),
  };
}

/** The request is stored with the grant, and some databases cannot store NUL or lone surrogates. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function isPlain(value: unknown, depth = MAX_VALUE_DEPTH): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  return (
    depth > 0 &&
    Object.entries(value).every(([name, member]) => isStorable(name) && isPlain(member, depth - 1))
  );
}

function refused(): OAuthError {
  return new OAuthError('invalid_request', 'the claims parameter is malformed', {
    reason: 'parameter_invalid',
  });
}

/** One member of the `claims` parameter (OpenID Connect Core §5.5.1). */
type RequestedClaims = Readonly<Record<string, ClaimRequest>>;

/** Keeps the requests that the scopes permit. `name#de` is permitted like `name` (OpenID Connect Core §5.2). */
export function permittedRequests(
  requested: RequestedClaims,
  permitted: ReadonlySet<string>,
): RequestedClaims {
  return Object.fromEntries(
    Object.entries(requested).filter(([name]) => permitted.has(withoutLanguage(name))),
  );
}

/**
 * Returns the requested claims, voluntary and essential ones alike. Omits those that the user does not have, or not
 * with the requested value (OpenID Connect Core §5.5.1). If a claim does not exist in the requested language, returns
 * it without a language.
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
