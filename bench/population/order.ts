/**
 * Access tokens of clients or of users (`web_…`). `revoked_…` tokens were active before. The refresh tokens and codes
 * named `opaque` lead to opaque tokens and an RS256 ID token, those named `es256` to ES256 JWTs alone. `bound_…` tokens
 * are bound to a key by DPoP.
 */
export const TOKEN_KINDS = [
  'jwt_rs256',
  'jwt_es256',
  'bound_jwt',
  'opaque',
  'web_access',
  'web_refresh',
  'web_opaque_refresh',
  'web_es256_refresh',
  'web_opaque_code',
  'revoked_jwt',
  'revoked_opaque',
] as const;

export type TokenKind = (typeof TOKEN_KINDS)[number];

/** Refresh tokens, each of which has an access token as well. */
export function isRefresh(kind: TokenKind): boolean {
  return kind.endsWith('_refresh');
}

/** Authorization codes, which have no row among the tokens. */
export function isCode(kind: TokenKind): boolean {
  return kind.endsWith('_code');
}

export interface PopulationOrder {
  /** Total rows of tokens: the ordered tokens and copies, all alive. */
  readonly records: number;
  /** The number of distinct tokens per kind; none of a missing kind. */
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
}

/** Every ordered kind with its number. */
export function kindsOf({ tokens }: PopulationOrder): readonly (readonly [TokenKind, number])[] {
  return TOKEN_KINDS.flatMap((kind) => {
    const count = tokens[kind] ?? 0;
    return count > 0 ? [[kind, count] as const] : [];
  });
}

/** Rows of the ordered tokens. */
export function rowsOf(order: PopulationOrder): number {
  const rows = (kind: TokenKind) => (isRefresh(kind) ? 2 : isCode(kind) ? 0 : 1);
  return kindsOf(order).reduce((sum, [kind, count]) => sum + rows(kind) * count, 0);
}
