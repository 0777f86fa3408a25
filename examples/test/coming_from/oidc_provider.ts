import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { Provider } from 'oidc-provider';
import { oidcProvider } from '../../coming_from/oidc_provider.ts';
import { basic, json, post } from '../asking.ts';
import { Cookies, issuedTokens, type OtherServer } from './other_server.ts';
import { sqliteAdapter } from './sqlite_adapter.ts';

const APP = { id: 'app', secret: "the app's secret" };
const OTHER = { id: 'other', secret: "the other's secret" };
const CALLBACK = 'https://app.example/callback';
const SCOPE = 'openid email';
export const API = 'https://api.example';

export interface OidcProviderServer extends OtherServer {
  /** A JWT for an API, for the client itself. */
  issueJwt(): Promise<string>;
  /** From now on, rows of this kind cannot be revoked. */
  breakRevocation(kind: 'access' | 'refresh' | undefined): void;
  /** Binds all access tokens to a key. */
  bind(): void;
  /** Ends the session of the user's browser. */
  endSessions(): void;
}

export async function oidcProviderServer(): Promise<OidcProviderServer> {
  const database = new DatabaseSync(':memory:');
  const web = createServer();
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const issuer = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  const provider = providerOf(issuer, database);
  const callback = provider.callback();
  web.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/')) void signIn(provider, request, response);
    else void callback(request, response);
  });

  const credentials = basic(APP.id, APP.secret);
  const token = (fields: Readonly<Record<string, string>>) => post(`${issuer}/token`, fields, credentials);
  return {
    ...{ issuer, app: APP, other: OTHER, subject: 'alice', scope: SCOPE },
    storage: oidcProvider(provider),
    async issue() {
      const verifier = randomBytes(32).toString('base64url');
      const code = await authorize(issuer, createHash('sha256').update(verifier).digest('base64url'));
      const answer = await token({
        ...{ grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier },
      });
      return issuedTokens(await json(answer));
    },
    async accepts(access) {
      return (await fetch(`${issuer}/me`, { headers: { authorization: `Bearer ${access}` } })).ok;
    },
    async refresh(refresh_token) {
      const answer = await token({ grant_type: 'refresh_token', refresh_token });
      return answer.ok ? issuedTokens(await json(answer)) : undefined;
    },
    revoke: (text) => post(`${issuer}/token/revocation`, { token: text }, credentials),
    async issueJwt() {
      const answer = await json(
        await token({ grant_type: 'client_credentials', resource: API, scope: 'read' }),
      );
      return String(answer.access_token);
    },
    breakRevocation(kind) {
      database.exec('DROP TRIGGER IF EXISTS broken');
      if (kind === undefined) return;
      const model = kind === 'access' ? 'AccessToken' : 'RefreshToken';
      database.exec(
        `CREATE TRIGGER broken BEFORE DELETE ON oidc WHEN OLD.model = '${model}'
          BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
      );
    },
    bind: () =>
      void database.exec(
        "UPDATE oidc SET payload = json_set(payload, '$.jkt', 'a key') WHERE model = 'AccessToken'",
      ),
    endSessions: () => void database.exec("DELETE FROM oidc WHERE model = 'Session'"),
    async [Symbol.asyncDispose]() {
      web.closeAllConnections();
      web.close();
      database.close();
    },
  };
}

function providerOf(issuer: string, database: DatabaseSync): Provider {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const client = {
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
    id_token_signed_response_alg: 'ES256',
  } as const;
  return new Provider(issuer, {
    adapter: sqliteAdapter(database),
    clients: [APP, OTHER].map(({ id, secret }) => ({
      ...client,
      grant_types: [...client.grant_types],
      redirect_uris: [...client.redirect_uris],
      ...{ client_id: id, client_secret: secret },
    })),
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }] },
    cookies: { keys: ['a key for tests'] },
    claims: { openid: ['sub'], email: ['email'] },
    findAccount: async (_, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, email: 'alice@example.com' }),
    }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async () => ({
          scope: 'read',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
}

/** The host's pages: Alice signs in and consents at once. */
async function signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: 'alice' } });
  const grant = new provider.Grant({
    accountId: session?.accountId ?? '',
    clientId: String(params.client_id),
  });
  grant.addOIDCScope(SCOPE);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

/** @returns the code for Alice */
async function authorize(issuer: string, codeChallenge: string): Promise<string> {
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: APP.id, redirect_uri: CALLBACK, scope: SCOPE },
    ...{ code_challenge: codeChallenge, code_challenge_method: 'S256' },
  });
  const cookies = new Cookies();
  let url = new URL(`/auth?${query}`, issuer);
  for (let redirects = 0; url.origin === issuer; redirects++) {
    assert.ok(redirects < 10, 'too many redirects');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie: cookies.header } });
    cookies.keep(response);
    const location = response.headers.get('location');
    assert.ok(location, `${response.status} at ${url}: ${await response.text()}`);
    url = new URL(location, issuer);
  }
  const code = url.searchParams.get('code');
  assert.ok(code, url.href);
  return code;
}
