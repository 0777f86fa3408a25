// The tables of a host with @jmondi/oauth2-server, as storage of grantd. Their columns are those of the host.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { HostClient, PreviousToken, PreviousTokenRepository, Storage } from '@grantd/core';

type Client = HostClient & { readonly secret: string | null };
type Token = PreviousToken & { readonly access_token: string };

const CLIENT = `SELECT id, secret, CASE WHEN secret IS NULL THEN 'none' END AS tokenEndpointAuthMethod
  FROM oauth_clients WHERE id = ?`;
const tokenBy = (column: 'access_token' | 'refresh_token') => `
  SELECT access_token, client_id AS clientId, user_id AS subject, scopes, issued_at AS issuedAtMs,
    (${column}_expires_at + 999) / 1000 AS expiresAt, refresh_token AS refreshTokenId FROM oauth_tokens WHERE ${column} = ?`;
const REVOKE =
  'UPDATE oauth_tokens SET access_token_expires_at = 0, refresh_token_expires_at = 0 WHERE access_token = ?';

const digest = (text: string) => createHash('sha256').update(text).digest();

type JmondiStorage = Storage & { readonly tokens: PreviousTokenRepository };

export const jmondi = (database: DatabaseSync, { useOpaqueRefreshTokens = false } = {}): JmondiStorage => ({
  clients: {
    get: (id) => database.prepare(CLIENT).get(id) as unknown as Client | undefined,
    verifySecret: (client, secret) =>
      timingSafeEqual(digest((client as Client | undefined)?.secret ?? ''), digest(secret)),
  },
  tokens: {
    ...(useOpaqueRefreshTokens && { keyedBy: { refresh_token: 'token' } }),
    identify: ({ jti, refresh_token_id }) =>
      jti ? { kind: 'access_token', key: jti } : { kind: 'refresh_token', key: refresh_token_id },
    getByAccessToken: (key) => database.prepare(tokenBy('access_token')).get(key) as unknown as Token,
    getByRefreshToken: (key) => database.prepare(tokenBy('refresh_token')).get(key) as unknown as Token,
    isRefreshTokenRevoked: () => false, // an expiry of zero revokes it
    revoke: (token) => void database.prepare(REVOKE).run((token as Token).access_token),
  },
});
