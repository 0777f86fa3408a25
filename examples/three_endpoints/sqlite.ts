// Introspection, revocation and UserInfo for the tokens in your own SQLite tables.
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { AuthorizationServer, type HostClient, type HostToken, jwtVerifier } from '@grantd/core';
import { compare, hashSync } from 'bcryptjs';
import { importSPKI } from 'jose';

type Client = HostClient & { secret_hash: string };
type Token = HostToken & { grant_id: string; revoked: number };
const database = new DatabaseSync('application.db', { timeout: 1000 });
const row = <T>(sql: string, key: string) => database.prepare(sql).get(key) as T | undefined;
const token = 'client_id AS clientId, user_id AS subject, scope AS scopes, grant_id, revoked';
const by = (key: string, end: string) => `SELECT ${token}, ${end} AS expiresAt FROM tokens WHERE ${key} = ?`;
const revocation = 'UPDATE tokens SET revoked = 1 WHERE grant_id = ?';
const noHash = hashSync('', 10); // an unknown client takes as long as a wrong secret

export const server = new AuthorizationServer({
  issuer: 'http://localhost:3000', // `iss` of your tokens
  jwtService: jwtVerifier(await importSPKI(readFileSync('public_key.pem', 'utf8'), 'ES256')),
  oidc: { getUserClaims: (subject) => row('SELECT name, email FROM users WHERE id = ?', subject) },
  storage: {
    clients: {
      get: (id) => row('SELECT id, secret_hash FROM clients WHERE id = ?', id),
      verifySecret: (client: Client | undefined, secret) => compare(secret, client?.secret_hash ?? noHash),
    },
    tokens: {
      keyedBy: { refresh_token: 'token' }, // the table has them as they are, not their digests
      getByAccessToken: (jti) => row(by('access_jti', 'access_expires_at'), jti),
      getByRefreshToken: (text) => row(by('refresh_token', 'refresh_expires_at'), text),
      isAccessTokenRevoked: ({ revoked }: Token) => revoked === 1,
      isRefreshTokenRevoked: ({ revoked }: Token) => revoked === 1,
      revoke: async ({ grant_id }: Token) => void row(revocation, grant_id),
    },
  },
});
