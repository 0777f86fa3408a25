import assert from 'node:assert/strict';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError } from '@grantd/core';
import { handler, mount, type NodeRequest } from '@grantd/core/node';
import { AccessTokenIntrospector, AccessTokenVerifier, ConfigurationError } from '@grantd/protect';
import { protect } from '@grantd/protect/node';
import { apiToken } from '../../protect/test/harness/resource_server.ts';
import { basic, ISSUER, openWorld } from './harness/world.ts';

const NOTHING = { status: 200, headers: { 'cache-control': 'no-store' }, body: 'of the server' };

/** An HTTP/2 request without its body. */
const QUESTION = {
  ':method': 'POST',
  ':path': '/token/introspect',
  'content-type': 'application/x-www-form-urlencoded',
  authorization: basic('api'),
};

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * A server on loopback that ends with the test.
 * @returns its port, and the errors that its listener rejected with
 */
async function listen(t: TestContext, listener: Listener) {
  const rejected: unknown[] = [];
  const server = createServer((request, response) => {
    Promise.resolve(listener(request, response)).catch((error) => rejected.push(error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, rejected };
}

test('a body of HTTP/2 is read, whether or not its length was announced', async (t) => {
  const world = await openWorld(t);
  const endpoints = mount(world.server);
  const server = createHttp2((request, response) => {
    void endpoints(request as unknown as NodeRequest, response as unknown as ServerResponse);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => session.close());
  const body = 'token=unknown';
  for (const length of [{}, { 'content-length': String(body.length) }]) {
    const stream = session.request({ ...QUESTION, ...length });
    stream.end(body);
    let answer = '';
    for await (const part of stream.setEncoding('utf8')) answer += part;
    assert.equal(answer, '{"active":false}');
  }
});

test('a client of HTTP/2 that disconnects in the middle of its body is no error', async (t) => {
  const world = await openWorld(t);
  const endpoints = mount(world.server, { errors: 'forward' });
  const told: unknown[] = [];
  const begun: Promise<void>[] = [];
  const server = createHttp2((request, response) => {
    const answered = endpoints(
      request as unknown as NodeRequest,
      response as unknown as ServerResponse,
      (error) => told.push(error),
    );
    begun.push(answered);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stream = session.request(QUESTION);
  stream.on('error', () => {});
  stream.write('token=');
  while (begun.length === 0) await pause(5);
  session.destroy();
  await begun[0];
  assert.deepEqual([told, world.events], [[], []]);
});

test('without next nothing rejects, which would end the process: errors are answered, also those to be forwarded', async (t) => {
  const refuse = () => Promise.reject(new OAuthError('invalid_request', 'no'));
  const forwarding = await listen(t, (request, response) =>
    handler(refuse, { errors: 'forward' })(request, response),
  );
  assert.equal((await fetch(forwarding.url)).status, 400);

  const faults: unknown[] = [];
  const onFault = (fault: unknown) => faults.push(fault);
  for (const headers of [
    () => {
      throw new Error('the host');
    },
    () => ({ 'x-name': 'line\nbreak' }),
  ]) {
    const failing = await listen(
      t,
      handler(async () => NOTHING, { headers, onFault }),
    );
    assert.equal((await fetch(failing.url)).status, 500);
    assert.deepEqual(failing.rejected, []);
  }
  assert.equal(faults.length, 2);
  assert.deepEqual(forwarding.rejected, []);
});

test('a response that cannot be sent is 500, and without next, mount reports why to onEvent', async (t) => {
  const world = await openWorld(t);
  const answer = mount(world.server, { headers: () => ({ 'x-name': 'line\nbreak' }) });
  const { url } = await listen(t, (request, response) =>
    answer(Object.assign(request, { id: 'r-1' }), response),
  );
  assert.equal((await fetch(`${url}/jwks`)).status, 500);
  const [event] = world.events;
  assert.ok(event?.type === 'refused');
  const { cause, ...told } = event;
  const fault = { error: 'server_error', status: 500, reason: 'unexpected' };
  assert.deepEqual(told, { operation: 'jwks', requestId: 'r-1', type: 'refused', ...fault });
  assert.match(String(cause), /Invalid character in header/);
  assert.equal(world.events.length, 1);
});

test('onFault gets only faults around an operation or outside endpoints; the default is the console', async (t) => {
  const { server } = await openWorld(t);
  const printed: unknown[] = [];
  t.mock.method(console, 'error', (...texts: unknown[]) => printed.push(texts));
  const thrown = new Error('the host');
  const headers = () => {
    throw thrown;
  };
  const faults: unknown[] = [];
  const onFault = (fault: unknown, { url }: NodeRequest) => faults.push([fault, url]);
  for (const listener of [
    handler(async () => NOTHING, { headers, onFault }),
    handler(async () => NOTHING, { headers }),
    mount(server, { headers }),
  ]) {
    const { url } = await listen(t, listener);
    assert.equal((await fetch(`${url}/elsewhere`)).status, 500);
  }
  assert.deepEqual(faults, [[thrown, '/elsewhere']]);
  assert.deepEqual(printed, [
    ['grantd', thrown],
    ['grantd', thrown],
  ]);
});

test('if the host has answered meanwhile, the response is dropped, and nothing rejects', async (t) => {
  const answer = handler(
    async () => {
      await pause(20);
      return NOTHING;
    },
    { onFault: () => {} },
  );
  const { url, rejected } = await listen(t, async (request, response) => {
    const answered = answer(request, response);
    response.writeHead(408).end('too late');
    await answered;
  });
  const response = await fetch(url);
  assert.deepEqual([response.status, await response.text()], [408, 'too late']);
  assert.deepEqual(rejected, []);
});

test('a path is looked up in no time, however long it is', async (t) => {
  const { server } = await openWorld(t);
  const path = `/${'a'.repeat(100_000)}`;
  const begunAt = performance.now();
  const served = [path, `${path}/`, `${path}${path}/`].map((url) => server.serves(url));
  assert.ok(performance.now() - begunAt < 500);
  assert.deepEqual(served, [false, false, false]);
});

test('headers of the response replace those of the host, in upper or lower case', async (t) => {
  const { port } = await listen(
    t,
    handler(async () => NOTHING, {
      headers: () => ({ 'Cache-Control': 'public', 'Content-Length': '3', 'X-Own': 'kept' }),
    }),
  );
  const lines = await new Promise<readonly string[]>((resolve, reject) => {
    const sent = httpRequest({ port, host: '127.0.0.1', agent: false }, (response) => {
      response.resume();
      resolve(response.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()));
    });
    sent.on('error', reject).end();
  });
  for (const name of ['cache-control', 'content-length', 'x-own'])
    assert.equal(lines.filter((line) => line === name).length, 1, name);
  const response = await fetch(`http://127.0.0.1:${port}`);
  assert.deepEqual(
    [response.headers.get('cache-control'), await response.text()],
    ['no-store', NOTHING.body],
  );
});

test('a request that the host has paused is answered', async (t) => {
  const world = await openWorld(t);
  const endpoints = mount(world.server);
  const { url } = await listen(t, async (request, response) => {
    request.pause();
    await endpoints(request, response);
  });
  const response = await fetch(`${url}/token/introspect`, {
    method: 'POST',
    headers: { authorization: basic('api') },
    body: new URLSearchParams({ token: 'unknown' }),
    signal: AbortSignal.timeout(5000),
  });
  assert.equal(await response.text(), '{"active":false}');
});

test('if the host has answered before a token was checked, its error handling receives that', async (t) => {
  const told: unknown[] = [];
  const tokens = {
    async verify() {
      await pause(20);
      throw new OAuthError('invalid_token', 'no');
    },
  };
  const guard = protect({ tokens });
  const { url, rejected } = await listen(t, async (request, response) => {
    const judged = guard(request, response, (error) => told.push(error));
    response.writeHead(408).end();
    await judged;
  });
  assert.equal((await fetch(url, { headers: { authorization: 'Bearer x' } })).status, 408);
  while (told.length === 0) await pause(5);
  assert.match(String(told[0]), /ERR_HTTP_HEADERS_SENT|headers/i);
  assert.deepEqual(rejected, []);
});

test('changing a checked token’s permissions does not affect later requests with it', async (t) => {
  const world = await openWorld(t);
  const tokens = new AccessTokenIntrospector({
    issuer: ISSUER,
    credentials: { clientId: 'api', clientSecret: 'the secret of api' },
    introspectionEndpoint: `${ISSUER}/token/introspect`,
    fetch: async (_url, { body }) => {
      const {
        status,
        headers,
        body: text,
      } = await world.introspect(new URLSearchParams(String(body)).get('token') ?? '');
      return new Response(text, { status, headers });
    },
    clock: world.clock.read,
  });
  const token = await tokens.verify(await apiToken(world));
  for (const part of [token, token.scopes, token.claims]) assert.ok(Object.isFrozen(part));
});

test('URLs and times of a resource server that do not fit are refused at once', () => {
  const verifier = { issuer: ISSUER, audience: 'https://api.example' };
  const credentials = { clientId: 'api', clientSecret: 'secret' };
  for (const jwksUri of ['http://as.example/jwks', 'file:///jwks', 'javascript:0', 'no URL'])
    assert.throws(() => new AccessTokenVerifier({ ...verifier, jwksUri }), ConfigurationError);
  for (const introspectionEndpoint of ['http://as.example/introspect', 'ftp://as.example'])
    assert.throws(
      () => new AccessTokenIntrospector({ issuer: ISSUER, credentials, introspectionEndpoint }),
      ConfigurationError,
    );
  for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 3e9])
    assert.throws(() => new AccessTokenVerifier({ ...verifier, timeoutMs }), ConfigurationError);
  const tokens = new AccessTokenVerifier(verifier);
  for (const resourceMetadata of ['javascript:0', 'no URL', 'file:///x'])
    assert.throws(() => protect({ tokens, resourceMetadata }), ConfigurationError);
  assert.doesNotThrow(() => protect({ tokens, resourceMetadata: 'https://api.example/ä' }));
});
