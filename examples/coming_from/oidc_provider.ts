// The clients and tokens of oidc-provider, with any adapter, as storage of grantd.
import type { HostClient, HostToken, Storage } from '@grantd/core';
import type { AccessToken, Client, ClientCredentials, Provider, RefreshToken } from 'oidc-provider';

type Found = HostToken & { readonly token: AccessToken | ClientCredentials | RefreshToken };
type FoundClient = HostClient & { readonly client: Client };

/** What a token is bound to. Without it, UserInfo would accept the token from every bearer. */
const bindingOf = ({ jkt, 'x5t#S256': thumbprint }: Found['token']) =>
  jkt ? { jkt } : thumbprint && { 'x5t#S256': thumbprint };

const record = (token: Found['token'] | undefined): Found | undefined =>
  token && {
    ...{ token, clientId: token.clientId ?? '', scopes: token.scope ?? '', expiresAt: token.exp ?? 0 },
    ...{ issuedAtMs: token.iat * 1000, subject: 'accountId' in token ? token.accountId : undefined },
    ...(token.kind !== 'RefreshToken' && { tokenType: token.jkt === undefined ? 'Bearer' : 'DPoP' }),
    confirmation: bindingOf(token) || undefined,
  };
const EXPIRED_TOO = { ignoreExpiration: true };

export const oidcProvider = (provider: Provider): Storage => ({
  clients: {
    async get(id): Promise<FoundClient | undefined> {
      const client = await provider.Client.find(id);
      const method = client?.tokenEndpointAuthMethod as HostClient['tokenEndpointAuthMethod'];
      return client && { id, client, tokenEndpointAuthMethod: method };
    },
    async verifySecret(found, secret) {
      if (found === undefined) return false;
      const { client } = found as FoundClient;
      const isExpired = Date.now() / 1000 >= (client.clientSecretExpiresAt || Number.POSITIVE_INFINITY);
      return !isExpired && client.compareClientSecret(secret);
    },
  },
  tokens: {
    keyedBy: 'token',
    getByAccessToken: async (key) =>
      record(
        (await provider.AccessToken.find(key, EXPIRED_TOO)) ??
          (await provider.ClientCredentials.find(key, EXPIRED_TOO)),
      ),
    getByRefreshToken: async (key) => record(await provider.RefreshToken.find(key, EXPIRED_TOO)),
    isRefreshTokenRevoked: (found) => ((found as Found).token as RefreshToken).consumed !== undefined,
    async revoke(found) {
      const { token } = found as Found;
      const { AccessToken: access, RefreshToken: refresh } = provider;
      // The presented token last, so that a client can repeat a request that failed between two steps.
      const models = token.kind === 'RefreshToken' ? [access, refresh] : [refresh, access];
      const grantId = 'grantId' in token ? token.grantId : undefined;
      if (grantId !== undefined) for (const model of models) await model.revokeByGrantId(grantId);
      await token.destroy();
    },
  },
});
