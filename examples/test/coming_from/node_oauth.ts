import { randomBytes, randomUUID, scryptSync } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { jwtVerifier } from '@grantd/core';
import OAuth2Server from '@node-oauth/oauth2-server';
import { SignJWT } from 'jose';
import { nodeOauth } from '../../coming_from/node_oauth.ts';
import { issuedTokens, type OtherServer } from './other_server.ts';

const ISSUER = 'https://login.example';
const JWT_SECRET = 'the secret that the host signs with';
const APP = { id: 'app', secret: "the app's secret" };
const OTHER = { id: 'other', secret: "the other's secret" };

const SCHEMA = `
  CREATE TABLE oauth_clients (id TEXT PRIMARY KEY, salt BLOB NOT NULL, secret_hash BLOB NOT NULL) STRICT;
  CREATE TABLE oauth_tokens (
    access_token TEXT PRIMARY KEY, access_token_expires_at INTEGER NOT NULL,
    refresh_token TEXT UNIQUE, refresh_token_expires_at INTEGER,
    client_id TEXT NOT NULL REFERENCES oauth_clients (id), user_id INTEGER NOT NULL, scope TEXT NOT NULL) STRICT`;

type Row = Readonly<Record<string, string | number>>;

/** The model of a host over its tables, as the library requires it. */
function modelOf(database: DatabaseSync, makesJwts: boolean): OAuth2Server.ServerOptions['model'] {
  const tokenBy = (column: string, value: string) => {
    const row = database.prepare(`SELECT * FROM oauth_tokens WHERE ${column} = ?`).get(value) as
      | Row
      | undefined;
    return (
      row && {
        accessToken: String(row.access_token),
        accessTokenExpiresAt: new Date(Number(row.access_token_expires_at)),
        refreshToken: String(row.refresh_token),
        refreshTokenExpiresAt: new Date(Number(row.refresh_token_expires_at)),
        scope: String(row.scope).split(' '),
        client: { id: String(row.client_id), grants: [] },
        user: { id: Number(row.user_id) },
      }
    );
  };
  const generateAccessToken = ({ id }: OAuth2Server.Client, user: OAuth2Server.User) =>
    new SignJWT({ client_id: id, jti: randomUUID() })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(String(user.id))
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(JWT_SECRET));
  return {
    ...(makesJwts && { generateAccessToken }),
    async getClient(id: string, secret: string | null) {
      const row = database.prepare('SELECT * FROM oauth_clients WHERE id = ?').get(id);
      const { salt, secret_hash } = row ?? {};
      if (!(salt instanceof Uint8Array && secret_hash instanceof Uint8Array)) return false;
      const isSecret = secret !== null && scryptSync(secret, salt, 32).equals(secret_hash);
      return isSecret && { id, grants: ['password', 'refresh_token'] };
    },
    getUser: async (name: string, password: string) =>
      name === 'alice' && password === 'wonderland' && { id: 7 },
    validateScope: async (_user: OAuth2Server.User, _client: OAuth2Server.Client, scope?: string[]) => scope,
    async saveToken(token: OAuth2Server.Token, client: OAuth2Server.Client, user: OAuth2Server.User) {
      const add = database.prepare('INSERT INTO oauth_tokens VALUES (?, ?, ?, ?, ?, ?, ?)');
      add.run(
        ...([token.accessToken, Number(token.accessTokenExpiresAt)] as const),
        ...([token.refreshToken ?? null, Number(token.refreshTokenExpiresAt)] as const),
        ...([client.id, user.id, token.scope?.join(' ') ?? ''] as const),
      );
      return { ...token, client, user };
    },
    getAccessToken: async (token: string) => tokenBy('access_token', token),
    getRefreshToken: async (token: string) => tokenBy('refresh_token', token),
    revokeToken: async ({ refreshToken }: OAuth2Server.RefreshToken) =>
      database.prepare('DELETE FROM oauth_tokens WHERE refresh_token = ?').run(refreshToken).changes === 1,
  } as OAuth2Server.ServerOptions['model'];
}

/** @param makesJwts whether its access tokens are JWTs */
export async function nodeOauthServer(makesJwts: boolean): Promise<OtherServer> {
  const database = new DatabaseSync(':memory:');
  database.exec(SCHEMA);
  for (const { id, secret } of [APP, OTHER]) {
    const salt = randomBytes(16);
    database
      .prepare('INSERT INTO oauth_clients VALUES (?, ?, ?)')
      .run(id, salt, scryptSync(secret, salt, 32));
  }
  const model = modelOf(database, makesJwts);
  const server = new OAuth2Server({ model });
  const token = async (fields: Readonly<Record<string, string>>) => {
    const body = { client_id: APP.id, client_secret: APP.secret, ...fields };
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' };
    const response = new OAuth2Server.Response();
    await server.token(new OAuth2Server.Request({ method: 'POST', query: {}, headers, body }), response);
    return issuedTokens(response.body);
  };
  return {
    issuer: ISSUER,
    storage: nodeOauth(database),
    ...(makesJwts && {
      jwtService: jwtVerifier([{ algorithm: 'HS256', secret: JWT_SECRET }]),
      hasGenericJwts: true,
    }),
    ...{ app: APP, other: OTHER, subject: '7', scope: 'openid email' },
    issue: () =>
      token({ grant_type: 'password', username: 'alice', password: 'wonderland', scope: 'openid email' }),
    async accepts(access) {
      const headers = { authorization: `Bearer ${access}` };
      const request = new OAuth2Server.Request({ method: 'GET', query: {}, headers });
      return server.authenticate(request, new OAuth2Server.Response()).then(
        () => true,
        (error: unknown) => {
          if (error instanceof OAuth2Server.InvalidTokenError) return false;
          throw error;
        },
      );
    },
    async refresh(refresh_token) {
      return token({ grant_type: 'refresh_token', refresh_token }).catch((error: unknown) => {
        if (error instanceof OAuth2Server.InvalidGrantError) return undefined;
        throw error;
      });
    },
    // The library has no revocation endpoint, so hosts call their model.
    async revoke(text) {
      const row = database
        .prepare('SELECT refresh_token FROM oauth_tokens WHERE ? IN (access_token, refresh_token)')
        .get(text);
      await (model as OAuth2Server.RefreshTokenModel).revokeToken({
        refreshToken: String(row?.refresh_token),
      } as OAuth2Server.RefreshToken);
    },
    async [Symbol.asyncDispose]() {
      database.close();
    },
  };
}
