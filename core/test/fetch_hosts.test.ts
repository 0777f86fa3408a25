import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigurationError, OAuthError, StorageFault } from '@grantd/core';
import { FETCH_HOSTS } from './harness/hosts/fetch_hosts.ts';
import type { Answer } from './harness/hosts/web_hosts.ts';
import { CLIENT_CHALLENGE, errorOf, INACTIVE, JSON_HEADERS, OUTAGE, REVOKED } from './harness/responses.ts';
import { chosen, type TestResponse } from './harness/transports/transport.ts';
import { basic, ISSUER, openWorld } from './harness/world.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const AS_API = { ...FORM, authorization: basic('api') };
const LIMIT = 64 * 1024;
const MISSING = errorOf(400, 'invalid_request', 'the parameter token is missing');
const TOO_LARGE = errorOf(413, 'invalid_request', 'the request body is too large');
const STRANGER = errorOf(401, 'invalid_client', 'client authentication failed', {
  ...JSON_HEADERS,
  'www-authenticate': CLIENT_CHALLENGE,
});

async function ask(answer: Answer, path: string, init: RequestInit = {}): Promise<TestResponse> {
  const { status, headers, text } = await plain(await answer(new Request(new URL(path, ISSUER), init)));
  return { status, headers, body: text };
}

async function plain(response: Response) {
  return { status: response.status, headers: chosen(response.headers), text: await response.text() };
}

const posted = (body: BodyInit, headers: Readonly<Record<string, string>> = AS_API) => ({
  method: 'POST',
  headers,
  body,
  duplex: 'half',
});

/** A body that fails when it is read. */
function failing(pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void) {
  return new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
}

for (const host of FETCH_HOSTS) {
  test(`grantd §1.3 ${host.name}: what the server has no endpoint for is the host’s own`, async (t) => {
    const { server } = await openWorld(t);
    const answer = host.mount(server);
    for (const path of ['/', '/authorize', '/token/', '/tokens', '/x?/token', '/.well-known/x', '/%74oken']) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const { status, body } = await ask(answer, path, { method });
        assert.deepEqual([status, body], [200, 'the host’s own'], `${method} ${path}`);
      }
    }
    assert.deepEqual(await ask(answer, '/token/introspect?x', posted('token=x')), INACTIVE);
  });

  test(`RFC 9110 §9.3 ${host.name}: HEAD is GET without a body, OPTIONS a preflight, another method 405`, async (t) => {
    const { server } = await openWorld(t);
    const answer = host.mount(server);
    const got = await ask(answer, '/jwks');
    assert.deepEqual(await ask(answer, '/jwks', { method: 'HEAD' }), { ...got, body: '' });
    assert.deepEqual([got.status, JSON.parse(got.body).keys.length > 0], [200, true]);
    const preflight = await ask(answer, '/token', { method: 'OPTIONS' });
    assert.deepEqual([preflight.status, preflight.body], [204, '']);
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const { status, headers } = await ask(answer, '/token', { method });
      assert.deepEqual([status, headers.allow], [405, 'POST'], method);
    }
  });

  test(`grantd §1.3 ${host.name}: a single operation serves at whatever path the host has for it`, async (t) => {
    const world = await openWorld(t);
    const answer = host.handler((request) => world.server.introspect(request));
    const { access_token: token } = await world.grant();
    const good = await ask(answer, '/anything', posted(`token=${token}`));
    assert.deepEqual([good.status, JSON.parse(good.body).active], [200, true]);
    assert.deepEqual(await ask(answer, '/anything', posted('token=x', FORM)), STRANGER);
    assert.deepEqual(await ask(answer, '/anything', posted('')), MISSING);
  });

  test(`grantd §3.4 ${host.name}: a body beyond 64 KiB is 413, and little more than that is read of it`, async (t) => {
    const { server } = await openWorld(t);
    const answer = host.mount(server);
    const longest = 'token='.padEnd(LIMIT, 'x');
    assert.deepEqual(await ask(answer, '/token/introspect', posted(longest)), INACTIVE);
    assert.deepEqual(await ask(answer, '/token/introspect', posted(`${longest}x`)), TOO_LARGE);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 16 * 1024;
        controller.enqueue(new Uint8Array(16 * 1024).fill(0x78));
      },
    });
    assert.deepEqual(await ask(answer, '/token/introspect', posted(endless)), TOO_LARGE);
    assert.ok(pulled < 4 * LIMIT, `${pulled} bytes were read`);
  });

  test(`RFC 9112 §8 ${host.name}: if the client disconnects in the middle of its body, nothing is done`, async (t) => {
    const world = await openWorld(t);
    const gone = new AbortController();
    const broken = failing((controller) => {
      gone.abort();
      controller.error(new Error('the connection was reset'));
    });
    const answer = host.mount(world.server);
    const init = { ...posted(broken), signal: gone.signal };
    assert.deepEqual(await ask(answer, '/token/introspect', init), { status: 400, headers: {}, body: '' });
    assert.deepEqual(world.events, []);
  });

  test(`RFC 9110 §15.5.14 ${host.name}: if a middleware fails to read the body, the host sends the response`, async (t) => {
    const world = await openWorld(t);
    const limited = () => failing((controller) => controller.error(new Error('the host takes no more')));
    for (const errors of ['render', 'forward'] as const) {
      const answer = host.mount(world.server, { errors });
      const { status, body } = await ask(answer, '/token/introspect', posted(limited()));
      assert.deepEqual([status, JSON.parse(body)], [418, { told: 'Error: the host takes no more' }]);
    }
    assert.deepEqual(world.events, []);
  });

  test(`grantd §1.3 ${host.name}: a body that the host has read can be passed, and counts the same`, async (t) => {
    const world = await openWorld(t);
    let body = '';
    const mounted = host.mount(world.server, { body: () => body });
    const answer: Answer = async (sent) => {
      const request = host.received(sent);
      body = await request.text();
      return mounted(request);
    };
    const { access_token: token } = await world.grant();
    const good = await ask(answer, '/token/introspect', posted(`token=${token}`));
    assert.deepEqual([good.status, JSON.parse(good.body).active], [200, true]);
    const repeated = errorOf(400, 'invalid_request', 'a parameter is repeated');
    assert.deepEqual(await ask(answer, '/token/introspect', posted('token=x&token=y')), repeated);
    assert.deepEqual(await ask(answer, '/token/introspect', posted('x'.repeat(LIMIT + 1))), TOO_LARGE);
  });

  test(`grantd §1.3 ${host.name}: the issuer’s path is part of every route, and of one well-known path the end`, async (t) => {
    const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
    const answer = host.mount(server);
    assert.deepEqual(await ask(answer, '/auth/token/introspect', posted('token=x')), INACTIVE);
    assert.equal((await ask(answer, '/token/introspect', posted('token=x'))).body, 'the host’s own');
    for (const path of [
      '/.well-known/oauth-authorization-server/auth',
      '/auth/.well-known/openid-configuration',
    ]) {
      const { token_endpoint } = JSON.parse((await ask(answer, path)).body);
      assert.equal(token_endpoint, `${ISSUER}/auth/token`);
    }
  });

  test(`grantd §1.3 ${host.name}: behind a proxy that strips a path and changes the host nothing else is different`, async (t) => {
    const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
    const answer = host.mount(server, { strippedPath: '/auth' });
    for (const base of ['http://10.0.0.5:3000', 'http://10.0.0.5:3000/auth']) {
      assert.deepEqual(await ask(answer, `${base}/token/introspect?x=/auth`, posted('token=x')), INACTIVE);
      const { issuer, token_endpoint } = JSON.parse(
        (await ask(answer, `${base}/.well-known/openid-configuration`)).body,
      );
      assert.deepEqual([issuer, token_endpoint], [`${ISSUER}/auth`, `${ISSUER}/auth/token`]);
    }
    const wellKnown = 'http://10.0.0.5:3000/.well-known/oauth-authorization-server/auth';
    assert.equal((await ask(answer, wellKnown)).status, 200);
    assert.equal((await ask(answer, 'http://10.0.0.5:3000/own')).body, 'the host’s own');
    assert.throws(() => host.mount(server, { strippedPath: 'auth/' }), ConfigurationError);
  });

  test(`grantd §1.3 ${host.name}: errors go to the host’s own handling if it asks for them, responses do not`, async (t) => {
    const { server } = await openWorld(t);
    for (const answer of [
      host.mount(server, { errors: 'forward' }),
      host.handler((request) => server.introspect(request), { errors: 'forward' }),
    ]) {
      const { status, body } = await ask(answer, '/token/introspect', posted('token=x', FORM));
      const headers = { 'cache-control': 'no-store', 'www-authenticate': CLIENT_CHALLENGE };
      const told = [401, 'invalid_client', headers];
      assert.deepEqual([status, JSON.parse(body)], [418, { told }]);
      assert.deepEqual(await ask(answer, '/token/introspect', posted('token=x')), INACTIVE);
    }
    const rendering = host.mount(server);
    assert.deepEqual(await ask(rendering, '/token/introspect', posted('token=x', FORM)), STRANGER);
  });

  test(`grantd §1.3 ${host.name}: an outage is 503 unless it is forwarded, and whatever else is thrown 500`, async () => {
    const outage = () => Promise.reject(new StorageFault(new Error('10.0.0.5 refused')));
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => faults.push(fault);
    assert.deepEqual(await ask(host.handler(outage, { onFault }), '/', { method: 'POST' }), OUTAGE);
    const forwarding = host.handler(outage, { errors: 'forward' });
    const { status, body } = await ask(forwarding, '/', { method: 'POST' });
    assert.deepEqual([status, /^\{"told":"StorageFault/.test(body)], [418, true], body);
    const unexpected = await ask(
      host.handler(() => Promise.reject(new Error('hush')), { onFault }),
      '/',
      { method: 'POST' },
    );
    assert.deepEqual(unexpected, errorOf(500, 'server_error', 'an unexpected error'));
    assert.deepEqual(faults.map(String), ['StorageFault: storage is unavailable', 'Error: hush']);
  });

  test(`grantd §1.3 ${host.name}: a body that the host has read and kept is 500, and onEvent gets it like any fault`, async (t) => {
    const { server, events } = await openWorld(t, { issuer: `${ISSUER}/auth` });
    const mounted = host.mount(server, { strippedPath: '/auth' });
    const answer: Answer = async (sent) => {
      const request = host.received(sent);
      await request.text();
      return mounted(request);
    };
    const failed = await ask(answer, '/token/introspect', posted('token=x'));
    assert.deepEqual(failed, errorOf(500, 'server_error', 'an unexpected error'));
    const [event] = events;
    assert.ok(event?.type === 'refused' && event.cause instanceof TypeError);
    const { cause, ...told } = event;
    const fault = { error: 'server_error', status: 500, reason: 'unexpected' };
    assert.deepEqual(told, { operation: 'introspection', type: 'refused', ...fault });
    assert.match(String(cause), /was read before/);
    assert.equal(events.length, 1);
  });

  test(`grantd §1.3 ${host.name}: onFault gets errors of the host’s own operation, not refusals; it changes no response`, async () => {
    const thrown = [new Error('hush'), new OAuthError('invalid_grant', 'no')];
    const faults: unknown[] = [];
    const answer = host.handler(() => Promise.reject(thrown[faults.length]), {
      onFault: (fault) => {
        faults.push(fault);
        throw new Error('the log is full');
      },
    });
    const failed = await ask(answer, '/', { method: 'POST' });
    assert.deepEqual(failed, errorOf(500, 'server_error', 'an unexpected error'));
    const refused = await ask(answer, '/', { method: 'POST' });
    assert.deepEqual(refused, errorOf(400, 'invalid_grant', 'no'));
    assert.deepEqual(faults, thrown.slice(0, 1));
  });

  test(`grantd §1.3 ${host.name}: headers of the host are added to those of the response, which win`, async (t) => {
    const { server } = await openWorld(t);
    const headers = () => ({ 'X-Frame-Options': 'DENY', 'Cache-Control': 'public' });
    const answer = host.mount(server, { headers });
    assert.deepEqual(await ask(answer, '/token/introspect', posted('token=x')), {
      ...INACTIVE,
      headers: { ...JSON_HEADERS, 'x-frame-options': 'DENY' },
    });
    const revoked = await ask(
      answer,
      '/token/revoke',
      posted('token=x', { ...FORM, authorization: basic('web') }),
    );
    assert.deepEqual(revoked, { ...REVOKED, headers: { ...REVOKED.headers, 'x-frame-options': 'DENY' } });
  });

  test(`grantd §1.3 ${host.name}: the host’s request identifier is in the events`, async (t) => {
    const world = await openWorld(t);
    const mounted = host.mount(world.server, { id: () => 'r-1' });
    const alone = host.handler((request) => world.server.introspect(request), { id: () => 'r-2' });
    for (const answer of [mounted, alone]) await ask(answer, '/token/introspect', posted('other=x'));
    assert.deepEqual(
      world.events.map(({ requestId }) => requestId),
      ['r-1', 'r-2'],
    );
  });

  test(`RFC 6749 §2.3 ${host.name}: two Authorization headers are refused as two credentials`, async (t) => {
    const { server } = await openWorld(t);
    const headers = new Headers(FORM);
    for (const _ of [1, 2]) headers.append('authorization', basic('api'));
    const init = { method: 'POST', headers, body: 'token=x' };
    const { status, body } = await ask(host.mount(server), '/token/introspect', init);
    assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_request']);
  });
}
