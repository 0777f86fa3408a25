// The tables of better-auth with its plugin @better-auth/oauth-provider, as storage of grantd.
import { createHash } from 'node:crypto';
import type { HostClient, HostToken, Storage } from '@grantd/core';
import type { DBAdapter } from 'better-auth';
import { constantTimeEqual } from 'better-auth/crypto';

type Adapter = Pick<DBAdapter<never>, 'findOne' | 'deleteMany' | 'updateMany'>;
type Row = Readonly<
  Record<'id' | 'clientId' | 'userId' | 'sessionId' | 'refreshId' | 'authorizationCodeId', string>
> &
  Readonly<Record<'createdAt' | 'expiresAt' | 'revoked', Date>> &
  Pick<HostToken, 'scopes' | 'confirmation'>;
type Token = HostToken & { readonly row: Row };
type ClientRow = Readonly<{ clientSecret: string | null; disabled: boolean | null; updatedAt: Date }> &
  Pick<HostClient, 'tokenEndpointAuthMethod'>;
type Client = HostClient & { readonly secretHash: string | null };

export const betterAuth = (adapter: Adapter): Storage => {
  const find = <T>(model: string, field: string, value: string) =>
    adapter.findOne<T>({ model, where: [{ field, value }] });
  const tokenBy = async (model: string, digest: string): Promise<Token | null> => {
    const row = await find<Row>(model, 'token', digest);
    return (
      row && {
        ...{ row, clientId: row.clientId, subject: row.userId, scopes: row.scopes },
        ...{ issuedAtMs: row.createdAt, expiresAt: row.expiresAt, revokedAtMs: row.revoked },
        // Without it, UserInfo would accept a token that is bound to a key from every bearer.
        confirmation: row.confirmation,
      }
    );
  };
  return {
    clients: {
      async get(id): Promise<Client | null> {
        const row = await find<ClientRow>('oauthClient', 'clientId', id);
        if (row === null) return null;
        const { clientSecret: secretHash, tokenEndpointAuthMethod, disabled, updatedAt } = row;
        return { id, secretHash, tokenEndpointAuthMethod, disabledAtMs: disabled ? updatedAt : null };
      },
      verifySecret: (client, secret) =>
        constantTimeEqual(
          createHash('sha256').update(secret).digest('base64url'),
          (client as Client | undefined)?.secretHash ?? '',
        ),
    },
    tokens: {
      keyedBy: 'digest',
      getByAccessToken: (digest) => tokenBy('oauthAccessToken', digest),
      getByRefreshToken: (digest) => tokenBy('oauthRefreshToken', digest),
      isRefreshTokenRevoked: () => false, // `revokedAtMs` says it
      async isAccessTokenRevoked(token) {
        const { sessionId } = (token as Token).row;
        if (!sessionId) return false;
        const session = await find<{ expiresAt: Date }>('session', 'id', sessionId);
        return session === null || session.expiresAt < new Date();
      },
      async revoke(token) {
        const { id, refreshId, authorizationCodeId: code } = (token as Token).row;
        const refresh = code
          ? { field: 'authorizationCodeId', value: code }
          : { field: 'id', value: refreshId ?? id };
        // Tokens for a device have no code.
        const access = code
          ? [refresh]
          : [
              { field: 'refreshId', value: refresh.value },
              { field: 'id', value: id },
            ];
        // First the refresh token, whose row stays: a client can repeat a request that failed between two steps.
        const update = { revoked: new Date() };
        await adapter.updateMany({ model: 'oauthRefreshToken', where: [refresh], update });
        for (const where of access) await adapter.deleteMany({ model: 'oauthAccessToken', where: [where] });
      },
    },
  };
};
