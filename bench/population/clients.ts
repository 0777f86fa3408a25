import type { NewClient } from '@grantd/core';
import type { TokenKind } from './order.ts';

/** Not localhost, because such an issuer would have to contain the port. */
export const ISSUER = 'https://login.example';
export const CALLBACK = 'https://web.example/callback';
const API_RESOURCE = 'https://api.example';

/** Authenticates by `client_secret_basic`. Neither its name nor its secret needs escaping. */
export interface BenchClient {
  readonly id: string;
  readonly secret: string;
}

export const BENCH_CLIENTS = {
  api: client('bench-api'),
  machine_rs256: client('bench-machine-rs256'),
  machine_es256: client('bench-machine-es256'),
  machine_opaque: client('bench-machine-opaque'),
  web: client('bench-web'),
  web_opaque: client('bench-web-opaque'),
  web_es256: client('bench-web-es256'),
};

export const REGISTRATIONS: readonly (readonly [BenchClient, Omit<NewClient, 'id' | 'secrets'>])[] = [
  [BENCH_CLIENTS.api, { grantTypes: [], scopes: [], redirectUris: [], resource: API_RESOURCE }],
  [BENCH_CLIENTS.machine_rs256, { ...machine(), accessTokenFormat: 'jwt', accessTokenAlgorithm: 'RS256' }],
  [BENCH_CLIENTS.machine_es256, { ...machine(), accessTokenFormat: 'jwt', accessTokenAlgorithm: 'ES256' }],
  [BENCH_CLIENTS.machine_opaque, { ...machine(), accessTokenFormat: 'opaque' }],
  [BENCH_CLIENTS.web, web()],
  [BENCH_CLIENTS.web_opaque, { ...web(), accessTokenFormat: 'opaque', idTokenAlgorithm: 'RS256' }],
  [
    BENCH_CLIENTS.web_es256,
    { ...web(), accessTokenFormat: 'jwt', accessTokenAlgorithm: 'ES256', idTokenAlgorithm: 'ES256' },
  ],
];

/** `code_verifier` of all codes. */
export const CODE_VERIFIER = 'the-verifier-of-all-codes-of-the-benchmark-0';

const CLIENT_OF_KIND: Readonly<Record<TokenKind, BenchClient>> = {
  jwt_rs256: BENCH_CLIENTS.machine_rs256,
  jwt_es256: BENCH_CLIENTS.machine_es256,
  bound_jwt: BENCH_CLIENTS.machine_rs256,
  opaque: BENCH_CLIENTS.machine_opaque,
  web_access: BENCH_CLIENTS.web,
  web_refresh: BENCH_CLIENTS.web,
  web_opaque_refresh: BENCH_CLIENTS.web_opaque,
  web_es256_refresh: BENCH_CLIENTS.web_es256,
  web_opaque_code: BENCH_CLIENTS.web_opaque,
  revoked_jwt: BENCH_CLIENTS.machine_rs256,
  revoked_opaque: BENCH_CLIENTS.machine_opaque,
};

/** The client of each kind of token, which may revoke them. */
export function clientOf(kind: TokenKind): BenchClient {
  return CLIENT_OF_KIND[kind];
}

export function basicAuthorization({ id, secret }: BenchClient): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
}

function client(id: string): BenchClient {
  return { id, secret: `secret-of-${id}-with-as-many-characters` };
}

function web(): Omit<NewClient, 'id' | 'secrets'> {
  return {
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    redirectUris: [CALLBACK],
  };
}

function machine(): Omit<NewClient, 'id' | 'secrets'> {
  return { grantTypes: ['client_credentials'], scopes: ['read'], redirectUris: [] };
}
