// @jmondi/oauth2-server. Requests are read from node:http as directly as possible. A PLACE is `memory`, `sqlite:FILE` or
// the URL of PostgreSQL.
//
//     node oauth2_server.ts populate FOLDER ORDER      creates tokens, and a file of all stored records
//     node oauth2_server.ts fill FOLDER PLACE          writes the records of that file into a database
//     node oauth2_server.ts serve FOLDER PLACE PORT    serves them; those of that file if they are in memory
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
import { storageAt } from './databases.ts';
import {
  type TokenCodec,
  type Tokens,
  TokensInMemory,
  TokensInPostgres,
  TokensInSqlite,
} from './oauth2_tokens.ts';
import { PEER_TOKEN_KINDS, type PeerOrder, readState, writeState } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_SUBJECT } from './peer_person.ts';

const SIGNING_KEY = 'signing_key.pem';
const LIFETIME = new DateInterval(`${LIFETIME_SECONDS}s`);

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

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('not found');
  return value;
}

type StoredToken = ReturnType<typeof storedToken>;

function storedToken({ client, user, scopes, ...rest }: OAuthToken) {
  return { ...rest, client: client.id, user: user?.id, scopes: scopes.map(({ name }) => name) };
}

/** From JSON, where times are texts. */
function tokenOf({ client, user, scopes, ...rest }: StoredToken): OAuthToken {
  const { accessTokenExpiresAt, refreshTokenExpiresAt } = rest;
  return {
    ...rest,
    accessTokenExpiresAt: new Date(accessTokenExpiresAt),
    ...(refreshTokenExpiresAt && { refreshTokenExpiresAt: new Date(refreshTokenExpiresAt) }),
    client: found(CLIENTS.get(client)),
    user: user === undefined ? null : PERSON,
    scopes: scopesOf(scopes),
  };
}

const CODEC: TokenCodec = {
  encode: (token) => JSON.stringify(storedToken(token)),
  decode: (json) => tokenOf(JSON.parse(json)),
};

function tokensAt(place: string): Tokens {
  return storageAt<Tokens>(place, {
    memory: () => new TokensInMemory(),
    sqlite: (database) => new TokensInSqlite(database, CODEC),
    postgres: (pool) => new TokensInPostgres(pool, CODEC),
  });
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

function serverOf(folder: string, tokens: Tokens): AuthorizationServer {
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
      issueRefreshToken: async (token) => {
        Object.assign(token, { refreshToken: newId(), refreshTokenExpiresAt: LIFETIME.getEndDate() });
        await tokens.addRefreshToken(token);
        return token;
      },
      persist: (token) => tokens.add(token),
      revoke: (token) => tokens.remove(token),
      // The library has just read the token, and a revoked one has no row.
      isRefreshTokenRevoked: async () => false,
      getByRefreshToken: async (id) => {
        const token = await tokens.byRefreshToken(id);
        if (token === undefined) throw OAuthException.invalidGrant();
        return token;
      },
      getByAccessToken: async (id) => found(await tokens.byAccessToken(id)),
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
  const stored = new TokensInMemory();
  const grant = serverOf(folder, stored).getGrant('client_credentials');
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
      if (kind !== 'revoked') await stored.add(token);
      const { body } = await grant.makeBearerTokenResponse(owner, token, scopes, {
        iss: ISSUER,
      });
      tokens.push(kind === 'refresh' ? body.refresh_token : body.access_token);
    }
    writeFileSync(join(folder, kind), `${tokens.join('\n')}\n`);
  }
  writeState(folder, stored.all().map(storedToken));
}

function serve(folder: string, tokens: Tokens, port: number): void {
  const server = serverOf(folder, tokens);
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

const [command = '', folder = '', argument = '', port = ''] = process.argv.slice(2);
if (command === 'populate') await populate(folder, JSON.parse(argument));
else {
  const tokens = tokensAt(argument);
  if (command === 'fill' || argument === 'memory')
    await tokens.fill((readState(folder) as StoredToken[]).map(tokenOf));
  if (command === 'serve') serve(folder, tokens, Number(port));
}
