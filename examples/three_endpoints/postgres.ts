// Introspection, revocation and UserInfo for the tokens in your own PostgreSQL tables.
import { readFileSync } from 'node:fs';
import { AuthorizationServer, type HostClient, type HostToken, jwtVerifier } from '@grantd/core';
import { compare, hashSync } from 'bcryptjs';
import { importSPKI } from 'jose';
import { Pool } from 'pg';

type Client = HostClient & { secret_hash: string };
type Token = HostToken & { grant_id: string; revoked: boolean };
const { DATABASE_URL } = process.env;
const deadlines = { connectionTimeoutMillis: 2000, query_timeout: 5000 };
const pool = new Pool({ connectionString: DATABASE_URL, ...deadlines });
pool.on('error', console.error); // without it, a lost connection ends the process
const row = async (sql: string, key: string) => (await pool.query(sql, [key])).rows[0];
const token = 'client_id AS "clientId", user_id AS subject, scope AS scopes, grant_id, revoked';
const byJti = `SELECT ${token}, access_expires_at AS "expiresAt" FROM tokens WHERE access_jti = $1`;
const byRefreshToken = `SELECT ${token}, refresh_expires_at AS "expiresAt" FROM tokens WHERE refresh_token = $1`;
const revocation = 'UPDATE tokens SET revoked = true WHERE grant_id = $1';
const noHash = hashSync('', 10); // an unknown client takes as long as a wrong secret

export const server = new AuthorizationServer({
  issuer: 'http://localhost:3000', // `iss` of your tokens
  jwtService: jwtVerifier(await importSPKI(readFileSync('public_key.pem', 'utf8'), 'ES256')),
  oidc: { getUserClaims: (subject) => row('SELECT name, email FROM users WHERE id = $1', subject) },
  storage: {
    clients: {
      get: (id): Promise<Client> => row('SELECT id, secret_hash FROM clients WHERE id = $1', id),
      verifySecret: (client: Client | undefined, secret) => compare(secret, client?.secret_hash ?? noHash),
    },
    tokens: {
      keyedBy: { refresh_token: 'token' }, // the table has them as they are, not their digests
      getByAccessToken: (jti): Promise<Token> => row(byJti, jti),
      getByRefreshToken: (refreshToken): Promise<Token> => row(byRefreshToken, refreshToken),
      isAccessTokenRevoked: ({ revoked }: Token) => revoked,
      isRefreshTokenRevoked: ({ revoked }: Token) => revoked,
      revoke: ({ grant_id }: Token) => row(revocation, grant_id),
    },
  },
});
