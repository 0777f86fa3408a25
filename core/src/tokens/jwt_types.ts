/**
 * `typ` headers, by which no token is taken for one of another kind: RFC 9068 §2.1 for access tokens, Back-Channel
 * Logout §2.4 for logout tokens, our own for refresh tokens, and what clients are used to for ID tokens.
 */
export const JWT_TYPES = {
  access_token: 'at+jwt',
  refresh_token: 'rt+jwt',
  id_token: 'JWT',
  logout_token: 'logout+jwt',
} as const;

/** Of access tokens for APIs that refuse `at+jwt`. An ID token has the same, and no `jti`. */
export const PLAIN_JWT_TYPE = JWT_TYPES.id_token;

export type JwtType = keyof typeof JWT_TYPES;

/**
 * A `typ` header as types are compared: without regard to case, and without the `application/` that may be left out
 * (RFC 7515 §4.1.9).
 */
export function comparableType(typ: string | undefined): string | undefined {
  return typ?.toLowerCase().replace(/^application\//, '');
}

/** Which of this server's JWTs has that `typ`; `undefined` for any other. */
export function jwtTypeOf(typ: string | undefined): JwtType | undefined {
  const type = comparableType(typ);
  return JWT_TYPE_NAMES.find((name) => JWT_TYPES[name].toLowerCase() === type);
}

const JWT_TYPE_NAMES = Object.keys(JWT_TYPES) as JwtType[];
