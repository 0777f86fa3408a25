// Compressed request bodies. § refers to RFC 9110.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorResponse, type HttpRequest } from '@grantd/core';
import { ENDPOINTS } from '../src/server/endpoints.ts';
import { openRegistration, register } from './harness/registration.ts';
import { openWorld } from './harness/world.ts';

const FORM = 'application/x-www-form-urlencoded';

test('§15.5.16 a compressed body is 415 at every endpoint that reads a body, and accept-encoding says so', async (t) => {
  const world = await openWorld(t, openRegistration());
  const { client_id: id, registration_access_token: token } = await register(world);
  const { server } = world;
  const json = { type: 'application/json', authorization: `Bearer ${token}` };
  const endpoints = {
    introspection: { type: FORM, answer: (request: HttpRequest) => server.introspect(request) },
    revocation: { type: FORM, answer: (request: HttpRequest) => server.revoke(request) },
    userInfo: { type: FORM, answer: (request: HttpRequest) => server.userInfo(request) },
    token: { type: FORM, answer: (request: HttpRequest) => server.token(request) },
    pushedAuthorizationRequest: {
      type: FORM,
      answer: (request: HttpRequest) => server.pushAuthorizationRequest(request),
    },
    registration: { ...json, answer: (request: HttpRequest) => server.register(request) },
    clientConfiguration: {
      ...json,
      method: 'PUT',
      url: `/register/${id}`,
      answer: (request: HttpRequest) => server.configureClient(request),
    },
    authorization: { type: FORM, answer: (request: HttpRequest) => server.authorization.validate(request) },
    logout: { type: FORM, answer: (request: HttpRequest) => server.logout.validate(request) },
  };
  const withBody = Object.entries(ENDPOINTS).filter(([, { methods }]) =>
    methods.some((method) => method === 'POST' || method === 'PUT'),
  );
  for (const [name] of withBody) assert.ok(name in endpoints, name);

  for (const [name, endpoint] of Object.entries(endpoints)) {
    const { type, answer, method = 'POST', url = '/', authorization } = { ...NONE, ...endpoint };
    const body = type === FORM ? 'a=1' : '{}';
    const send = (encoding: string) => {
      const headers = { 'content-type': type, 'content-encoding': encoding, authorization };
      return Promise.resolve(answer({ method, url, headers, body })).then(() => undefined, errorResponse);
    };
    for (const encoding of ['gzip', 'identity, br', 'x-unknown']) {
      const response = await send(encoding);
      assert.deepEqual([response?.status, response?.headers['accept-encoding']], [415, 'identity'], name);
      assert.equal(world.lastReason, 'wrong_content_encoding', name);
    }
    for (const encoding of ['identity', 'Identity', ''])
      assert.notEqual((await send(encoding))?.status, 415, name);
  }
});

const NONE: { readonly method?: string; readonly url?: string; readonly authorization?: string } = {};

test('§8.4 a form that the host has decoded is read, although the header is still there', async (t) => {
  const world = await openWorld(t);
  const { access_token } = await world.grant();
  const headers = { 'content-type': FORM, 'content-encoding': 'gzip' };
  const request = { method: 'POST', url: '/userinfo', headers, body: { access_token } };
  assert.equal((await world.server.userInfo(request)).status, 200);
});
