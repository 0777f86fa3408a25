/** `typ` headers: RFC 9068 §2.1 for access tokens, our own for refresh tokens. */
export const JWT_TYPES = { access_token: 'at+jwt', refresh_token: 'rt+jwt' } as const;
