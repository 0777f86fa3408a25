import type { FormerTokens } from './former_tokens.ts';
import type { OldRepositories } from './old_repositories.ts';
import { OLD_KEY } from './old_signatures.ts';

/** The rows of the old server's tokens, each an access token and perhaps a refresh token, as grantd's records. */
export function oldTokens(tokens: OldRepositories['tokens']): FormerTokens {
  return {
    keyId: OLD_KEY,
    async find(kind, id) {
      const row = tokens.find(kind, id);
      if (row === undefined) return undefined;
      const isAccessToken = kind === 'access_token';
      const isRevoked = !isAccessToken && (await tokens.isRefreshTokenRevoked(row));
      // Rounded as the tokens say it themselves.
      const expiresAt = isAccessToken
        ? Math.floor(row.accessTokenExpiresAt.getTime() / 1000)
        : Math.ceil((row.refreshTokenExpiresAt?.getTime() ?? 0) / 1000);
      return {
        ...{ id, kind, keyId: OLD_KEY, clientId: row.client.id },
        ...(row.user && { subject: String(row.user.id) }),
        scopes: row.scopes.map(({ name }) => name),
        ...(isAccessToken && { tokenType: 'Bearer' }),
        issuedAtMs: row.issuedAt.getTime(),
        expiresAt: isRevoked ? 0 : expiresAt,
        ...(row.refreshToken && { familyId: row.refreshToken, grantId: row.refreshToken }),
      };
    },
    async revoke(kind, id) {
      const row = tokens.find(kind, id);
      if (row !== undefined) await tokens.revoke(row);
    },
  };
}
