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
