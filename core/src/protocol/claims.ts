// Claims by scope and by the `claims` parameter. § refers to OpenID Connect Core.

import type { TokenScheme } from '../http/bearer.ts';
import { invalidRequest, type OAuthError } from '../http/errors.ts';
import { isJsonObject, parseJson } from '../http/http.ts';
import { defined } from '../platform/environment.ts';

/** Claims of a token or a user, named as on the wire. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * What proves that the bearer of a token is its rightful holder: the members of `cnf` (RFC 7800 §3.1). With several
 * members, each proof is needed.
 */
export interface Confirmation {
  /** Thumbprint (RFC 7638) of the client's key: the token needs DPoP proofs by this key (RFC 9449 §6.1). */
  readonly jkt?: string;
  /** SHA-256 (base64url) of the client's certificate: the token needs TLS connections with it (RFC 8705 §3.1). */
  readonly 'x5t#S256'?: string;
}

const CONFIRMATION_MEMBERS: readonly string[] = ['jkt', 'x5t#S256'] satisfies (keyof Confirmation)[];

/**
 * Reads a confirmation (`cnf`).
 * @returns `undefined` if it has no members, or one that names a proof that is not known here
 */
export function readConfirmation(cnf: unknown): Confirmation | undefined {
  if (!isJsonObject(cnf)) return undefined;
  const members = Object.entries(cnf);
  const areKnown = members.every(
    ([name, value]) => CONFIRMATION_MEMBERS.includes(name) && typeof value === 'string',
  );
  return members.length > 0 && areKnown ? cnf : undefined;
}

/** The key that a confirmation (`cnf`) names (RFC 9449 §6.1), by its thumbprint. */
export function dpopKeyOf(cnf: unknown): string | undefined {
  return readConfirmation(cnf)?.jkt;
}

/** Whether everything is proven to which a token or JWT is bound. What this server cannot check never is. */
export function isProven(bound: unknown, proven: Confirmation = {}): boolean {
  const { jkt, 'x5t#S256': certificate } = readConfirmation(bound) ?? {};
  return (
    (jkt ?? certificate) !== undefined &&
    (jkt === undefined || jkt === proven.jkt) &&
    (certificate === undefined || certificate === proven['x5t#S256'])
  );
}

/**
 * Why a token cannot be used in the way that it was presented (RFC 8705 §3, RFC 9449 §7.1, §7.2).
 * @param cnf of the token; `undefined` for a bearer token
 * @param certificate thumbprint (`x5t#S256`) of the certificate of the TLS connection, if any
 * @returns `undefined` if scheme and certificate fit; a token that is bound to a key then still needs its proof
 */
export function bindingRefusal(
  cnf: unknown,
  scheme: TokenScheme,
  certificate: string | undefined,
):
  | 'token_unbound'
  | 'confirmation_unknown'
  | 'token_bound'
  | 'client_certificate_missing'
  | 'client_certificate_wrong'
  | undefined {
  if (cnf === undefined) return scheme === 'Bearer' ? undefined : 'token_unbound';
  const bound = readConfirmation(cnf);
  if (bound === undefined) return 'confirmation_unknown';
  if (bound.jkt !== undefined && scheme === 'Bearer') return 'token_bound';
  if (bound.jkt === undefined && scheme === 'DPoP') return 'token_unbound';
  if (bound['x5t#S256'] === undefined || bound['x5t#S256'] === certificate) return undefined;
  return certificate === undefined ? 'client_certificate_missing' : 'client_certificate_wrong';
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

/** Claim of an exchanged token: the keys by which followers know the tokens that it was obtained from (ADR 182). */
export const ENDING_KEYS = 'ending_keys';

/** The tokens that an ending can concern, by what they say: all, those of a client, of a user, or of a user at a client. */
export type EndingConcern =
  | readonly ['all']
  | readonly ['client', clientId: string]
  | readonly ['subject', sub: string]
  | readonly ['grant', clientId: string, sub: string];

/** The text that is behind a key of the concern (docs/follow.md). */
export function endingText(concern: EndingConcern): string {
  return concern.join('\n');
}

/** @param digest of the text, in base64url. The key is 48 bits of it. */
export function endingKey(digest: string): string {
  return digest.slice(0, 8);
}

/** The `claims` parameter (OpenID Connect Core §5.5). */
export interface ClaimsRequest {
  readonly userinfo?: Readonly<Record<string, ClaimRequest>>;
  readonly id_token?: Readonly<Record<string, ClaimRequest>>;
}

/** Limits for the nesting of a requested value, and for the number of requested claims. */
const MAX_VALUE_DEPTH = 4;
const MAX_CLAIMS = 100;

/** Claims about the sign-in itself, which need no scope. */
const ABOUT_THE_SIGN_IN: readonly string[] = ['sub', 'acr', 'amr', 'auth_time', 'sid'];

/**
 * Parses the `claims` parameter (§5.5). Ignores unknown members at every level, and claims that no scope permits: a user who
 * was asked about them would read words of the client's choice.
 * @throws {OAuthError} `invalid_request`: not JSON, or not of the required form
 */
export function parseClaimsParameter(parameter: string, byScope: ClaimsByScope): ClaimsRequest {
  const parsed = parseJson(parameter);
  if (!isJsonObject(parsed)) throw refused();
  const names = new Set([...ABOUT_THE_SIGN_IN, ...Object.values(byScope).flat()]);
  const userinfo = requestsOf(parsed.userinfo, names);
  const idToken = requestsOf(parsed.id_token, names);
  return defined({ userinfo, id_token: idToken });
}

function requestsOf(member: unknown, names: ReadonlySet<string>): RequestedClaims | undefined {
  if (member === undefined || member === null) return undefined;
  if (!isJsonObject(member)) throw refused();
  const entries = Object.entries(member);
  if (entries.length > MAX_CLAIMS || !entries.every(([name]) => isStorable(name))) throw refused();
  return permittedRequests(
    Object.fromEntries(entries.map(([name, request]) => [name, requestOf(request)])),
    names,
  );
}

function requestOf(request: unknown): ClaimRequest {
  if (request === null) return null;
  if (!isJsonObject(request)) throw refused();
  const { essential, value, values } = request;
  if (essential !== undefined && typeof essential !== 'boolean') throw refused();
  if (values !== undefined && (!Array.isArray(values) || values.length === 0)) throw refused();
  if (![value, ...(values ?? [])].every((item) => isPlain(item))) throw refused();
  return defined({ essential, value, values });
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
  return invalidRequest('the claims parameter is malformed', 'parameter_invalid');
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
 * it without a language (ADR 22).
 */
export function requestedClaims(attributes: Claims, requested: RequestedClaims): Claims {
  const entries = Object.entries(requested).flatMap(([requestedName, request]) => {
    const name = hasValue(attributes, requestedName) ? requestedName : withoutLanguage(requestedName);
    const isGiven = hasValue(attributes, name) && fits(attributes[name], request);
    return isGiven ? [[name, attributes[name]] as const] : [];
  });
  return Object.fromEntries(entries);
}

function withoutLanguage(name: string): string {
  return name.split('#', 1)[0] ?? name;
}

function hasValue(attributes: Claims, name: string): boolean {
  return Object.hasOwn(attributes, name) && attributes[name] !== undefined && attributes[name] !== null;
}

function fits(value: unknown, request: ClaimRequest): boolean {
  const { value: wanted, values = wanted === undefined ? undefined : [wanted] } = request ?? {};
  return values === undefined || values.some((item) => JSON.stringify(item) === JSON.stringify(value));
}
