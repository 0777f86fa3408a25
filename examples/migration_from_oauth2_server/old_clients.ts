import { type AuthorizationServer, GRANT_TYPES, type NewClient } from '@grantd/core';
import type { OAuthClient } from '@jmondi/oauth2-server';

/** An old client. grantd stores hashes of secrets, and has no `password` or `implicit` grant. */
export const newClient = async (server: AuthorizationServer, old: OAuthClient): Promise<NewClient> => ({
  ...{ id: old.id, name: old.name, redirectUris: old.redirectUris },
  ...(old.secret
    ? { secrets: [await server.operator.hashClientSecret(old.secret)] }
    : { metadata: { token_endpoint_auth_method: 'none' } }),
  grantTypes: GRANT_TYPES.filter((grant) => old.allowedGrants.some((allowed) => allowed === grant)),
  scopes: old.scopes.map(({ name }) => name),
});
