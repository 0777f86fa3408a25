import type { FormerTokens } from './former_tokens.ts';
import type { OldRepositories } from './old_repositories.ts';

const keyId = 'old';

/** The rows of the old server's tokens, each an access token and perhaps a refresh token, as grantd's records. */
export function oldTokens(tokens: OldRepositories['tokens']): FormerTokens {
  return {
    keyId,
    find(kind, id) {
      const row = tokens.find(kind, id);
      if (row === undefined) return undefined;
      const isAccessToken = kind === 'access_token';
      // Rounded as the tokens say it themselves; zero where the row was revoked.
      const expiresAt = isAccessToken
        ? Math.floor(row.accessTokenExpiresAt.getTime() / 1000)
        : Math.ceil((row.refreshTokenExpiresAt?.getTime() ?? 0) / 1000);
      return {
        ...{ id, kind, keyId, clientId: row.client.id },
        ...(row.user && { subject: String(row.user.id) }),
        scopes: row.scopes.map(({ name }) => name),
        ...(isAccessToken && { tokenType: 'Bearer' }),
        issuedAtMs: row.issuedAt.getTime(),
        expiresAt,
        ...(row.refreshToken && { familyId: row.refreshToken, grantId: row.refreshToken }),
      };
    },
    async revoke(kind, id) {
      const row = tokens.find(kind, id);
      if (row !== undefined) await tokens.revoke(row);
    },
  };
}
