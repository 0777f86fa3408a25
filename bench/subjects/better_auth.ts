// better-auth with its OAuth provider and its own adapter for node:sqlite. Its access tokens are opaque, unless they are for
// a resource. It lets only a token's own client introspect a token without a resource.
//
//     node better_auth.ts populate FOLDER ORDER             creates tokens, and a file of all stored records
//     node better_auth.ts fill FOLDER sqlite:FILE           writes the records of that file into a database
//     node better_auth.ts serve FOLDER sqlite:FILE PORT     serves them
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { oauthProvider } from '@better-auth/oauth-provider';
import { type BetterAuthPlugin, betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import { BENCH_CLIENTS, type BenchClient, CALLBACK, ISSUER } from '../population/clients.ts';
import { fillSqlite, storageAt } from './databases.ts';
import { PEER_TOKEN_KINDS, type PeerOrder, readState, writeState } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_CLAIMS, PERSON_SUBJECT } from './peer_person.ts';

const BASE = '/api/auth';
const PATHS = new Map([
  ['/token', `${BASE}/oauth2/token`],
  ['/token/introspect', `${BASE}/oauth2/introspect`],
  ['/token/revoke', `${BASE}/oauth2/revoke`],
]);

const { machine_opaque, web } = BENCH_CLIENTS;
const SCOPES_OF_PERSON = ['openid', 'profile', 'email', 'offline_access'];

/** Clients are kept in memory, as those of the other peers. */
function authOver(database: DatabaseSync) {
  const plugin = oauthProvider({
    loginPage: '/sign-in',
    consentPage: '/consent',
    scopes: [...SCOPES_OF_PERSON, 'read'],
    accessTokenExpiresIn: LIFETIME_SECONDS,
    m2mAccessTokenExpiresIn: LIFETIME_SECONDS,
    refreshTokenExpiresIn: LIFETIME_SECONDS,
    cachedTrustedClients: new Set([machine_opaque.id, web.id]),
    silenceWarnings: { oauthAuthServerConfig: true, openidConfig: true },
  });
  return betterAuth({
    baseURL: ISSUER,
    basePath: BASE,
    secret: 'not used outside of this benchmark, of more than 32 characters',
    database,
    telemetry: { enabled: false },
    logger: { disabled: true },
    rateLimit: { enabled: false },
    plugins: [
      jwt({ disableSettingJwtHeader: true, jwks: { keyPairConfig: { alg: 'RS256', modulusLength: 2048 } } }),
      // Its types do not fit those of the library under exactOptionalPropertyTypes.
      plugin as unknown as BetterAuthPlugin,
    ],
  });
}

/** As the library stores secrets and opaque tokens by default. */
function hashed(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

interface StoredRow {
  readonly model: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const TIMES = ['createdAt', 'updatedAt', 'expiresAt', 'authTime'];

async function populate(folder: string, order: PeerOrder): Promise<void> {
  const nowMs = Date.now();
  const times = { createdAt: new Date(nowMs), expiresAt: new Date(nowMs + LIFETIME_SECONDS * 1000) };
  const rows: StoredRow[] = [
    {
      model: 'user',
      data: {
        ...{ id: PERSON_SUBJECT, name: PERSON_CLAIMS.name, email: PERSON_CLAIMS.email, emailVerified: true },
        ...{ createdAt: times.createdAt, updatedAt: times.createdAt },
      },
    },
    clientRow(machine_opaque, { grantTypes: ['client_credentials'], scopes: ['read'] }),
    clientRow(web, { grantTypes: ['authorization_code', 'refresh_token'], scopes: SCOPES_OF_PERSON }),
  ];
  const newToken = () => randomBytes(24).toString('base64url');
  for (const kind of PEER_TOKEN_KINDS) {
    // No work uses the others here.
    if (kind !== 'machine' && kind !== 'refresh' && kind !== 'revoked') continue;
    const tokens = Array.from({ length: order[kind] ?? 0 }, newToken);
    writeFileSync(join(folder, kind), `${tokens.join('\n')}\n`);
    if (kind === 'machine')
      for (const token of tokens)
        rows.push({
          model: 'oauthAccessToken',
          data: { token: hashed(token), clientId: machine_opaque.id, scopes: ['read'], ...times },
        });
    if (kind === 'refresh')
      for (const token of tokens)
        rows.push({
          model: 'oauthRefreshToken',
          data: {
            ...{ token: hashed(token), clientId: web.id, userId: PERSON_SUBJECT },
            ...{ scopes: SCOPES_OF_PERSON, authTime: times.createdAt, ...times },
          },
        });
  }
  writeState(folder, rows);

  function clientRow(client: BenchClient, allowed: { grantTypes: string[]; scopes: string[] }): StoredRow {
    return {
      model: 'oauthClient',
      data: {
        ...{ clientId: client.id, clientSecret: hashed(client.secret), redirectUris: [CALLBACK], ...allowed },
        clientCredentialsScopes: allowed.grantTypes.includes('client_credentials') ? allowed.scopes : [],
        ...{ tokenEndpointAuthMethod: 'client_secret_basic', disabled: false, skipConsent: true },
        ...{ createdAt: times.createdAt, updatedAt: times.createdAt },
      },
    };
  }
}

async function fill(folder: string, database: DatabaseSync): Promise<void> {
  const auth = authOver(database);
  await (await getMigrations(auth.options)).runMigrations();
  const { adapter } = await auth.$context;
  database.exec('BEGIN');
  for (const { model, data } of readState(folder) as readonly StoredRow[]) {
    const parsed = Object.entries(data).map(([name, value]) => [
      name,
      TIMES.includes(name) ? new Date(String(value)) : value,
    ]);
    await adapter.create({ model, data: Object.fromEntries(parsed), forceAllowId: true });
  }
  database.exec('COMMIT');
  // The signing key, which the library creates at its first use.
  await auth.handler(new Request(`${ISSUER}${BASE}/jwks`));
  fillSqlite(database, () => {});
}

function serve(database: DatabaseSync, port: number): void {
  const handle = toNodeHandler(authOver(database));
  createServer((request, response) => {
    const path = PATHS.get(request.url ?? '');
    if (path === undefined) {
      response.writeHead(404).end();
      return;
    }
    request.url = path;
    void handle(request, response);
  }).listen(port, '127.0.0.1');
}

function databaseAt(place: string): DatabaseSync {
  const only = () => {
    throw new Error('expected sqlite:FILE');
  };
  return storageAt<DatabaseSync>(place, { memory: only, sqlite: (database) => database, postgres: only });
}

const [command = '', folder = '', argument = '', port = ''] = process.argv.slice(2);
if (command === 'populate') await populate(folder, JSON.parse(argument));
else if (command === 'fill') await fill(folder, databaseAt(argument));
else serve(databaseAt(argument), Number(port));
