// The type of a server follows from its storage. `tsc` checks the lines with @ts-expect-error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer, type JwtVerifier, MissingGroup } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { ISSUER, SECRET } from './harness/world.ts';

const jwtService: JwtVerifier = { verify: async () => ({ verified: false, reason: 'malformed' }) };
const REQUEST = { method: 'POST', url: '/token', headers: {}, body: '' };

test('a storage that is written in place, with functions of untyped parameters, keeps its own type', async () => {
  const server = new AuthorizationServer({
    issuer: ISSUER,
    jwtService,
    storage: {
      clients: {
        get: (id) => ({ id, hash: 'of its secret' }),
        verifySecret: (_client, secret) => secret === 'x',
      },
      tokens: {
        getByAccessToken: (key) => ({ clientId: 7n, scopes: 'read', expiresAt: '1795232220', row: key }),
        revoke: (_token) => undefined,
      },
    },
  });
  assert.equal(server.storage.tokens.getByAccessToken('key').row, 'key');
  // @ts-expect-error: the storage does not issue tokens
  await assert.rejects(server.token(REQUEST), MissingGroup);
  // @ts-expect-error: the storage has no authorization codes
  await assert.rejects(async () => server.authorization.validate(REQUEST), MissingGroup);
});

test('a server with a storage of the library has every operation', async () => {
  const server: AuthorizationServer = new AuthorizationServer({
    issuer: ISSUER,
    secret: SECRET,
    storage: memoryStorage(),
  });
  assert.equal((await server.handle(REQUEST))?.status, 401);
  assert.equal(typeof server.authorization.validate, 'function');
});
