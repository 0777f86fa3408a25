// Runs alone: Hono's server replaces the global `Request` and `Response`.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { mount as mountFetch } from '@grantd/core/fetch';
import { mount, sendResponse, toHttpRequest } from '@grantd/core/hono';
import { type ServerType, serve } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { rawPost, sendRaw } from './harness/raw_http.ts';
import { openRegistration } from './harness/registration.ts';
import { basic, ISSUER, openWorld } from './harness/world.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const AS_API = { ...FORM, authorization: basic('api') };
const INACTIVE = '{"active":false}';

const post = (app: Hono, path: string, body: string, headers: Readonly<Record<string, string>> = AS_API) =>
  app.request(path, { method: 'POST', headers, body });

async function listen(t: TestContext, app: Hono): Promise<number> {
  const server: ServerType = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await once(server, 'listening');
  t.after(() => {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the test server has no port');
  return address.port;
}

for (const [how, read] of [
  ['parseBody', (c: Context) => c.req.parseBody()],
  ['parseBody with all values', (c: Context) => c.req.parseBody({ all: true })],
  ['text', (c: Context) => c.req.text()],
  ['arrayBuffer', (c: Context) => c.req.arrayBuffer()],
  ['blob', (c: Context) => c.req.blob()],
  ['formData', (c: Context) => c.req.formData()],
] as const) {
  test(`grantd §1.3 hono: a form that a middleware has read by ${how} is read again`, async (t) => {
    const world = await openWorld(t);
    const app = new Hono()
      .use(async (c, next) => {
        await read(c);
        return next();
      })
      .use(mount(world.server));
    const { access_token: token } = await world.grant();
    const good = await post(app, '/token/introspect', `token=${token}`);
    assert.deepEqual([good.status, (await good.json()).active], [200, true]);
    for (const form of ['token=x&token=y', 'token=x&client_id=api&client_id=api']) {
      const repeated = await post(app, '/token/introspect', form);
      assert.deepEqual([repeated.status, (await repeated.json()).error], [400, 'invalid_request'], form);
    }
    const empty = await app.request('/token/introspect', { method: 'POST', headers: AS_API });
    assert.equal(empty.status, 400);
    assert.equal((await post(app, '/token/introspect', 'token='.padEnd(64 * 1024 + 1, 'x'))).status, 413);
  });
}

test('grantd §1.3 hono: a JSON document that a middleware has read is read again', async (t) => {
  const { server } = await openWorld(t, openRegistration());
  const app = new Hono()
    .use(async (c, next) => {
      await c.req.json();
      return next();
    })
    .use(mount(server));
  const document = JSON.stringify({ redirect_uris: ['https://app.example/callback'] });
  const registered = await post(app, '/register', document, { 'content-type': 'application/json' });
  assert.equal(registered.status, 201);
});

test('grantd §1.3 hono: a body that was read past Hono is the host’s fault', async (t) => {
  const { server } = await openWorld(t);
  const app = new Hono()
    .use(async (c, next) => {
      await c.req.raw.text();
      return next();
    })
    .use(mount(server));
  assert.equal((await post(app, '/token/introspect', 'token=x')).status, 500);
});

test('grantd §1.3 hono: below a base path, a route or a pattern the paths are the issuer’s', async (t) => {
  const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
  const apps = [
    new Hono().basePath('/auth').use(mount(server)),
    new Hono().route('/auth', new Hono().use(mount(server))),
    new Hono().use('/auth/*', mount(server)),
    new Hono().all('/auth/*', mount(server)),
    new Hono().mount('/auth', mountFetch(server, { strippedPath: '/auth' })),
  ];
  for (const app of apps) {
    assert.equal(await (await post(app, '/auth/token/introspect', 'token=x')).text(), INACTIVE);
    assert.equal((await app.request('/auth/.well-known/openid-configuration')).status, 200);
    assert.equal((await post(app, '/auth/introspect', 'token=x')).status, 404);
  }
});

test('grantd §1.3 hono: a page of the host’s own takes what parseBody has read, and responds as the adapter does', async (t) => {
  const { server } = await openWorld(t);
  const app = new Hono().post('/own', async (c) => {
    await c.req.parseBody();
    const request = await toHttpRequest(c, { id: 'r-1' });
    const headers = { 'x-id': request.id ?? '', 'Cache-Control': 'public' };
    return sendResponse(c, await server.introspect(request), headers);
  });
  const answer = await post(app, '/own', 'token=x');
  const { headers } = answer;
  assert.deepEqual([answer.status, await answer.text()], [200, INACTIVE]);
  assert.deepEqual([headers.get('x-id'), headers.get('cache-control')], ['r-1', 'no-store']);
});

test('grantd §1.3 hono: headers of a middleware are added to those of the response', async (t) => {
  const { server } = await openWorld(t);
  const app = new Hono()
    .use(async (c, next) => {
      await next();
      c.header('x-frame-options', 'DENY');
    })
    .use(mount(server));
  const { headers } = await post(app, '/token/introspect', 'token=x');
  assert.deepEqual([headers.get('x-frame-options'), headers.get('cache-control')], ['DENY', 'no-store']);
});

test('RFC 6749 §2.3 hono: on Node two Authorization lines are refused as two credentials', async (t) => {
  const { server } = await openWorld(t);
  const port = await listen(t, new Hono().use(mount(server)));
  const lines = [`Authorization: ${basic('api')}`, `Authorization: ${basic('api')}`];
  const answer = await sendRaw(port, rawPost('/token/introspect', lines, 'token=x'));
  assert.match(answer, /^HTTP\/1\.1 400 .*"error":"invalid_request"/s);
});

test('RFC 9112 §9.6 hono: on Node a client that disconnects in the middle of its request does not change the host', async (t) => {
  const world = await openWorld(t);
  const port = await listen(t, new Hono().use(mount(world.server)));
  const whole = rawPost('/token/introspect', [`Authorization: ${basic('api')}`], 'token=x');
  for (const part of [whole.slice(0, 20), whole.slice(0, -3)]) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(part, () => socket.destroy());
    await once(socket, 'close');
  }
  assert.match(await sendRaw(port, whole), /^HTTP\/1\.1 200 /);
  assert.deepEqual(
    world.events.map(({ type }) => type),
    ['inactive'],
  );
});
