// § refers to OpenID Connect Core.
import { OAuthError } from '../http/errors.ts';
import { isJsonObject, parseJson } from '../http/http.ts';

/** Claims of a token or of a person; names as on the wire. */
export type Claims = Readonly<Record<string, unknown>>;

/** Which claims a scope permits. */
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

/** Those of a person's claims that the granted scopes permit; a claim without a value is left out (OpenID Connect Core §5.3.2). */
export function permittedClaims(
  attributes: Claims,
  scopes: readonly string[],
  byScope: ClaimsByScope,
  except?: ReadonlySet<string>,
): Claims {
  const permitted = permittedNames(scopes, byScope, except);
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([name, value]) => permitted.has(name) && value !== undefined && value !== null,
    ),
  );
}

/** The claims that scopes permit, but for some that nobody may have in that way. */
export function permittedNames(
  scopes: readonly string[],
  byScope: ClaimsByScope,
  except: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const names = scopes.flatMap((scope) => (Object.hasOwn(byScope, scope) ? (byScope[scope] ?? []) : []));
  return new Set(names.filter((name) => !except.has(name)));
}

/** How one claim is asked for (OpenID Connect Core §5.5.1); `null` is voluntary, without more. */
export type ClaimRequest = {
  readonly essential?: boolean;
  readonly value?: unknown;
  readonly values?: readonly unknown[];
} | null;

/** The `claims` parameter (OpenID Connect Core §5.5): which claims should be where, by name. */
export interface ClaimsRequest {
  readonly userinfo?: Readonly<Record<string, ClaimRequest>>;
  readonly id_token?: Readonly<Record<string, ClaimRequest>>;
}

/** How deep a value may be that a claim is asked to have, and how many claims may be asked for. */
const DEEPEST_VALUE = 4;
const MOST_CLAIMS = 100;

/**
 * The `claims` parameter (OpenID Connect Core §5.5). Members that are not understood are ignored, at every level.
 * @throws {OAuthError} `invalid_request`: no JSON, or not of the form that §5.5 describes
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
  if (entries.length > MOST_CLAIMS || !entries.every(([name]) => isStorable(name))) throw refused();
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

/** Requests are kept until the grant ends, and there are databases that keep neither NUL nor half a character. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function isPlain(value: unknown, depth = DEEPEST_VALUE): boolean {
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

/** Claims that were asked for one by one: a member of the `claims` parameter (OpenID Connect Core §5.5.1). */
type RequestedClaims = Readonly<Record<string, ClaimRequest>>;

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
