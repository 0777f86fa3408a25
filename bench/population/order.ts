/** Access tokens of a machine, or of a person (`web_…`); those that are `revoked_…` were real ones before. */
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
  /** Rows of tokens in all: those of the tokens that are asked for, and copies beside them, all alive. */
  readonly records: number;
  /** How many distinct tokens of each kind; of what is not named there is none. */
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
}

/** Every kind that is ordered, with how many. */
export function kindsOf({ tokens }: PopulationOrder): readonly (readonly [TokenKind, number])[] {
  return TOKEN_KINDS.flatMap((kind) => {
    const count = tokens[kind] ?? 0;
    return count > 0 ? [[kind, count] as const] : [];
  });
}

/** Rows of the tokens that are asked for: a refresh token has an access token beside it. */
export function rowsOf(order: PopulationOrder): number {
  return kindsOf(order).reduce((sum, [kind, count]) => sum + (kind === 'web_refresh' ? 2 * count : count), 0);
}
