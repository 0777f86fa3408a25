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
