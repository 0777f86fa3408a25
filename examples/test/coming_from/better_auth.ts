import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { oauthProvider } from '@better-auth/oauth-provider';
import { betterAuth as authOf, type BetterAuthPlugin } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { jwt } from 'better-auth/plugins';
import { betterAuth } from '../../coming_from/better_auth.ts';
import { basic, json } from '../asking.ts';
import { Cookies, type Credentials, issuedTokens, type OtherServer } from './other_server.ts';

const ORIGIN = 'https://login.example';
const ISSUER = `${ORIGIN}/api/auth`;
const CALLBACK = 'https://app.example/callback';
const SCOPE = 'openid email offline_access';
const API = 'https://api.example';

export interface BetterAuthServer extends OtherServer {
  /** An access token for an API: a JWT. */
  issueJwt(): Promise<string>;
  /** From now on, rows of this kind cannot be revoked. */
  breakRevocation(kind: 'access' | 'refresh' | undefined): void;
  /** Binds all access tokens to a key. */
  bind(): void;
  /** Lets the sessions of the user time out. When a session is deleted, its tokens live on. */
  endSessions(): void;
  disableApp(): void;
}

export async function betterAuthServer(): Promise<BetterAuthServer> {
  const database = new DatabaseSync(':memory:');
  const plugin = oauthProvider({
    loginPage: '/sign-in',
    consentPage: '/consent',
    resources: [API],
    enforcePerClientResources: false,
  });
  const auth = authOf({
    baseURL: ORIGIN,
    secret: 'a secret for tests, of more than 32 characters',
    database,
    emailAndPassword: { enabled: true },
    telemetry: { enabled: false },
    logger: { disabled: true },
    rateLimit: { enabled: false },
    // Its types do not fit those of the library under exactOptionalPropertyTypes.
    plugins: [jwt({ disableSettingJwtHeader: true }), plugin as unknown as BetterAuthPlugin],
  });
  const api = auth.api as unknown as Pick<typeof plugin.endpoints, 'adminCreateOAuthClient'>;
  await (await getMigrations(auth.options)).runMigrations();

  const cookies = new Cookies();
  const signUp = await auth.handler(
    new Request(`${ISSUER}/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: ORIGIN },
      body: JSON.stringify({ name: 'Alice', email: 'alice@example.com', password: 'wonderland' }),
    }),
  );
  cookies.keep(signUp);
  const { id: subject } = Object(Object(await json(signUp)).user);
  const addClient = async (): Promise<Credentials> => {
    const { client_id, client_secret } = await api.adminCreateOAuthClient({
      headers: new Headers({ cookie: cookies.header }),
      body: {
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
        skip_consent: true,
        scope: SCOPE,
      },
    });
    assert.ok(client_secret);
    return { id: client_id, secret: client_secret };
  };
  const [app, other] = [await addClient(), await addClient()];
  const ask = (path: string, fields: Readonly<Record<string, string>>) =>
    auth.handler(
      new Request(ISSUER + path, {
        method: 'POST',
        headers: basic(app.id, app.secret),
        body: new URLSearchParams(fields),
      }),
    );
  const issue = async (more: Readonly<Record<string, string>> = {}) => {
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      ...{ response_type: 'code', client_id: app.id, redirect_uri: CALLBACK, scope: SCOPE, state: 'a state' },
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    });
    const headers = { cookie: cookies.header };
    const authorization = await auth.handler(new Request(`${ISSUER}/oauth2/authorize?${query}`, { headers }));
    const code = new URL(authorization.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const exchange = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK };
    return issuedTokens(
      await json(await ask('/oauth2/token', { ...exchange, code_verifier: verifier, ...more })),
    );
  };
  return {
    ...{ issuer: ISSUER, app, other, subject, scope: SCOPE },
    storage: betterAuth((await auth.$context).adapter),
    issue: () => issue(),
    async accepts(access) {
      const headers = { authorization: `Bearer ${access}` };
      return (await auth.handler(new Request(`${ISSUER}/oauth2/userinfo`, { headers }))).ok;
    },
    async refresh(refresh_token) {
      const answer = await ask('/oauth2/token', { grant_type: 'refresh_token', refresh_token });
      return answer.ok ? issuedTokens(await json(answer)) : undefined;
    },
    revoke: (token) => ask('/oauth2/revoke', { token }),
    issueJwt: async () => (await issue({ resource: API })).access,
    breakRevocation(kind) {
      database.exec('DROP TRIGGER IF EXISTS broken');
      if (kind === undefined) return;
      const write = kind === 'access' ? 'DELETE ON oauthAccessToken' : 'UPDATE ON oauthRefreshToken';
      database.exec(
        `CREATE TRIGGER broken BEFORE ${write} BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
      );
    },
    bind: () => void database.exec(`UPDATE oauthAccessToken SET confirmation = '{"jkt":"a key"}'`),
    endSessions: () => void database.exec("UPDATE session SET expiresAt = '2020-01-01T00:00:00.000Z'"),
    disableApp: () =>
      void database.prepare('UPDATE oauthClient SET disabled = 1 WHERE clientId = ?').run(app.id),
    async [Symbol.asyncDispose]() {
      database.close();
    },
  };
}
