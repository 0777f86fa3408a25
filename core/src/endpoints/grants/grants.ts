import type { GrantType } from '../../protocol/records.ts';
import { authorizationCode } from './authorization_code.ts';
import { clientCredentials } from './client_credentials.ts';
import type { Grant } from './grant.ts';
import { refreshToken } from './refresh_token.ts';

const GRANTS = new Map<GrantType, Grant>([
  ['authorization_code', authorizationCode],
  ['refresh_token', refreshToken],
  ['client_credentials', clientCredentials],
]);

export const GRANT_TYPES: readonly GrantType[] = [...GRANTS.keys()];

/** The grant of a `grant_type` parameter; `undefined` where the server has none such. */
export function grantOf(grantType: string): Grant | undefined {
  const known = GRANT_TYPES.find((one) => one === grantType);
  return known && GRANTS.get(known);
}
