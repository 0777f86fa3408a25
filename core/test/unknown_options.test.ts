import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer } from '@grantd/core';
import * as expressAdapter from '@grantd/core/express';
import * as fastifyAdapter from '@grantd/core/fastify';
import * as fetchAdapter from '@grantd/core/fetch';
import * as h3Adapter from '@grantd/core/h3';
import * as honoAdapter from '@grantd/core/hono';
import * as koaAdapter from '@grantd/core/koa';
import { memoryStorage } from '@grantd/core/memory';
import * as nestAdapter from '@grantd/core/nest';
import * as nextAdapter from '@grantd/core/next';
import * as nodeAdapter from '@grantd/core/node';
import { openPostgresStorage } from '@grantd/core/postgres';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { AccessTokenIntrospector, AccessTokenVerifier, EmbeddedAccessTokens } from '@grantd/protect';
import * as fastifyApi from '@grantd/protect/fastify';
import * as fetchApi from '@grantd/protect/fetch';
import * as h3Api from '@grantd/protect/h3';
import * as honoApi from '@grantd/protect/hono';
import * as koaApi from '@grantd/protect/koa';
import * as nestApi from '@grantd/protect/nest';
import * as nodeApi from '@grantd/protect/node';
import { ISSUER, SECRET } from './harness/world.ts';

/** Calls it without type checks, as in JavaScript. */
function called(make: unknown, ...given: readonly unknown[]): unknown {
  assert.ok(typeof make === 'function');
  return 'prototype' in make && /^class/.test(String(make))
    ? Reflect.construct(make, [...given])
    : Reflect.apply(make, undefined, [...given]);
}

const server = new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage: memoryStorage() });
const tokens = new EmbeddedAccessTokens({ server, audience: ISSUER });
const answer = async () => ({ status: 200, headers: {}, body: '' });
const credentials = { clientId: 'api', clientSecret: 'the secret of api' };
const introspector = { issuer: ISSUER, credentials };

const APIS = { fastifyApi, fetchApi, h3Api, honoApi, koaApi, nestApi, nodeApi };
const ADAPTERS = {
  expressAdapter,
  fastifyAdapter,
  fetchAdapter,
  h3Adapter,
  honoAdapter,
  koaAdapter,
  nestAdapter,
  nextAdapter,
  nodeAdapter,
};

/** The function, its argument, and the message. */
const REFUSED: readonly (readonly [string, () => unknown, string])[] = [
  ...(
    [
      [{ jwk_uri: 'https://app.example/jwks' }, 'jwk_uri: no such member. Did you mean jwks_uri?'],
      [
        { require_signed_request_objects: true },
        'require_signed_request_objects: no such member. Did you mean require_signed_request_object?',
      ],
      [
        { 'contacts#de': ['a@b.example'] },
        'contacts#de: expected a language tag, on one of client_name, client_uri, logo_uri, policy_uri, tos_uri',
      ],
      [
        { 'client_name#de_AT': 'Laden' },
        'client_name#de_AT: expected a language tag, on one of client_name, client_uri, logo_uri, policy_uri, tos_uri',
      ],
    ] as const
  ).map(
    ([metadata, message]) =>
      [
        `metadata of a client: ${Object.keys(metadata)[0]}`,
        () =>
          called(memoryStorage().clients.add, {
            ...{ id: 'app', grantTypes: [], scopes: [], redirectUris: [] },
            metadata,
          }),
        `client.metadata.${message}`,
      ] as const,
  ),
  ...Object.entries(APIS).map(
    ([name, { protect }]) =>
      [
        `${name} protect`,
        () => called(protect, { tokens, scope: ['admin'] }, () => {}),
        'scope: no such option. Did you mean scopes?',
      ] as const,
  ),
  ...Object.entries(ADAPTERS).flatMap(([name, { mount, handler }]) => [
    [
      `${name} mount`,
      () => called(mount, server, { stripPath: '/auth' }),
      'stripPath: no such option. Did you mean strippedPath?',
    ] as const,
    [
      `${name} handler`,
      () => called(handler, answer, { error: 'forward' }),
      'error: no such option. Did you mean errors?',
    ] as const,
    [
      `${name} errors`,
      () => called(handler, answer, { errors: 'throw' }),
      'errors: expected one of render, forward, got a text of 5 characters',
    ] as const,
  ]),
  [
    'verifier',
    () => called(AccessTokenVerifier, { issuer: ISSUER, audience: ISSUER, jwks_uri: `${ISSUER}/jwks` }),
    'jwks_uri: no such option. Did you mean jwksUri?',
  ],
  [
    'verifier, wrong type',
    () => called(AccessTokenVerifier, { issuer: ISSUER, audience: ISSUER, allowInsecureRequests: 'no' }),
    'allowInsecureRequests: expected true or false, got a text of 2 characters',
  ],
  [
    'introspector',
    () => called(AccessTokenIntrospector, { ...introspector, audiences: [ISSUER] }),
    'audiences: no such option. Did you mean audience?',
  ],
  [
    'introspector, wrong type',
    () => called(AccessTokenIntrospector, { ...introspector, allowMissingTokenType: 'false' }),
    'allowMissingTokenType: expected true or false, got a text of 5 characters',
  ],
  [
    'introspector, cache',
    () => called(AccessTokenIntrospector, { ...introspector, cache: { maxSeconds: 5, maxToken: 5 } }),
    'cache.maxToken: no such option. Did you mean maxTokens?',
  ],
  [
    'introspector, credentials',
    () => called(AccessTokenIntrospector, { ...introspector, credentials: { ...credentials, secret: 'x' } }),
    'credentials.secret: no such option; expected one of method, clientId, clientSecret',
  ],
  [
    'embedded',
    () => called(EmbeddedAccessTokens, { server, audience: ISSUER, scopes: ['admin'] }),
    'scopes: no such option; expected one of server, audience',
  ],
  [
    'embedded, server',
    () => called(EmbeddedAccessTokens, { audience: ISSUER }),
    'server: expected an AuthorizationServer',
  ],
  [
    'memory',
    () => called(memoryStorage, { revokedBy: 'flag' }),
    'revokedBy: no such option. Did you mean revokeBy?',
  ],
  [
    'SQLite',
    () => called(openSqliteStorage, { path: '/nowhere/x', issuer: ISSUER, busyTimeout: 5 }),
    'busyTimeout: no such option. Did you mean busyTimeoutMs?',
  ],
  [
    'PostgreSQL',
    () => called(openPostgresStorage, { pool: {}, issuer: ISSUER, statementTimeout: 5 }),
    'statementTimeout: no such option. Did you mean statementTimeoutMs?',
  ],
  [
    'document fetcher',
    () => called(nodeAdapter.documentFetcher, { allowPrivateAddress: true }),
    'allowPrivateAddress: no such option. Did you mean allowPrivateAddresses?',
  ],
];

for (const [name, make, message] of REFUSED) {
  test(`a misspelt option is refused at construction: ${name}`, async () => {
    await assert.rejects(async () => make(), { name: 'ConfigurationError', message });
  });
}

test('what protects an API needs its options', async () => {
  await assert.rejects(async () => called(nodeApi.protect), { message: 'options: expected an object' });
  await assert.rejects(async () => called(nodeApi.protect, { tokens, scopes: 'admin' }), {
    message: 'scopes: expected a list of scopes, got a text of 5 characters',
  });
});
