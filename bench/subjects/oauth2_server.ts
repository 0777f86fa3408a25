// @jmondi/oauth2-server over unlimited Maps. Requests are read from node:http as directly as possible.
//
//     node oauth2_server.ts populate FOLDER ORDER   creates tokens, and a file of all stored records
//     node oauth2_server.ts serve FOLDER PORT       serves the records of that file
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import {
  AuthorizationServer,
  DateInterval,
  type JwtInterface,
  type OAuthClient,
  OAuthException,
  OAuthRequest,
  type OAuthScope,
  type OAuthToken,
  type OAuthUser,
} from '@jmondi/oauth2-server';
import jsonwebtoken, { type JwtPayload } from 'jsonwebtoken';
import { BENCH_CLIENTS, ISSUER } from '../population/clients.ts';
import { PEER_TOKEN_KINDS, type PeerOrder, STATE_FILE } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_SUBJECT } from './peer_person.ts';

const SIGNING_KEY = 'signing_key.pem';
const LIFETIME = new DateInterval(`${LIFETIME_SECONDS}s`);

const byAccessToken = new Map<string, OAuthToken>();
const byRefreshToken = new Map<string, OAuthToken>();
const SCOPES = new Map<string, OAuthScope>(
  ['openid', 'profile', 'email', 'read'].map((name) => [name, { name }]),
);
const PERSON: OAuthUser = { id: PERSON_SUBJECT };

const { api, machine_rs256, web } = BENCH_CLIENTS;
const CLIENTS = new Map<string, OAuthClient>([
  client(api, [], []),
  client(machine_rs256, ['client_credentials'], ['read']),
  client(web, ['authorization_code', 'refresh_token'], ['openid', 'profile', 'email']),
]);

function client(
  { id, secret }: { id: string; secret: string },
  allowedGrants: OAuthClient['allowedGrants'],
  scopes: readonly string[],
): [string, OAuthClient] {
  return [id, { id, name: id, secret, redirectUris: [], allowedGrants, scopes: scopesOf(scopes) }];
}

function scopesOf(names: readonly string[]): OAuthScope[] {
  return names.flatMap((name) => SCOPES.get(name) ?? []);
}

function remember(token: OAuthToken): OAuthToken {
  byAccessToken.set(token.accessToken, token);
  if (token.refreshToken) byRefreshToken.set(token.refreshToken, token);
  return token;
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('not found');
  return value;
}

const newId = () => randomBytes(32).toString('base64url');

/**
 * The library's own JWT service has one key for both directions, but RS256 has two. They are parsed once, not per
 * token.
 */
class RsaJwtService implements JwtInterface {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor(pem: { privateKey: string; publicKey: string }) {
    this.#privateKey = createPrivateKey(pem.privateKey);
    this.#publicKey = createPublicKey(pem.publicKey);
  }

  verify(token: string, options: jsonwebtoken.VerifyOptions = {}): Promise<Record<string, unknown>> {
    return new Promise((resolve, reject) => {
      jsonwebtoken.verify(token, this.#publicKey, { ...options, algorithms: ['RS256'] }, (error, decoded) => {
        if (typeof decoded === 'object') resolve(decoded as JwtPayload);
        else reject(error);
      });
    });
  }

  decode(token: string) {
    return jsonwebtoken.decode(token);
  }

  sign(payload: string | Buffer | Record<string, unknown>): Promise<string> {
    return new Promise((resolve, reject) => {
      jsonwebtoken.sign(payload, this.#privateKey, { algorithm: 'RS256' }, (error, token) => {
        if (token !== undefined) resolve(token);
        else reject(error);
      });
    });
  }
}

function serverOf(folder: string): AuthorizationServer {
  const keys = JSON.parse(readFileSync(join(folder, SIGNING_KEY), 'utf8'));
  const server = new AuthorizationServer(
    {
      getByIdentifier: async (id) => found(CLIENTS.get(id)),
      // The API that introspects gets the grant client_credentials, although it does not use it.
      isClientValid: async (_grant, { secret }, sent) => secret === sent,
    },
    {
      issueToken: async (owner, scopes, user) => ({
        accessToken: newId(),
        accessTokenExpiresAt: LIFETIME.getEndDate(),
        client: owner,
        user: user ?? null,
        scopes,
      }),
      issueRefreshToken: async (token) =>
        remember(
          Object.assign(token, { refreshToken: newId(), refreshTokenExpiresAt: LIFETIME.getEndDate() }),
        ),
      persist: async (token) => void remember(token),
      revoke: async (token) => {
        byAccessToken.delete(token.accessToken);
        if (token.refreshToken) byRefreshToken.delete(token.refreshToken);
      },
      isRefreshTokenRevoked: async ({ refreshToken }) => !byRefreshToken.has(refreshToken ?? ''),
      getByRefreshToken: async (id) => found(byRefreshToken.get(id)),
      getByAccessToken: async (id) => found(byAccessToken.get(id)),
    },
    {
      getAllByIdentifiers: async (names) => scopesOf(names),
      finalize: async (scopes) => scopes,
    },
    new RsaJwtService(keys),
    { issuer: ISSUER },
  );
  server.enableGrantTypes(['client_credentials', LIFETIME], ['refresh_token', LIFETIME]);
  return server;
}

async function populate(folder: string, order: PeerOrder): Promise<void> {
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  writeFileSync(join(folder, SIGNING_KEY), JSON.stringify(keys), { mode: 0o600 });
  const grant = serverOf(folder).getGrant('client_credentials');
  if (!('makeBearerTokenResponse' in grant) || typeof grant.makeBearerTokenResponse !== 'function')
    throw new Error('the grant issues no tokens');

  for (const kind of PEER_TOKEN_KINDS) {
    // No work exchanges codes here.
    if (kind === 'code') continue;
    const ofPerson = kind === 'person' || kind === 'refresh';
    const owner = found(CLIENTS.get(ofPerson ? web.id : machine_rs256.id));
    const tokens: string[] = [];
    for (let made = 0; made < (order[kind] ?? 0); made += 1) {
      const scopes = scopesOf(ofPerson ? ['openid', 'profile', 'email'] : ['read']);
      const token: OAuthToken = {
        accessToken: newId(),
        accessTokenExpiresAt: LIFETIME.getEndDate(),
        ...(kind === 'refresh' && { refreshToken: newId(), refreshTokenExpiresAt: LIFETIME.getEndDate() }),
        client: owner,
        user: ofPerson ? PERSON : null,
        scopes,
      };
      if (kind !== 'revoked') remember(token);
      const { body } = await grant.makeBearerTokenResponse(owner, token, scopes, {
        iss: ISSUER,
      });
      tokens.push(kind === 'refresh' ? body.refresh_token : body.access_token);
    }
    writeFileSync(join(folder, kind), `${tokens.join('\n')}\n`);
  }
  const lines = [...byAccessToken.values()].map((token) =>
    JSON.stringify({
      ...token,
      client: token.client.id,
      user: token.user?.id,
      scopes: token.scopes.map(({ name }) => name),
    }),
  );
  writeFileSync(join(folder, STATE_FILE), `${lines.join('\n')}\n`);
}

function restore(folder: string): void {
  for (const line of readFileSync(join(folder, STATE_FILE), 'utf8').split('\n')) {
    if (line === '') continue;
    const {
      client: owner,
      user,
      scopes,
      accessTokenExpiresAt,
      refreshTokenExpiresAt,
      ...rest
    } = JSON.parse(line);
    remember({
      ...rest,
      accessTokenExpiresAt: new Date(accessTokenExpiresAt),
      ...(refreshTokenExpiresAt && { refreshTokenExpiresAt: new Date(refreshTokenExpiresAt) }),
      client: found(CLIENTS.get(owner)),
      user: user === undefined ? null : PERSON,
      scopes: scopesOf(scopes),
    });
  }
}

function serve(folder: string, port: number): void {
  restore(folder);
  const server = serverOf(folder);
  const operations = new Map([
    ['/token', (request: OAuthRequest) => server.respondToAccessTokenRequest(request)],
    ['/token/introspect', (request: OAuthRequest) => server.introspect(request)],
    ['/token/revoke', (request: OAuthRequest) => server.revoke(request)],
  ]);
  createServer((request, response) => {
    const operation = operations.get(request.url ?? '');
    if (operation === undefined) {
      response.writeHead(404).end();
      return;
    }
    let form = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      form += chunk;
    });
    request.on('end', async () => {
      try {
        const body = Object.fromEntries(new URLSearchParams(form));
        const { authorization } = request.headers;
        const headers = authorization === undefined ? {} : { authorization };
        const answer = await operation(new OAuthRequest({ headers, query: {}, body }));
        send(response, answer.status, answer.headers, answer.body);
      } catch (error) {
        if (!(error instanceof OAuthException)) throw error;
        send(
          response,
          error.status,
          {},
          { error: error.errorType, error_description: error.errorDescription },
        );
      }
    });
  }).listen(port, '127.0.0.1');
}

function send(response: ServerResponse, status: number, headers: object, body: object | undefined): void {
  const text = body === undefined || Object.keys(body).length === 0 ? '' : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...headers,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

const [command = '', folder = '', argument = ''] = process.argv.slice(2);
if (command === 'populate') await populate(folder, JSON.parse(argument));
else serve(folder, Number(argument));
