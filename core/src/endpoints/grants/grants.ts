import type { GrantType } from '../../protocol/records.ts';
import { authorizationCode } from './authorization_code.ts';
import { clientCredentials } from './client_credentials.ts';
import type { Grant } from './grant.ts';
import { refreshToken } from './refresh_token.ts';

const GRANTS: ReadonlyMap<string, Grant> = new Map<GrantType, Grant>([
  ['authorization_code', authorizationCode],
  ['refresh_token', refreshToken],
  ['client_credentials', clientCredentials],
]);

export const GRANT_TYPES: readonly string[] = [...GRANTS.keys()];

/** The grant of a `grant_type` parameter; `undefined` where the server has none such. */
export function grantOf(grantType: string): Grant | undefined {
  return GRANTS.get(grantType);
}
