/** Access tokens of clients or of users (`web_…`). `revoked_…` tokens were active before. */
export const TOKEN_KINDS = [
  'jwt_rs256',
  'jwt_es256',
  'opaque',
  'web_access',
  'web_refresh',
  'revoked_jwt',
  'revoked_opaque',
] as const;

export type TokenKind = (typeof TOKEN_KINDS)[number];

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

/** Rows of the ordered tokens: a refresh token has an access token as well. */
export function rowsOf(order: PopulationOrder): number {
  return kindsOf(order).reduce((sum, [kind, count]) => sum + (kind === 'web_refresh' ? 2 * count : count), 0);
}
