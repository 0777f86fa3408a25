import { type AuthorizationServer, GRANT_TYPES, type NewClient, type PreviousServer } from '@grantd/core';
import type { OAuthClient } from '@jmondi/oauth2-server';
import type { OldRepositories } from './old_repositories.ts';

/** The old server's tokens. A row has an access token and possibly a refresh token. */
export const oldTokens = (rows: OldRepositories['tokens'], keys: PreviousServer['keys']): PreviousServer => ({
  keys,
  identify: ({ jti, refresh_token_id }) =>
    jti ? { kind: 'access_token', key: jti } : { kind: 'refresh_token', key: refresh_token_id },
  find(kind, id) {
    const row = rows.find(kind, id);
    if (row === undefined) return undefined;
    return {
      clientId: row.client.id,
      subject: row.user && String(row.user.id),
      scopes: row.scopes.map(({ name }) => name),
      issuedAtMs: Number(row.issuedAt),
      expiresAtMs: Number(kind === 'access_token' ? row.accessTokenExpiresAt : row.refreshTokenExpiresAt),
      refreshTokenId: row.refreshToken,
    };
  },
  async revoke(kind, id) {
    const row = rows.find(kind, id);
    if (row) await rows.revoke(row);
  },
});

/** An old client. grantd stores hashes of secrets, and has no `password` or `implicit` grant. */
export const newClient = async (server: AuthorizationServer, old: OAuthClient): Promise<NewClient> => ({
  ...{ id: old.id, name: old.name, redirectUris: old.redirectUris },
  ...(old.secret
    ? { secrets: [await server.operator.hashClientSecret(old.secret)] }
    : { metadata: { token_endpoint_auth_method: 'none' } }),
  grantTypes: GRANT_TYPES.filter((grant) => old.allowedGrants.some((allowed) => allowed === grant)),
  scopes: old.scopes.map(({ name }) => name),
});
