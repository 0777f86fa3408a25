// Long: each rule of an exchange over HTTP, on the adapters of Node and Fetch.
import assert from 'node:assert/strict';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type HttpRequest, type HttpResponse, OAuthError } from '@grantd/core';
import * as fetchAdapter from '@grantd/core/fetch';
import * as nextAdapter from '@grantd/core/next';
import * as nodeAdapter from '@grantd/core/node';
import { basic, openWorld } from './harness/world.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const INACTIVE = '{"active":false}';
const MISSING = '{"error":"invalid_request","error_description":"the parameter token is missing"}';
const TOO_LARGE = '{"error":"invalid_request","error_description":"the request body is too large"}';
const UNEXPECTED = '{"error":"server_error","error_description":"an unexpected error"}';
const LIMIT = 64 * 1024;

// ── node:http ─────────────────────────────────────────────────────────────────────────────────────────────

/** A listener on loopback that ends with the test and shows its accepted connections. */
async function listen(t: TestContext, listener: RequestListener, options: ServerOptions = {}) {
  const sockets: Socket[] = [];
  const server = createServer(options, listener);
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

interface NodeAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function send(
  port: number,
  {
    method = 'POST',
    path = '/token/introspect',
    headers = {},
    body = '',
  }: {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
    readonly body?: string | Buffer;
  },
): Promise<NodeAnswer> {
  return new Promise((resolve, reject) => {
    const lines = Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : [...value],
    ]);
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: Object.fromEntries(lines),
      agent: false,
    });
    request.on('error', reject);
    request.on('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({
        status: response.statusCode,
        headers: response.headers,
        body: Buffer.concat(chunks).toString(),
      });
    });
    request.end(body);
  });
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

function head(...lines: readonly string[]): string {
  return [
    'POST /token/introspect HTTP/1.1',
    'Host: as.example',
    'Content-Type: application/x-www-form-urlencoded',
    `Authorization: ${basic('api')}`,
    ...lines,
    '',
    '',
  ].join('\r\n');
}

const AS_API = { ...FORM, authorization: basic('api') };

test('grantd §1.3 node: a form that the host has parsed is taken as it is', async (t) => {
  const { server } = await openWorld(t);
  const parsed: readonly (readonly [unknown, number, string])[] = [
    [{ token: 'x' }, 200, INACTIVE],
    [Object.assign(Object.create(null), { token: 'x' }), 200, INACTIVE],
    ['token=x', 200, INACTIVE],
    [Buffer.from('token=x'), 200, INACTIVE],
    [{ token: ['x', 'y'] }, 400, '{"error":"invalid_request","error_description":"a parameter is repeated"}'],
    [
      { token: { a: 'x' } },
      400,
      '{"error":"invalid_request","error_description":"a parameter must be a string"}',
    ],
    [{ other: 'x' }, 400, MISSING],
    [{}, 400, MISSING],
    ['', 400, MISSING],
    [{ token: 'x'.repeat(LIMIT - 'token='.length) }, 200, INACTIVE],
    [{ token: 'x'.repeat(LIMIT) }, 413, TOO_LARGE],
    ['x'.repeat(LIMIT + 1), 413, TOO_LARGE],
    [Buffer.alloc(LIMIT + 1, 'x'), 413, TOO_LARGE],
  ];
  for (const [body, status, expected] of parsed) {
    const mounted = nodeAdapter.mount(server);
    const { port } = await listen(t, async (request, response) => {
      for await (const _ of request); // like a parser of the host
      await mounted(Object.assign(request, { body }), response);
    });
    const answer = await send(port, { headers: AS_API, body: 'token=something+else' });
    assert.deepEqual([answer.status, answer.body], [status, expected]);
  }
});

test('RFC 6749 §3.2 node: a raw body that the host kept takes precedence, so no repetition is hidden', async (t) => {
  const { server } = await openWorld(t);
  const mounted = nodeAdapter.mount(server);
  const repeated = '{"error":"invalid_request","error_description":"a parameter is repeated"}';
  const kept: readonly (readonly [unknown, number, string])[] = [
    ['token=x&token=y', 400, repeated],
    [Buffer.from('token=x&token=y'), 400, repeated],
    [new URLSearchParams('token=x&token=y'), 400, repeated],
    ['token=x&token.a=y', 200, INACTIVE],
    ['', 400, MISSING],
    [true, 200, INACTIVE], // nothing was kept
  ];
  for (const [rawBody, status, expected] of kept) {
    const { port } = await listen(t, async (request, response) => {
      for await (const _ of request);
      await mounted(Object.assign(request, { body: { token: 'x' }, rawBody }), response);
    });
    const answer = await send(port, { headers: AS_API, body: 'token=x&token=y' });
    assert.deepEqual([answer.status, answer.body], [status, expected], String(rawBody));
  }
});

test('grantd §1.3 node: an empty object that a parser of other media types leaves behind hides no form', async (t) => {
  const { server } = await openWorld(t);
  const mounted = nodeAdapter.mount(server);
  for (const body of [{}, undefined, null]) {
    const { port } = await listen(t, (request, response) =>
      mounted(Object.assign(request, { body }), response),
    );
    const answer = await send(port, { headers: AS_API, body: 'token=x' });
    assert.deepEqual([answer.status, answer.body], [200, INACTIVE]);
  }
});

test('grantd §1.3 node: a body that the host has read and not kept is a fault that says so, without waiting', async (t) => {
  const world = await openWorld(t);
  const mounted = nodeAdapter.mount(world.server);
  const readings: Readonly<Record<string, (request: IncomingMessage) => Promise<unknown>>> = {
    whole: async (request) => {
      for await (const _ of request);
    },
    'a part': (request) => new Promise((resolve) => request.once('data', () => resolve(request.pause()))),
  };
  for (const [name, read] of Object.entries(readings)) {
    const { port } = await listen(t, async (request, response) => {
      await read(request);
      await mounted(request, response);
    });
    const answer = await send(port, { headers: AS_API, body: 'token=x' });
    assert.deepEqual([answer.status, answer.body], [500, UNEXPECTED], name);
    const { cause } = world.events.pop() as { readonly cause?: unknown };
    assert.match(String(cause), /^TypeError: the body was read before; hand it over as request\.body/, name);
    if (name !== 'whole') continue;
    const empty = await send(port, { headers: { ...AS_API, 'transfer-encoding': 'chunked' } });
    assert.deepEqual([empty.status, empty.body], [400, MISSING]);
  }
});

for (const whole of [true, false]) {
  test(`grantd §1.3 node: a host that listens to the body as well takes nothing of it away (${whole ? 'in one piece' : 'in two'})`, async (t) => {
    const { server } = await openWorld(t);
    const mounted = nodeAdapter.mount(server);
    let listened = '';
    const { port } = await listen(t, (request, response) => {
      request.on('data', (chunk: Buffer) => {
        listened += chunk.toString();
      });
      return mounted(request, response);
    });
    const socket = connect(port, '127.0.0.1');
    const answer = received(socket);
    const beginning = head('Content-Length: 7', 'Connection: close');
    socket.write(`${beginning}${whole ? 'token=x' : 'tok'}`);
    if (!whole) {
      while (listened === '') await new Promise(setImmediate);
      socket.write('en=x');
    }
    const text = await answer;
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.ok(text.endsWith(INACTIVE));
    assert.equal(listened, 'token=x');
  });
}

for (const encoding of ['utf8', 'latin1', 'base64'] as const) {
  test(`grantd §1.3 node: a body that the host has read as ${encoding} is put together of all its pieces`, async (t) => {
    const { server } = await openWorld(t);
    const bodies: unknown[] = [];
    const answer = nodeAdapter.handler((request) => {
      bodies.push(request.body);
      return server.introspect(request);
    });
    let listened = '';
    const { port } = await listen(t, (request, response) => {
      request.setEncoding(encoding);
      if (request.url === '/listens') {
        request.on('data', (text: string) => {
          listened += text;
        });
      }
      return answer(request, response);
    });
    for (const path of ['/listens', '/encodes']) {
      for (const body of ['token=x', 'token=ä€😀', 'token='.padEnd(LIMIT, 'x')]) {
        const sent = await send(port, { path, headers: AS_API, body });
        assert.deepEqual([sent.status, sent.body, bodies.pop()], [200, INACTIVE, body]);
      }
    }
    assert.ok(listened.length > LIMIT);
    const longer = await send(port, {
      path: '/encodes',
      headers: AS_API,
      body: 'token='.padEnd(LIMIT + 1, 'x'),
    });
    assert.deepEqual([longer.status, longer.body], [413, TOO_LARGE]);
  });
}

test('grantd §1.3 node: what a host begins to read while the body is awaited is never taken for the whole', async (t) => {
  const { server } = await openWorld(t);
  const mounted = nodeAdapter.mount(server);
  const { port } = await listen(t, (request, response) => {
    const answered = mounted(request, response);
    request.on('data', () => {});
    return answered;
  });
  const answer = await send(port, { headers: AS_API, body: 'token=x' });
  assert.deepEqual([answer.status, answer.body], [500, UNEXPECTED]);
});

test('RFC 9112 §9.3.2 node: pipelined requests are each answered, in their order', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  const socket = connect(port, '127.0.0.1');
  const answer = received(socket);
  const one = (body: string, ...lines: string[]) =>
    `${head(`Content-Length: ${body.length}`, ...lines)}${body}`;
  socket.write(one('token=x') + one('other=x') + one('token=y') + one('other=', 'Connection: close'));
  const bodies = (await answer).split(/HTTP\/1\.1 /).map((text) => text.split('\r\n\r\n')[1]);
  assert.deepEqual(bodies, [undefined, INACTIVE, MISSING, INACTIVE, MISSING]);
});

test('RFC 9110 §10.1.1 node: a client that waits for 100 (Continue) receives it', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  const socket = connect(port, '127.0.0.1');
  const answer = received(socket);
  socket.once('data', () => socket.write('token=x'));
  socket.write(head('Content-Length: 7', 'Expect: 100-continue', 'Connection: close'));
  assert.match(await answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [\s\S]*{"active":false}$/);
});

test('RFC 9112 §7.1 node: a chunked body is put together, also if a chunk ends within a character', async (t) => {
  const { server } = await openWorld(t);
  const bodies: unknown[] = [];
  const { port } = await listen(
    t,
    nodeAdapter.handler(async (request) => {
      bodies.push(request.body);
      return server.introspect(request);
    }),
  );
  const body = Buffer.from('token=ä€😀');
  const socket = connect(port, '127.0.0.1');
  const answer = received(socket);
  socket.write(head('Transfer-Encoding: chunked', 'Connection: close'));
  for (const byte of body) {
    socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]));
    await new Promise(setImmediate);
  }
  socket.write('0\r\n\r\n');
  assert.match(await answer, /^HTTP\/1\.1 200 /);
  assert.deepEqual(bodies, ['token=ä€😀']);
});

test('grantd §3.4 node: a body of exactly 64 KiB is read', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  const body = 'token='.padEnd(LIMIT, 'x');
  for (const length of [{ 'content-length': String(LIMIT) }, { 'transfer-encoding': 'chunked' }]) {
    const exact = await send(port, { headers: { ...AS_API, ...length }, body });
    assert.deepEqual([exact.status, exact.body], [200, INACTIVE]);
  }
  const longer = await send(port, { headers: AS_API, body: `${body}x` });
  assert.deepEqual([longer.status, longer.body, longer.headers.connection], [413, TOO_LARGE, 'close']);
});

for (const framing of ['Content-Length: 1000000000', 'Transfer-Encoding: chunked']) {
  test(`grantd §3.4 node: of a body without end little more than the limit is read, then the connection closes (${framing})`, async (t) => {
    const { server } = await openWorld(t);
    const { port, sockets } = await listen(t, nodeAdapter.mount(server));
    const socket = connect(port, '127.0.0.1');
    const answer = received(socket);
    socket.write(head(framing));
    const data = 'x'.repeat(16 * 1024);
    const chunk = framing.startsWith('T') ? `4000\r\n${data}\r\n` : data;
    let isOver = false;
    socket.on('close', () => {
      isOver = true;
    });
    let written = 0;
    while (!isOver && written < 64 * 1024 * 1024) {
      written += chunk.length;
      await new Promise((resolve) => socket.write(chunk, () => setImmediate(resolve)));
    }
    const text = await answer;
    if (text !== '') assert.match(text, /^HTTP\/1\.1 413 [\s\S]*\r\nconnection: close\r\n/i); // a reset may arrive first
    assert.ok(written < 64 * 1024 * 1024, 'the server hung up');
    assert.ok((sockets[0]?.bytesRead ?? Infinity) < 16 * LIMIT, `${sockets[0]?.bytesRead} bytes were read`);
    const next = await send(port, { headers: AS_API, body: 'token=x' });
    assert.equal(next.status, 200);
  });
}

test('RFC 9112 §9.6 node: a client that disconnects in the middle of its body does no harm', async (t) => {
  const world = await openWorld(t);
  const mounted = nodeAdapter.mount(world.server);
  const outcomes: Promise<void>[] = [];
  const { port } = await listen(t, (request, response) => {
    outcomes.push(mounted(request, response));
  });
  const partings: readonly ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
  ];
  for (const framing of ['Content-Length: 1000', 'Transfer-Encoding: chunked']) {
    for (const part of partings) {
      const socket = connect(port, '127.0.0.1');
      const closed = received(socket);
      const before = outcomes.length;
      socket.write(`${head(framing)}3\r\ntok\r\n`);
      while (outcomes.length === before) await new Promise(setImmediate);
      part(socket);
      await closed;
    }
  }
  assert.deepEqual(await Promise.all(outcomes), Array(6).fill(undefined));
  assert.deepEqual(world.events, []);
  assert.equal((await send(port, { headers: AS_API, body: 'token=x' })).status, 200);
});

test('RFC 9112 §9.6 node: the server does not wait for a client that disconnects after its body', async (t) => {
  const world = await openWorld(t);
  const mounted = nodeAdapter.mount(world.server);
  let outcome: Promise<void> | undefined;
  const { port } = await listen(t, (request, response) => {
    outcome = mounted(request, response);
    request.destroy();
  });
  const socket = connect(port, '127.0.0.1');
  const closed = received(socket);
  socket.write(`${head('Content-Length: 7')}token=x`);
  await closed;
  await outcome;
  assert.ok(outcome);
});

test('RFC 9112 §9.6 node: a client that had disconnected before its request was handled is not waited for', async (t) => {
  const world = await openWorld(t);
  const mounted = nodeAdapter.mount(world.server);
  let outcome: Promise<void> | undefined;
  const { port } = await listen(t, (request, response) => {
    request.on('error', () => {});
    request.once('close', () => {
      outcome = mounted(request, response);
    });
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(`${head('Content-Length: 1000')}tok`, () => socket.destroy());
  while (outcome === undefined) await new Promise(setImmediate);
  await outcome;
  assert.deepEqual(world.events, []);
});

test('grantd §1.3 node: paths of the host go to next, and its query is no part of the path', async (t) => {
  const { server } = await openWorld(t);
  const mounted = nodeAdapter.mount(server);
  const host = (request: IncomingMessage, response: ServerResponse) =>
    mounted(request, response, () => response.end(`the host’s own ${request.url}`));
  const { port } = await listen(t, host);
  for (const path of ['/', '/authorize', '/token/', '/tokens', '/x?/token', '//token', '/.well-known/x']) {
    assert.equal((await send(port, { path, body: 'a=b' })).body, `the host’s own ${path}`);
  }
  assert.equal(
    (await send(port, { path: '/token/introspect?x', headers: AS_API, body: 'token=x' })).body,
    INACTIVE,
  );
  assert.equal((await send(port, { method: 'GET', path: '/jwks?x' })).status, 200);
});

test('RFC 9110 §15.5.5 node: without next another path is 404', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  for (const path of ['/', '/authorize', '/token/', '/constructor']) {
    const answer = await send(port, { path, body: 'a=b' });
    assert.deepEqual([answer.status, answer.body, answer.headers['content-length']], [404, '', '0']);
  }
});

test('grantd §1.3 node: a single operation serves at whatever path the host has for it', async (t) => {
  const world = await openWorld(t);
  const { port } = await listen(
    t,
    nodeAdapter.handler((request) => world.server.introspect(request)),
  );
  const { access_token: token } = await world.grant();
  const good = await send(port, { path: '/anything', headers: AS_API, body: `token=${token}` });
  assert.deepEqual([good.status, JSON.parse(good.body).active], [200, true]);
  assert.deepEqual(good.headers['content-type'], 'application/json');
  const bad = await send(port, { path: '/anything', headers: FORM, body: 'token=x' });
  assert.deepEqual([bad.status, JSON.parse(bad.body).error], [401, 'invalid_client']);
  assert.match(bad.headers['www-authenticate'] ?? '', /^Basic realm=/);
});

test('RFC 9110 §9.3.2 node: HEAD has the headers of GET, its length included, and no body', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  for (const path of ['/jwks', '/.well-known/openid-configuration']) {
    const got = await send(port, { method: 'GET', path });
    const socket = connect(port, '127.0.0.1');
    const answer = received(socket);
    socket.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [lines = '', body] = (await answer).split('\r\n\r\n');
    assert.equal(body, '');
    assert.ok(lines.includes(`content-length: ${got.body.length}`) && got.body.length > 0, lines);
  }
});

test('RFC 9110 §5.3 node: several values of a header are several lines', async (t) => {
  const response: HttpResponse = {
    status: 200,
    headers: { 'set-cookie': ['a=1', 'b=2'], vary: ['A', 'B'] },
    body: 'ä',
  };
  const { port } = await listen(
    t,
    nodeAdapter.handler(async () => response),
  );
  const { headers, body } = await send(port, {});
  assert.deepEqual(
    [headers['set-cookie'], headers.vary, headers['content-length']],
    [['a=1', 'b=2'], 'A, B', '2'],
  );
  assert.equal(body, 'ä');
});

test('RFC 9110 §15.3.5 node: a preflight without a body has no length', async (t) => {
  const { server } = await openWorld(t);
  const { port } = await listen(t, nodeAdapter.mount(server));
  const answer = await send(port, { method: 'OPTIONS', path: '/token' });
  assert.deepEqual([answer.status, answer.body, answer.headers['content-length']], [204, '', undefined]);
});

for (const joinDuplicateHeaders of [false, true]) {
  test(`RFC 6749 §2.3 node: two Authorization headers are refused as two credentials (joinDuplicateHeaders: ${joinDuplicateHeaders})`, async (t) => {
    const { server } = await openWorld(t);
    const { port } = await listen(t, nodeAdapter.mount(server), { joinDuplicateHeaders });
    const pairs = [
      [basic('api'), basic('api')],
      [basic('api'), basic('web')],
      [basic('api', 'wrong'), basic('api')],
      [basic('api'), 'Bearer x'],
    ];
    for (const authorization of pairs) {
      const answer = await send(port, { headers: { ...FORM, authorization }, body: 'token=x' });
      assert.deepEqual([answer.status, JSON.parse(answer.body).error], [400, 'invalid_request']);
    }
    const bearers = { authorization: ['Bearer a', 'Bearer b'] };
    const answer = await send(port, { method: 'GET', path: '/userinfo', headers: bearers });
    assert.deepEqual([answer.status, JSON.parse(answer.body).error], [401, 'invalid_token']);
    assert.equal((await send(port, { headers: AS_API, body: 'token=x' })).status, 200);
  });
}

test('grantd §1.3 node: the host’s request identifier is in the events', async (t) => {
  const world = await openWorld(t);
  const requests: HttpRequest[] = [];
  const answer = nodeAdapter.handler((request) => {
    requests.push(request);
    return world.server.introspect(request);
  });
  const ids = ['r-1', 7, '', undefined];
  for (const id of ids) {
    const { port } = await listen(t, (request, response) => answer(Object.assign(request, { id }), response));
    await send(port, { headers: FORM, body: 'token=x' });
  }
  assert.deepEqual(
    requests.map(({ id }) => id),
    ['r-1', '7', undefined, undefined],
  );
  assert.deepEqual(
    world.events.map(({ requestId }) => requestId),
    ['r-1', '7', undefined, undefined],
  );
});

test('grantd §1.3 node: whatever an operation throws becomes a response, and a connection serves on', async (t) => {
  const thrown: unknown[] = [new OAuthError('invalid_grant', 'no'), new Error('hush'), 'hush', undefined];
  const [, ...expected] = thrown;
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => faults.push(fault);
  const { port, sockets } = await listen(
    t,
    nodeAdapter.handler(() => Promise.reject(thrown.shift()), { onFault }),
  );
  const socket = connect(port, '127.0.0.1');
  const answer = received(socket);
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n';
  socket.write(`${request}\r\n`.repeat(3));
  socket.write(`${request}Connection: close\r\n\r\n`);
  const statuses = [...(await answer).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  assert.deepEqual(statuses, ['400', '500', '500', '500']);
  assert.doesNotMatch(await answer, /hush/);
  assert.equal(sockets.length, 1);
  assert.deepEqual(faults, expected);
});

// ── Fetch ─────────────────────────────────────────────────────────────────────────────────────────────────

const ADDRESS = 'https://as.example/token/introspect';

/** A body in chunks, which counts how many were read. */
function streamOf(chunks: Iterable<Uint8Array>) {
  const iterator = chunks[Symbol.iterator]();
  const seen = { pulled: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done) return controller.close();
      seen.pulled += value.length;
      controller.enqueue(value);
    },
    cancel() {
      seen.isCancelled = true;
    },
  });
  return { seen, stream };
}

function posted(body: BodyInit | null, headers: HeadersInit = AS_API): Request {
  const init: RequestInit & { readonly duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' };
  return new Request(ADDRESS, init);
}

function* endless(): Generator<Uint8Array> {
  for (;;) yield new Uint8Array(16 * 1024).fill(0x78);
}

test('grantd §1.3 fetch: a form is read as it comes, in one piece or in many, also cut within a letter', async (t) => {
  const { server } = await openWorld(t);
  const bodies: unknown[] = [];
  const answer = fetchAdapter.handler((request) => {
    bodies.push(request.body);
    return server.introspect(request);
  });
  const bytes = new TextEncoder().encode('token=ä€😀');
  const { stream } = streamOf([...bytes].map((byte) => Uint8Array.of(byte)));
  for (const body of [stream, 'token=ä€😀', bytes, new Blob([bytes])]) {
    const response = await answer(posted(body));
    assert.deepEqual([response.status, await response.text()], [200, INACTIVE]);
  }
  assert.deepEqual(bodies, Array(4).fill('token=ä€😀'));
  const parameters = await answer(posted(new URLSearchParams({ token: 'x' })));
  assert.equal(parameters.status, 200);
  const empty = await answer(posted(null));
  assert.deepEqual([empty.status, await empty.text()], [400, MISSING]);
});

test('grantd §3.4 fetch: a body of exactly 64 KiB is read, one byte more is 413, also if that byte is invisible', async (t) => {
  const { server } = await openWorld(t);
  const answer = fetchAdapter.mount(server);
  const body = 'token='.padEnd(LIMIT, 'x');
  assert.equal((await answer(posted(body))).status, 200);
  const longer = await answer(posted(`${body}x`));
  assert.deepEqual([longer.status, await longer.text()], [413, TOO_LARGE]);
  // A byte order mark of three bytes, in a first chunk that slightly exceeds the limit.
  const marked = new TextEncoder().encode(`\ufeff${body.slice(2)}`);
  assert.equal(marked.length, LIMIT + 1);
  const { stream } = streamOf([marked, new TextEncoder().encode('&token=y')]);
  assert.equal((await answer(posted(stream))).status, 413);
});

test('grantd §3.4 fetch: of a body without end little more than the limit is read, and the rest is cancelled', async (t) => {
  const { server } = await openWorld(t);
  const { stream, seen } = streamOf(endless());
  const response = await fetchAdapter.mount(server)(posted(stream));
  assert.equal(response.status, 413);
  assert.ok(seen.pulled < 4 * LIMIT, `${seen.pulled} bytes were read`);
  assert.equal(seen.isCancelled, true);
});

test('RFC 9112 §8 fetch: a body that the host has read is the host’s fault', async (t) => {
  const world = await openWorld(t);
  const answer = fetchAdapter.mount(world.server);
  const used = posted('token=x');
  await used.text();
  const locked = posted('token=x');
  locked.body?.getReader();
  const statuses = [];
  for (const request of [used, locked]) statuses.push((await answer(request)).status);
  assert.deepEqual(statuses, [500, 500]);
});

test('RFC 9110 §15.5.5 fetch: another path is 404, without a look at the body', async (t) => {
  const { server } = await openWorld(t);
  const { stream, seen } = streamOf(endless());
  const init = { method: 'POST', body: stream, duplex: 'half' };
  const response = await fetchAdapter.mount(server)(new Request('https://as.example/elsewhere', init));
  assert.deepEqual([response.status, await response.text(), [...response.headers]], [404, '', []]);
  assert.ok(seen.pulled <= 16 * 1024);
});

test('RFC 9110 §15.5.5 fetch and next: headers of the host are on 404 as well', async (t) => {
  const { server } = await openWorld(t);
  const headers = () => ({ 'strict-transport-security': 'max-age=63072000' });
  const request = () => new Request('https://as.example/elsewhere');
  for (const answer of [
    fetchAdapter.mount(server, { headers }),
    nextAdapter.mount(server, { headers }).GET,
  ]) {
    const { status, headers: sent } = await answer(request());
    assert.deepEqual([status, [...sent]], [404, Object.entries(headers())]);
  }
});

test('RFC 9110 §9.3.2 fetch: HEAD has the headers of GET and no body, errors included', async (t) => {
  const { server } = await openWorld(t);
  const answer = fetchAdapter.mount(server);
  for (const path of ['/jwks', '/.well-known/openid-configuration', '/userinfo']) {
    const url = `https://as.example${path}`;
    const head = await answer(new Request(url, { method: 'HEAD' }));
    assert.equal(head.body, null);
    if (path !== '/userinfo') {
      const got = await answer(new Request(url));
      assert.deepEqual([head.status, [...head.headers]], [200, [...got.headers]]);
    }
  }
});

test('RFC 9110 §5.3 fetch: several values of a header are several lines', async () => {
  const headers = { 'set-cookie': ['a=1', 'b=2'], vary: ['A', 'B'] };
  const answer = { status: 200, headers, body: 'ä' };
  const response = fetchAdapter.sendResponse(new Request(ADDRESS), answer);
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2']);
  assert.deepEqual([response.headers.get('vary'), await response.text()], ['A, B', 'ä']);
});

test('RFC 9110 §15 fetch: a response without a body is one, whatever its status', async (t) => {
  const { server } = await openWorld(t);
  const answer = fetchAdapter.mount(server);
  const preflight = await answer(new Request('https://as.example/token', { method: 'OPTIONS' }));
  assert.deepEqual([preflight.status, preflight.body], [204, null]);
  const headers = { ...FORM, authorization: basic('web') };
  const revoked = await answer(
    new Request('https://as.example/token/revoke', { method: 'POST', headers, body: 'token=x' }),
  );
  assert.deepEqual([revoked.status, revoked.body], [200, null]);
});

test('grantd §1.3 fetch and next: the runtime’s second argument reaches each callback', async () => {
  const requests: HttpRequest[] = [];
  const operation = async (request: HttpRequest) => {
    requests.push(request);
    return { status: 200, headers: {}, body: '' };
  };
  interface Info {
    readonly peer: string;
    readonly read: string;
  }
  const options = {
    id: (_: Request, { peer }: Info) => peer,
    body: (_: Request, { read }: Info) => read,
    headers: ({ method }: Request, { peer }: Info) => ({ 'x-asked': `${method} by ${peer}` }),
  };
  const info: Info = { peer: '192.0.2.7', read: 'token=x' };
  for (const answer of [fetchAdapter.handler(operation, options), nextAdapter.handler(operation, options)]) {
    assert.equal(answer.length, 2); // Deno passes no more than that
    const response = await answer(new Request(ADDRESS, { method: 'POST' }), info);
    assert.equal(response.headers.get('x-asked'), 'POST by 192.0.2.7');
  }
  assert.deepEqual(
    requests.map(({ id, body }) => ({ id, body })),
    Array(2).fill({ id: '192.0.2.7', body: 'token=x' }),
  );
});

test('grantd §1.3 fetch and next: also when everything is mounted', async (t) => {
  const { server } = await openWorld(t);
  const options = { headers: (_: Request, second: string) => ({ 'x-second': second }) };
  for (const answer of [fetchAdapter.mount(server, options), nextAdapter.mount(server, options).GET]) {
    for (const path of ['/jwks', '/elsewhere']) {
      const { headers } = await answer(new Request(`https://as.example${path}`), 'handed over');
      assert.equal(headers.get('x-second'), 'handed over');
    }
  }
});

test('grantd §1.3 fetch: whatever an operation throws becomes a response', async () => {
  const thrown: unknown[] = [new OAuthError('invalid_grant', 'no'), new Error('hush'), 'hush', undefined];
  const faults: unknown[] = [];
  const onFault = (fault: unknown) => faults.push(fault);
  for (const [status, one] of [400, 500, 500, 500].entries()) {
    const answer = fetchAdapter.handler(() => Promise.reject(thrown[status]), { onFault });
    const response = await answer(new Request(ADDRESS));
    assert.equal(response.status, one);
    assert.doesNotMatch(await response.text(), /hush/);
  }
  assert.deepEqual(faults, thrown.slice(1));
});
