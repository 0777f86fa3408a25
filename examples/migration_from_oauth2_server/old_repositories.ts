// The host's repositories over its own tables, as @jmondi/oauth2-server requires them.
import {
  DateInterval,
  type GrantIdentifier,
  generateRandomToken,
  type OAuthAuthCodeRepository,
  type OAuthClient,
  type OAuthClientRepository,
  OAuthException,
  type OAuthScopeRepository,
  type OAuthToken,
  type OAuthTokenRepository,
  type OAuthUser,
  type OAuthUserRepository,
} from '@jmondi/oauth2-server';
import type { OldTables, Row } from './old_tables.ts';

type HostToken = OAuthToken & { readonly issuedAt: Date };
export type OldRepositories = ReturnType<typeof oldRepositories>;

const SCOPES = ['openid', 'profile', 'email', 'read'];
const scopesOf = (names: unknown) =>
  String(names)
    .split(' ')
    .filter((name) => name !== '')
    .map((name) => ({ name }));
const namesOf = (scopes: readonly { readonly name: string }[]) => scopes.map(({ name }) => name).join(' ');
const dateOf = (milliseconds: unknown) => new Date(Number(milliseconds));

export function oldRepositories(tables: OldTables) {
  const findUser = (id: unknown): OAuthUser | undefined =>
    tables.get('SELECT * FROM users WHERE id = ?', Number(id)) as OAuthUser | undefined;

  const clientOf = (row: Row): OAuthClient => ({
    id: String(row.id),
    name: String(row.name),
    secret: row.secret === null ? null : String(row.secret),
    redirectUris: String(row.redirect_uris).split(' '),
    allowedGrants: String(row.grants).split(' ') as GrantIdentifier[],
    scopes: scopesOf(row.scopes),
  });
  const findClient = (id: string): OAuthClient | undefined => {
    const row = tables.get('SELECT * FROM oauth_clients WHERE id = ?', id);
    return row && clientOf(row);
  };
  const required = <T>(found: T | undefined): T => {
    if (found === undefined) throw OAuthException.badRequest('not found');
    return found;
  };

  const clients = {
    getByIdentifier: async (id) => required(findClient(id)),
    isClientValid: async (grantType, client, secret) =>
      (client.secret ?? undefined) === secret && client.allowedGrants.includes(grantType),
    all: () => tables.all('SELECT * FROM oauth_clients').map(clientOf),
  } satisfies OAuthClientRepository & { all(): readonly OAuthClient[] };

  const tokenOf = (row: Row): HostToken => ({
    accessToken: String(row.access_token),
    accessTokenExpiresAt: dateOf(row.access_token_expires_at),
    refreshToken: row.refresh_token === null ? null : String(row.refresh_token),
    refreshTokenExpiresAt:
      row.refresh_token_expires_at === null ? null : dateOf(row.refresh_token_expires_at),
    client: required(findClient(String(row.client_id))),
    user: row.user_id === null ? null : required(findUser(row.user_id)),
    scopes: scopesOf(row.scopes),
    ...(row.auth_code_id !== null && { originatingAuthCodeId: String(row.auth_code_id) }),
    issuedAt: dateOf(row.issued_at),
  });
  const save = (token: OAuthToken) => {
    tables.run(
      `INSERT INTO oauth_tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
        access_token_expires_at = excluded.access_token_expires_at, refresh_token = excluded.refresh_token,
        refresh_token_expires_at = excluded.refresh_token_expires_at`,
      token.accessToken,
      token.accessTokenExpiresAt.getTime(),
      token.refreshToken ?? null,
      token.refreshTokenExpiresAt?.getTime() ?? null,
      token.client.id,
      token.user ? Number(token.user.id) : null,
      namesOf(token.scopes),
      token.originatingAuthCodeId ?? null,
      Date.now(),
    );
  };

  const findToken = (column: 'access_token' | 'refresh_token', id: string): HostToken | undefined => {
    const row = tables.get(`SELECT * FROM oauth_tokens WHERE ${column} = ?`, id);
    return row && tokenOf(row);
  };
  const tokens = {
    issueToken: async (client, scopes, user) => ({
      accessToken: generateRandomToken(),
      accessTokenExpiresAt: new DateInterval('1h').getEndDate(),
      client,
      user: user ?? null,
      scopes,
    }),
    issueRefreshToken: async (token) => {
      token.refreshToken = generateRandomToken();
      token.refreshTokenExpiresAt = new DateInterval('30d').getEndDate();
      save(token);
      return token;
    },
    persist: async (token) => save(token),
    async revoke(token) {
      token.accessTokenExpiresAt = new Date(0);
      if (token.refreshToken) token.refreshTokenExpiresAt = new Date(0);
      save(token);
    },
    isRefreshTokenRevoked: async ({ refreshTokenExpiresAt }) =>
      !refreshTokenExpiresAt || Date.now() > refreshTokenExpiresAt.getTime(),
    getByRefreshToken: async (id) => required(findToken('refresh_token', id)),
    getByAccessToken: async (id) => required(findToken('access_token', id)),
  } satisfies OAuthTokenRepository;

  const codeRow = (code: string) => required(tables.get('SELECT * FROM oauth_codes WHERE code = ?', code));
  const authCodes: OAuthAuthCodeRepository = {
    async getByIdentifier(code) {
      const row = codeRow(code);
      return {
        code,
        redirectUri: row.redirect_uri === null ? null : String(row.redirect_uri),
        codeChallenge: row.code_challenge === null ? null : String(row.code_challenge),
        codeChallengeMethod: 'S256',
        expiresAt: dateOf(row.expires_at),
        client: required(findClient(String(row.client_id))),
        user: required(findUser(row.user_id)),
        scopes: scopesOf(row.scopes),
      };
    },
    issueAuthCode: (client, user, scopes) => ({
      code: generateRandomToken(),
      expiresAt: new DateInterval('15m').getEndDate(),
      client,
      user: user ?? null,
      scopes,
    }),
    async persist({ code, redirectUri, codeChallenge, expiresAt, client, user, scopes }) {
      tables.run(
        'INSERT INTO oauth_codes VALUES (?, ?, ?, ?, ?, ?, ?)',
        code,
        redirectUri ?? null,
        codeChallenge ?? null,
        expiresAt.getTime(),
        client.id,
        user ? Number(user.id) : null,
        namesOf(scopes),
      );
    },
    isRevoked: async (code) => Date.now() > Number(codeRow(code).expires_at),
    async revoke(code) {
      tables.run('UPDATE oauth_codes SET expires_at = 0 WHERE code = ?', code);
    },
  };

  const scopes: OAuthScopeRepository = {
    getAllByIdentifiers: async (names) =>
      SCOPES.filter((name) => names.includes(name)).map((name) => ({ name })),
    finalize: async (requested, _grant, client) =>
      requested.filter(({ name }) => client.scopes.some((allowed) => allowed.name === name)),
  };

  const users = {
    getUserByCredentials: async (id) => findUser(id),
    find: findUser,
  } satisfies OAuthUserRepository & { readonly find: typeof findUser };
  return { clients, tokens, authCodes, scopes, users };
}
