/** What a client needs to use a grant (RFC 7591 §2.1). Registration and the token endpoint check it. */
interface GrantRequirements {
  /** `response_types` that belong to the grant. A grant with any needs a redirect URI. */
  readonly responseTypes: readonly 'code'[];
  /** Another grant, which issues what this one uses. */
  readonly needs?: string;
  /** Whether public clients may not use it. */
  readonly isForConfidentialClients?: true;
}

/**
 * The grants of the token endpoint, by the value of `grant_type`. The table in token/token.ts has the code of each.
 */
export const GRANTS = {
  authorization_code: { responseTypes: ['code'] },
  refresh_token: { responseTypes: [], needs: 'authorization_code' },
  client_credentials: { responseTypes: [], isForConfidentialClients: true },
} as const satisfies Readonly<Record<string, GrantRequirements>>;

export type GrantType = keyof typeof GRANTS;

export const GRANT_TYPES = Object.keys(GRANTS) as readonly GrantType[];

/** What a client needs to use a grant. */
export function requirementsOf(grantType: GrantType): GrantRequirements {
  return GRANTS[grantType];
}
