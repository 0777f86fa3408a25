/** What a kind is: access tokens of a machine, or of a person (`web_*`); `revoked_*` are real ones, revoked afterwards. */
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
  /** Live rows of the table `tokens` in all: the real ones and bulk rows. */
  readonly records: number;
  /** Real tokens of each kind; what is not named is 0. */
  readonly tokens: Readonly<Partial<Record<TokenKind, number>>>;
}
