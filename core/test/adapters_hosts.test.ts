import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { type AuthorizationServer, type HttpRequest, OAuthError } from '@grantd/core';
import * as onExpress from '@grantd/core/express';
import * as onFastify from '@grantd/core/fastify';
import * as onFetch from '@grantd/core/fetch';
import * as onH3 from '@grantd/core/h3';
import * as onHono from '@grantd/core/hono';
import * as onKoa from '@grantd/core/koa';
import * as onNest from '@grantd/core/nest';
import * as onNext from '@grantd/core/next';
import * as onNode from '@grantd/core/node';
import Fastify from 'fastify';
import Koa from 'koa';
import { EXPRESS_4_HOST, EXPRESS_HOST } from './harness/hosts/express.ts';
import { FASTIFY_HOST } from './harness/hosts/fastify.ts';
import { HANDLED, type Host } from './harness/hosts/host.ts';
import { KOA_HOST } from './harness/hosts/koa.ts';
import { NEST_ON_EXPRESS_HOST, NEST_ON_FASTIFY_HOST } from './harness/hosts/nest.ts';
import { listen, NODE_HOST } from './harness/hosts/node.ts';
import { REVOKED } from './harness/responses.ts';
import { sendHttp } from './harness/transports/listener.ts';
import { basic, ISSUER, openWorld } from './harness/world.ts';

const AS_API = { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('api') };
const INACTIVE = '{"active":false}';
const MISSING = '{"error":"invalid_request","error_description":"the parameter token is missing"}';
const REPEATED = '{"error":"invalid_request","error_description":"a parameter is repeated"}';
const NO_TEXT = '{"error":"invalid_request","error_description":"a parameter must be a string"}';
const TOO_LARGE = '{"error":"invalid_request","error_description":"the request body is too large"}';
const LIMIT = 64 * 1024;

interface Adapter {
  mount(server: AuthorizationServer, options: object): unknown;
  handler(operation: onNode.Operation, options: object): unknown;
}

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  onExpress,
  onFastify,
  onFetch,
  onH3,
  onHono,
  onKoa,
  onNest,
  onNext,
  onNode,
};

const HOSTS: readonly Host[] = [
  NODE_HOST,
  EXPRESS_HOST,
  EXPRESS_4_HOST,
  FASTIFY_HOST,
  KOA_HOST,
  NEST_ON_EXPRESS_HOST,
  NEST_ON_FASTIFY_HOST,
];

/** Their parsers turn names with brackets into arrays and objects. */
const KNOWING_BRACKETS: ReadonlySet<Host> = new Set([EXPRESS_4_HOST, NEST_ON_EXPRESS_HOST]);

/** Their parsers refuse more than a thousand parameters. */
const COUNTING: ReadonlySet<Host> = new Set([EXPRESS_HOST, EXPRESS_4_HOST, NEST_ON_EXPRESS_HOST]);

function ask(port: number, path = '/token/introspect', body = 'token=x', headers = {}) {
  return sendHttp(port, { method: 'POST', path, headers: { ...AS_API, ...headers }, body });
}

function get(port: number, path: string, method = 'GET') {
  return sendHttp(port, { method, path, headers: {} });
}

/** Everything that arrives over a raw connection until it ends. */
function received(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {}); // a reset counts as an end
    socket.on('close', () => resolve(text));
  });
}

async function askHttp2(client: ClientHttp2Session, path: string, body: string) {
  const stream = client.request({
    ':method': 'POST',
    ':path': path,
    ...AS_API,
    'content-length': body.length,
  });
  stream.end(body);
  const [headers] = await once(stream, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return [headers[':status'], Buffer.concat(chunks).toString()];
}

function head(path: string, ...lines: readonly string[]): string {
  const common = ['Host: x', `Content-Type: ${AS_API['content-type']}`, `Authorization: ${basic('api')}`];
  return `${[`POST ${path} HTTP/1.1`, ...common, ...lines].join('\r\n')}\r\n\r\n`;
}

for (const host of HOSTS) {
  for (const parsesForms of [false, true]) {
    const bodies = parsesForms ? 'parsed' : 'raw';

    test(`${host.name}: everything mounted takes ${bodies} forms`, async (t) => {
      const { server } = await openWorld(t);
      const port = await host.open(t, { server, parsesForms });
      const answers = [];
      for (const form of ['token=x', 'token=x&token=y', 'other=x', ''])
        answers.push(await ask(port, undefined, form));
      assert.deepEqual(
        answers.map(({ status, body }) => [status, body]),
        [
          [200, INACTIVE],
          [400, REPEATED],
          [400, MISSING],
          [400, MISSING],
        ],
      );
    });

    test(`${host.name}: one operation alone takes ${bodies} forms, and its errors are rendered`, async (t) => {
      const { server } = await openWorld(t);
      const faults: unknown[] = [];
      const operation = (request: HttpRequest) => {
        if (request.headers['x-fails'] !== undefined) throw new Error('hush');
        return server.introspect(request);
      };
      const port = await host.open(t, {
        server,
        parsesForms,
        operation,
        onFault: (fault) => faults.push(fault),
      });
      const answered = await ask(port, '/operation');
      assert.deepEqual([answered.status, answered.body], [200, INACTIVE]);
      const repeated = await ask(port, '/operation', 'token=x&token=y');
      assert.deepEqual([repeated.status, repeated.body], [400, REPEATED]);
      const failed = await ask(port, '/operation', 'token=x', { 'x-fails': 'yes' });
      assert.equal(failed.status, 500);
      assert.equal(failed.body, '{"error":"server_error","error_description":"an unexpected error"}');
      assert.deepEqual(faults.map(String), ['Error: hush']);
    });
  }

  test(`${host.name}: a list or an object that a parser makes is no parameter, and no repetition hides behind a thousand others`, async (t) => {
    const { server } = await openWorld(t);
    const operation = (request: HttpRequest) => server.introspect(request);
    const port = await host.open(t, { server, operation, parsesForms: true });
    const answerTo = async (form: string) => (await ask(port, '/operation', form)).body;
    const knowsBrackets = KNOWING_BRACKETS.has(host);
    for (const form of ['token[]=x', 'token[0]=x', 'token%5B%5D=x', 'token[a]=x', 'token[][]=x']) {
      assert.equal(await answerTo(form), knowsBrackets ? NO_TEXT : MISSING, form);
    }
    for (const form of ['token=x&token[]=y', 'token=x&token[]=x', 'token[]=y&token=x']) {
      assert.equal(await answerTo(form), knowsBrackets ? REPEATED : INACTIVE, form);
    }
    // RFC 6749 §3.2: parameters that no endpoint knows are ignored.
    for (const form of [
      'token=x&a[b]=c',
      'token=x&a[]=c',
      'token=x&a[0][b]=c',
      'token=x&token.a=y',
      'token=x&a.b=y',
    ]) {
      assert.equal(await answerTo(form), INACTIVE, form);
    }
    const others = Array.from({ length: 999 }, (_, index) => `p${index}=1`).join('&');
    assert.equal(await answerTo(`token=x&${others}`), INACTIVE);
    // Express parsers accept at most a thousand parameters, and forward their own error.
    assert.equal(await answerTo(`token=x&${others}&token=y`), COUNTING.has(host) ? HANDLED.body : REPEATED);
  });

  test(`${host.name}: the host keeps its own paths, and handles unknown ones`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server });
    const own = await get(port, '/own?a=1');
    assert.deepEqual([own.status, own.body, own.headers.vary], [200, 'GET /own?a=1', 'A, B']);
    assert.equal((await get(port, '/nowhere')).status, 404);
  });

  test(`${host.name}: HEAD has the headers of GET, OPTIONS is a preflight, another method is 405`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server, headers: { 'x-host': 'yes', 'cache-control': 'loses' } });
    const got = await get(port, '/jwks');
    const headed = await get(port, '/jwks', 'HEAD');
    assert.deepEqual([got.status, got.headers['x-host']], [200, 'yes']);
    assert.deepEqual(headed, { ...got, body: '' });
    const preflight = await get(port, '/token', 'OPTIONS');
    assert.deepEqual([preflight.status, preflight.body], [204, '']);
    const refused = await get(port, '/token');
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'POST']);
    assert.equal(refused.headers['cache-control'], 'no-store');
  });

  test(`RFC 9112 §3.2.2 ${host.name}: a target in absolute form is served if its path is exactly an endpoint’s`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server });
    const statuses = [];
    for (const path of ['/token/introspect', '/own/../token/introspect', '/own/%2e%2e/token/introspect']) {
      const socket = connect(port, '127.0.0.1');
      const answer = received(socket);
      socket.write(`${head(`http://x${path}`, 'Content-Length: 7', 'Connection: close')}token=x`);
      statuses.push((await answer).slice(0, 'HTTP/1.1 200'.length));
    }
    assert.deepEqual(statuses, ['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 404']);
  });

  test(`grantd §1.4 ${host.name}: one operation alone answers its preflight, and 405 to other methods`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server, operation: (request) => server.revoke(request) });
    const headers = { origin: 'https://spa.example', 'access-control-request-method': 'POST' };
    const preflight = await sendHttp(port, { method: 'OPTIONS', path: '/operation', headers });
    assert.deepEqual([preflight.status, preflight.body], [204, '']);
    assert.equal(preflight.headers['access-control-allow-origin'], 'https://spa.example');
    const refused = await get(port, '/operation');
    assert.deepEqual([refused.status, refused.headers.allow], [405, 'POST']);
  });

  test(`${host.name}: below a path that the issuer has`, async (t) => {
    const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
    const port = await host.open(t, { server, below: '/auth' });
    const answer = await ask(port, '/auth/token/introspect');
    assert.deepEqual([answer.status, answer.body], [200, INACTIVE]);
    assert.equal((await ask(port, '/token/introspect')).status, 404);
    const own = await get(port, '/auth/own');
    assert.deepEqual([own.status, own.body], [200, 'GET /auth/own']);
  });

  test(`${host.name}: behind a proxy that takes off the path of the issuer`, async (t) => {
    const { server } = await openWorld(t, { issuer: `${ISSUER}/auth` });
    const port = await host.open(t, { server, strippedPath: '/auth' });
    const answer = await ask(port, '/token/introspect');
    assert.deepEqual([answer.status, answer.body], [200, INACTIVE]);
    const metadata = await get(port, '/.well-known/openid-configuration?x=1');
    assert.equal(JSON.parse(metadata.body).token_endpoint, `${ISSUER}/auth/token`);
    const whole = [
      await ask(port, '/auth/token/introspect'),
      await get(port, '/.well-known/oauth-authorization-server/auth'),
    ];
    assert.deepEqual(
      whole.map(({ status }) => status),
      [200, 200],
    );
    assert.equal((await get(port, '/own')).body, 'GET /own');
    assert.equal((await get(port, '/nowhere')).status, 404);
  });

  test(`${host.name}: the host’s request identifier is in the events`, async (t) => {
    const world = await openWorld(t);
    const { server } = world;
    const mounted = await host.open(t, { server, id: 'r-1' });
    const operation = (request: HttpRequest) => server.introspect(request);
    const alone = await host.open(t, { server, operation, id: 'r-2' });
    await ask(mounted, undefined, 'other=x');
    await ask(alone, '/operation', 'other=x');
    assert.deepEqual(
      world.events.map(({ requestId }) => requestId),
      ['r-1', 'r-2'],
    );
  });

  test(`${host.name}: errors go to the host’s own handling if it asks for that`, async (t) => {
    const { server } = await openWorld(t);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const mounted = await host.open(t, { server, errors: 'forward', onError });
    const refused = await ask(mounted, undefined, 'other=x');
    assert.deepEqual({ status: refused.status, body: refused.body }, HANDLED);
    const thrown = new Error('hush');
    const alone = await host.open(t, {
      server,
      errors: 'forward',
      onError,
      operation: () => Promise.reject(thrown),
    });
    const failed = await ask(alone, '/operation');
    assert.deepEqual({ status: failed.status, body: failed.body }, HANDLED);
    const [refusal, fault] = errors;
    assert.ok(refusal instanceof OAuthError);
    assert.deepEqual([refusal.code, refusal.status], ['invalid_request', 400]);
    assert.equal(fault, thrown);
    assert.equal(errors.length, 2);
    assert.equal((await ask(mounted)).body, INACTIVE);
  });

  test(`${host.name}: two Authorization headers are refused as two credentials`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server });
    const socket = connect(port, '127.0.0.1');
    const answer = received(socket);
    const second = `Authorization: ${basic('web')}`;
    socket.write(`${head('/token/introspect', second, 'Content-Length: 7', 'Connection: close')}token=x`);
    assert.match(await answer, /^HTTP\/1\.1 400 [\s\S]*"invalid_request"/);
  });

  test(`${host.name}: a body that is too large is 413, and the connection closes if the rest was not read`, async (t) => {
    const { server } = await openWorld(t);
    const port = await host.open(t, { server });
    const body = 'token='.padEnd(LIMIT, 'x');
    assert.equal((await ask(port, undefined, body)).status, 200);
    const longer = await ask(port, undefined, `${body}x`);
    assert.deepEqual([longer.status, longer.body], [413, TOO_LARGE]);
    for (const framing of [`Content-Length: ${10 * LIMIT}`, 'Transfer-Encoding: chunked']) {
      const socket = connect(port, '127.0.0.1');
      const answer = received(socket);
      const sent = 'x'.repeat(LIMIT + 1);
      socket.write(head('/token/introspect', framing));
      socket.write(framing.startsWith('T') ? `${sent.length.toString(16)}\r\n${sent}\r\n` : sent);
      assert.match(await answer, /^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n/i);
    }
  });

  test(`${host.name}: a client that disconnects in the middle of its body does no harm`, async (t) => {
    const world = await openWorld(t);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const port = await host.open(t, { server: world.server, errors: 'forward', onError });
    for (const framing of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
      for (const part of [
        (socket: Socket) => socket.destroy(),
        (socket: Socket) => socket.resetAndDestroy(),
      ]) {
        const socket = connect(port, '127.0.0.1');
        const closed = received(socket);
        await new Promise<void>((resolve) =>
          socket.write(`${head('/token/introspect', framing, 'Expect: 100-continue')}`, () => resolve()),
        );
        await new Promise((resolve) => socket.once('data', resolve)); // the server has started to respond
        socket.write('3\r\ntok\r\n', () => part(socket));
        await closed;
      }
    }
    assert.equal((await ask(port)).body, INACTIVE);
    const refusals = world.events.filter(({ type }) => type === 'refused');
    assert.deepEqual([errors, refusals], [[], []]);
  });
}

test('RFC 9113 §8.2.2 Fastify 5: over HTTP/2 no header speaks of the connection, and a body too large ends its stream alone', async (t) => {
  const { server } = await openWorld(t);
  const app = Fastify({ http2: true });
  await app.register(onFastify.mount(server));
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const client = connectHttp2(await app.listen({ host: '127.0.0.1', port: 0 }));
  t.after(async () => {
    process.off('warning', warned);
    await new Promise<void>((resolve) => client.close(resolve));
    await app.close();
  });
  const answers = [];
  for (const body of ['token='.padEnd(LIMIT + 1, 'x'), 'token=x'])
    answers.push(await askHttp2(client, '/token/introspect', body));
  assert.deepEqual(answers, [
    [413, TOO_LARGE],
    [200, INACTIVE],
  ]);
  assert.deepEqual(warnings, []); // Node reports such a header and drops it
});

test('Fastify 5: the endpoints are refused below a prefix of a scope, because their paths would never match', async (t) => {
  const { server } = await openWorld(t);
  const app = Fastify();
  app.register(async (scope) => void scope.register(onFastify.mount(server)), { prefix: '/auth' });
  await assert.rejects(async () => app.ready(), {
    name: 'ConfigurationError',
    message: /^prefix: expected none, .* register it on the instance that has no prefix$/,
  });
});

test('RFC 7009 §2.2 Koa 3: an empty response stays empty if the host declares all its responses as JSON', async (t) => {
  const { server } = await openWorld(t);
  const app = new Koa();
  app.use((context, next) => {
    context.type = 'json';
    return next();
  });
  const port = await listen(t, app.use(onKoa.mount(server)).callback());
  const revoked = await ask(port, '/token/revoke', 'token=x', { authorization: basic('web') });
  assert.deepEqual(revoked, REVOKED);
});

test('a stripped path is a path without a slash at its end, with which paths of the server begin', async (t) => {
  const { server } = await openWorld(t, { issuer: `${ISSUER}/base/auth` });
  for (const strippedPath of ['', '/', 'auth', '/base/', '/a//b', '/base?x', 'https://as.example/base']) {
    const message = 'strippedPath: expected a path such as /auth, without a slash at its end';
    assert.throws(() => onNode.mount(server, { strippedPath }), { name: 'ConfigurationError', message });
  }
  for (const strippedPath of ['/oauth', '/auth', '/bas', '/base/auth/token/introspect']) {
    const message = 'strippedPath: expected the beginning of a path of the server, such as the issuer’s';
    assert.throws(() => onNode.mount(server, { strippedPath }), { name: 'ConfigurationError', message });
  }
  for (const strippedPath of ['/base', '/base/auth', '/base/auth/token']) {
    assert.doesNotThrow(() => onNode.mount(server, { strippedPath }));
  }
});

test('an option errors that is neither of the two is refused by every adapter, in each of its forms', async (t) => {
  const { server } = await openWorld(t);
  const operation = (request: HttpRequest) => server.introspect(request);
  const misspelt = JSON.parse('{"errors":"forwad"}');
  const refusal = {
    name: 'ConfigurationError',
    message: 'errors: expected one of render, forward, got a text of 6 characters',
  };
  for (const [name, adapter] of Object.entries(ADAPTERS)) {
    assert.throws(() => adapter.mount(server, misspelt), refusal, name);
    assert.throws(() => adapter.handler(operation, misspelt), refusal, name);
  }
});
