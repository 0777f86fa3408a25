import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { HttpRequest } from '@grantd/core';
import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/h3';
import { bodyLimit, H3, type H3Event, readBody, serve } from 'h3';
import { rawPost, sendRaw } from './harness/raw_http.ts';
import { basic, ISSUER, openWorld } from './harness/world.ts';

const AS_API = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('api') };
const AUTHORIZED = [`Authorization: ${basic('api')}`];

async function listen(t: TestContext, app: H3): Promise<number> {
  const server = serve(app, { port: 0, hostname: '127.0.0.1', silent: true });
  await server.ready();
  t.after(() => server.close(true));
  return Number(new URL(server.url ?? '').port);
}

const post = async (app: H3, path: string, body: string) =>
  app.request(path, { method: 'POST', headers: AS_API, body });

test('grantd §1.3 h3: the result of readBody can be passed', async (t) => {
  const world = await openWorld(t);
  const app = new H3()
    .use(async (event) => {
      event.context.form = await readBody(event);
    })
    .use(mount(world.server, { body: (event: H3Event) => event.context.form as Record<string, unknown> }));
  const { access_token: token } = await world.grant();
  const good = await post(app, '/token/introspect', `token=${token}`);
  assert.deepEqual([good.status, (await good.json()).active], [200, true]);
  const repeated = await post(app, '/token/introspect', 'token=x&token=y');
  assert.deepEqual([repeated.status, (await repeated.json()).error], [400, 'invalid_request']);
});

test('RFC 9110 §15.5.14 h3: h3 enforces its own body limit, also without an announced length', async (t) => {
  const { server } = await openWorld(t);
  const port = await listen(t, new H3({ silent: true }).use(bodyLimit(16)).use(mount(server)));
  const head = rawPost('/token/introspect', AUTHORIZED, '').replace(
    'Content-Length: 0',
    'Transfer-Encoding: chunked',
  );
  const answer = await sendRaw(port, `${head}20\r\n${'x'.repeat(32)}\r\n0\r\n\r\n`);
  assert.match(answer, /^HTTP\/1\.1 413 /);
});

test('grantd §1.3 h3: below a pattern the paths are the issuer’s; an application mounted below a path sets strippedPath', async (t) => {
  const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
  const sub = () => new H3().use(mount(server, { strippedPath: '/auth' }));
  for (const app of [
    new H3().use('/auth/**', mount(server)),
    new H3().all('/auth/**', () => 'the host’s own', { middleware: [mount(server)] }),
    new H3().mount('/auth', sub()),
    new H3().use('/auth', sub()),
  ]) {
    const port = await listen(t, app);
    const path = '/auth/token/introspect';
    assert.equal(await (await post(app, path, 'token=x')).text(), '{"active":false}');
    const answer = await sendRaw(port, rawPost(path, AUTHORIZED, 'token=x'));
    assert.match(answer, /^HTTP\/1\.1 200 .*\{"active":false\}/s);
    assert.match(
      await sendRaw(port, 'GET /auth/jwks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 200 /,
    );
  }
});

test('grantd §1.3 h3: a page of the host’s own reads the request and responds as the adapter does', async (t) => {
  const { server } = await openWorld(t);
  const introspect = (request: HttpRequest) => server.introspect(request);
  const app = new H3()
    .post('/introspect', handler(introspect))
    .post('/own', async (event) => sendResponse(event, await introspect(await toHttpRequest(event))));
  const port = await listen(t, app);
  for (const path of ['/introspect', '/own']) {
    const answer = await sendRaw(port, rawPost(path, AUTHORIZED, 'token=x'));
    assert.match(answer, /^HTTP\/1\.1 200 .*\{"active":false\}/s);
  }
});

test('RFC 6749 §2.3 h3: on Node two Authorization lines are refused as two credentials', async (t) => {
  const { server } = await openWorld(t);
  const port = await listen(t, new H3().use(mount(server)));
  const lines = [...AUTHORIZED, ...AUTHORIZED];
  const answer = await sendRaw(port, rawPost('/token/introspect', lines, 'token=x'));
  assert.match(answer, /^HTTP\/1\.1 400 .*"error":"invalid_request"/s);
});

test('RFC 9112 §9.6 h3: on Node a client that disconnects in the middle of its request does not change the host', async (t) => {
  const world = await openWorld(t);
  const port = await listen(t, new H3().use(mount(world.server)));
  const whole = rawPost('/token/introspect', AUTHORIZED, 'token=x');
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
