import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ApplicationClaims,
  AuthorizationServer,
  jwtVerifier,
  previousServer,
  type VerificationKey,
} from '@grantd/core';
import { mount } from '@grantd/core/fetch';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { JwtInterface, OAuthUser, AuthorizationServer as OldServer } from '@jmondi/oauth2-server';
import { handleVanillaError, requestFromVanilla, responseToVanilla } from '@jmondi/oauth2-server/vanilla';
import { jmondi } from '../coming_from/jmondi.ts';
import { newClient } from '../migration_from_oauth2_server/old_clients.ts';
import { type OldRepositories, oldRepositories } from '../migration_from_oauth2_server/old_repositories.ts';
import { oldServer } from '../migration_from_oauth2_server/old_server.ts';
import { openTables } from '../migration_from_oauth2_server/old_tables.ts';

export const ISSUER = 'https://login.example';
export const OLD_SECRET = 'the secret that the old server signed with';
export const APP = { client_id: 'app', client_secret: "the app's secret" };
export const OTHER = { client_id: 'other', client_secret: "the other's secret" };
const CALLBACK = 'https://app.example/callback';

type Answer = { readonly status: number; readonly body: Record<string, unknown> };
export type Fields = Readonly<Record<string, string>>;

const HS256: VerificationKey = { algorithm: 'HS256', secret: OLD_SECRET };

/** The host's own tables, with a user and two applications. */
export function hostTables(path: string) {
  const tables = openTables(path);
  tables.run("INSERT INTO users (id, name, email) VALUES (7, 'Alice', 'alice@example.com')");
  const addClient = 'INSERT INTO oauth_clients VALUES (?, ?, ?, ?, ?, ?)';
  const grants = 'authorization_code refresh_token client_credentials';
  for (const { client_id, client_secret } of [APP, OTHER])
    tables.run(addClient, client_id, client_id, client_secret, CALLBACK, grants, 'openid email read');
  return tables;
}

/** This host with its old server and grantd over the same tables, composed as in `host.ts`. */
export async function moved({
  oldKey = HS256,
  jwt,
  claims,
}: {
  oldKey?: VerificationKey;
  jwt?: JwtInterface;
  claims?: (repositories: OldRepositories) => ApplicationClaims;
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-migration-'));
  const tables = hostTables(join(folder, 'host.db'));
  const repositories = oldRepositories(tables);
  const { clients, users } = repositories;
  const storage = openSqliteStorage({ path: join(folder, 'grantd.db'), issuer: ISSUER });
  const server = new AuthorizationServer({
    issuer: ISSUER,
    secret: 'a secret for tests, of more than 32 characters',
    storage,
    oidc: { getUserClaims: users.find },
    getSubjectState: (id) => (users.find(id)?.disabled === 0 ? 'active' : 'disabled'),
    previousServer: previousServer({
      jwtService: jwtVerifier([oldKey]),
      tokens: jmondi(tables.database).tokens,
    }),
    ...(claims && { applicationClaims: claims(repositories) }),
  });
  await server.prepare();
  for (const client of clients.all()) await storage.clients.add(await newClient(server, client));
  const endpoints = mount(server);

  const old = (lifetime?: string) => oldServer(repositories, jwt ?? OLD_SECRET, lifetime);
  const askOld = (operation: OldOperation, fields: Fields, lifetime?: string) =>
    askOldServer(old(lifetime), operation, fields);
  const ask = async (path: string, fields: Fields) =>
    answerOf(
      await endpoints(new Request(ISSUER + path, { method: 'POST', body: new URLSearchParams(fields) })),
    );

  const issueOld = async (scope?: string, lifetime?: string) =>
    issueAt(old(lifetime), await users.getUserByCredentials(7), scope);
  const refresh = (refresh_token: string, fields: Fields = {}) =>
    ask('/token', { ...APP, grant_type: 'refresh_token', refresh_token, ...fields });
  const isActive = async (token: string) =>
    (await ask('/token/introspect', { ...APP, token })).body.active === true;
  const isActiveInOld = async (token: string, token_type_hint = 'access_token') =>
    (await askOld('introspect', { ...APP, token, token_type_hint })).body.active === true;
  const userInfo = async (token: string) =>
    answerOf(
      await endpoints(new Request(`${ISSUER}/userinfo`, { headers: { authorization: `Bearer ${token}` } })),
    );
  return {
    ...{ ask, askOld, issueOld, refresh, isActive, isActiveInOld, userInfo, tables, storage, server },
    async [Symbol.asyncDispose]() {
      await storage.close();
      tables.close();
      rmSync(folder, { recursive: true });
    },
  };
}

type OldOperation = 'respondToAccessTokenRequest' | 'introspect' | 'revoke';

export async function askOldServer(
  server: OldServer,
  operation: OldOperation,
  fields: Fields,
): Promise<Answer> {
  const request = new Request('https://old.example/', { method: 'POST', body: new URLSearchParams(fields) });
  try {
    return answerOf(responseToVanilla(await server[operation](await requestFromVanilla(request))));
  } catch (error) {
    return answerOf(responseToVanilla(handleVanillaError(error)));
  }
}

/** The tokens for a code of the old server. */
export async function issueAt(server: OldServer, user: OAuthUser | undefined, scope = 'openid email') {
  assert.ok(user);
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: APP.client_id, redirect_uri: CALLBACK, scope },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const request = await requestFromVanilla(new Request(`https://old.example/authorize?${query}`));
  const asked = await server.validateAuthorizationRequest(request);
  Object.assign(asked, { user, isAuthorizationApproved: true });
  const { headers } = await server.completeAuthorizationRequest(asked);
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const { status, body } = await askOldServer(server, 'respondToAccessTokenRequest', {
    ...APP,
    ...{ grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier },
  });
  assert.equal(status, 200);
  return { access: String(body.access_token), refresh: String(body.refresh_token), code };
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
}
