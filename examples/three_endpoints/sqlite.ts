// Introspection, revocation and UserInfo for the tokens in your own SQLite tables.
import { DatabaseSync } from 'node:sqlite';
import { AuthorizationServer, type HostClient, type HostToken, jwtVerifier } from '@grantd/core';
import { compare, hashSync } from 'bcryptjs';
import { importSPKI } from 'jose';

type Client = HostClient & { secret_hash: string };
type Token = HostToken & { grant_id: string; revoked: number };
const database = new DatabaseSync('application.db', { timeout: 1000 });
const row = <T>(sql: string, key: string) => database.prepare(sql).get(key) as T | undefined;
const token = 'client_id AS clientId, user_id AS subject, scope AS scopes, grant_id, revoked';
const byJti = `SELECT ${token}, access_expires_at AS expiresAt FROM tokens WHERE access_jti = ?`;
const byRefreshToken = `SELECT ${token}, refresh_expires_at AS expiresAt FROM tokens WHERE refresh_token = ?`;
const revocation = 'UPDATE tokens SET revoked = 1 WHERE grant_id = ?';
const noHash = hashSync('', 10); // an unknown client takes as long as a wrong secret

export const server = new AuthorizationServer({
  issuer: 'http://localhost:3000', // `iss` of your tokens
  jwtService: jwtVerifier(await importSPKI(process.env.PUBLIC_KEY ?? '', 'ES256')),
  oidc: { getUserClaims: (subject) => row('SELECT name, email FROM users WHERE id = ?', subject) },
  storage: {
    clients: {
      get: (id) => row('SELECT id, secret_hash FROM clients WHERE id = ?', id),
      verifySecret: (client: Client | undefined, secret) => compare(secret, client?.secret_hash ?? noHash),
    },
    tokens: {
      keyedBy: { refresh_token: 'token' }, // the table has them as they are, not their digests
      getByAccessToken: (jti) => row(byJti, jti),
      getByRefreshToken: (refreshToken) => row(byRefreshToken, refreshToken),
      isAccessTokenRevoked: ({ revoked }: Token) => revoked === 1,
      isRefreshTokenRevoked: ({ revoked }: Token) => revoked === 1,
      revoke: async ({ grant_id }: Token) => void row(revocation, grant_id),
    },
  },
});
