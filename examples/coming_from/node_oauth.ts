// The tables of a host with @node-oauth/oauth2-server, as storage of grantd. Its model defines them.
import { scryptSync, timingSafeEqual } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { HostClient, HostToken, Storage } from '@grantd/core';

type Client = HostClient & { readonly salt: Uint8Array; readonly secret_hash: Uint8Array };
type Token = HostToken & { readonly access_token: string };

const CLIENT = 'SELECT id, salt, secret_hash FROM oauth_clients WHERE id = ?';
const tokenBy = (column: 'access_token' | 'refresh_token') => `
  SELECT access_token, client_id AS clientId, user_id AS subject, scope AS scopes,
    ${column}_expires_at / 1000 AS expiresAt FROM oauth_tokens WHERE ${column} = ?`;
const REVOKE = 'DELETE FROM oauth_tokens WHERE access_token = ?';

const UNKNOWN = { salt: new Uint8Array(16), secret_hash: new Uint8Array(32) };

export const nodeOauth = (database: DatabaseSync): Storage => ({
  clients: {
    get: (id) => database.prepare(CLIENT).get(id) as unknown as Client | undefined,
    verifySecret(client, secret) {
      const { salt, secret_hash } = (client as Client | undefined) ?? UNKNOWN;
      return timingSafeEqual(scryptSync(secret, salt, 32), secret_hash);
    },
  },
  tokens: {
    keyedBy: { access_token: 'token', refresh_token: 'token' },
    identify: (_, token) => ({ kind: 'access_token', key: token }), // if generateAccessToken makes JWTs
    getByAccessToken: (key) => database.prepare(tokenBy('access_token')).get(key) as unknown as Token,
    getByRefreshToken: (key) => database.prepare(tokenBy('refresh_token')).get(key) as unknown as Token,
    isRefreshTokenRevoked: () => false, // a revoked token has no row
    revoke: (token) => void database.prepare(REVOKE).run((token as Token).access_token),
  },
});
