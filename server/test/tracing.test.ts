// § refers to Trace Context.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { listenOnLoopback } from './harness/listening.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, newPkce, redeem, type Tokens } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Received {
  readonly path: string;
  readonly traceparent: string | undefined;
  readonly body: string;
}

/** Takes spans, as an OpenTelemetry collector does, and logout tokens, as an application does. */
const received: Received[] = [];
const receiver = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const { traceparent } = request.headers;
  received.push({ path: request.url ?? '', traceparent: traceparent?.toString(), body });
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});
let receiverUrl = '';
before(async () => {
  receiverUrl = `http://127.0.0.1:${await listenOnLoopback(receiver)}`;
});
after(() => {
  receiver.closeAllConnections();
  receiver.close();
});

const tracedTo = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: receiverUrl });
const bodies = () => received.filter(({ path }) => path === '/v1/traces').map(({ body }) => body);

interface Encoded extends Omit<ReceivedSpan, 'attributes'> {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** The spans that a collector got, with their attributes as plain values. */
function spansIn(body: string): readonly ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: readonly { scopeSpans: readonly { spans: readonly Encoded[] }[] }[];
  };
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
    .map((span) => ({
      ...span,
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    }));
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const header = (flags: string, trace = TRACE) => `00-${trace}-${PARENT}-${flags}`;

async function introspectTraced(url: string, token: string, traceparent: string): Promise<string> {
  const response = await fetch(`${url}/token/introspect?state=a-query-that-is-private`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    headers: { authorization: basic('demo-api', 'demo-api-secret'), traceparent },
  });
  assert.equal(response.status, 200);
  return response.headers.get('x-request-id') ?? '';
}

describe('a traced server', () => {
  let server: RunningServer;
  let tokens: Tokens;
  let code: string;
  let spans: readonly ReceivedSpan[];
  let requestId: string;
  const delivered = () => received.find(({ path }) => path === '/logged-out');

  before(async () => {
    const flags = ['--demo', '--insecure-development', '--tracing', 'otlp'];
    server = await workbench.start(workbench.folder(), flags, tracedTo());
    const app = ['--redirect-uri', 'http://localhost:4005/callback', '--application-type', 'web'];
    await grantdPrints(server.folder, [
      ...['client', 'add', 'shop', '--public', '--scope', 'openid', '--grant', 'authorization_code', ...app],
      ...['--backchannel-logout-uri', `${receiverUrl}/logged-out`, '--insecure-development'],
    ]);
    const browser = new Browser(server.url);
    const pkce = newPkce();
    const shop = { client_id: 'shop', redirect_uri: 'http://localhost:4005/callback', scope: 'openid' };
    const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce, shop));
    code = callback.searchParams.get('code') ?? '';
    tokens = await redeem(server.url, pkce, callback, 'shop');
    requestId = await introspectTraced(server.url, 'unknown', header('00'));
    const question = await browser.get(`${server.url}/logout`);
    await browser.submit(question, { decision: 'yes' });
    await until(() => delivered() !== undefined, 'the logout token arrives');
    await server.logged(({ event }) => event === 'logout_delivered', 'that the token was delivered');
    await server.stop();
    spans = bodies().flatMap(spansIn);
  });

  test('§3.2 continues the caller’s trace, and says what happened, but not the path', async () => {
    const own = spans.find(({ traceId }) => traceId === TRACE);
    assert.deepEqual([own?.parentSpanId, own?.name], [PARENT, 'introspection']);
    assert.deepEqual(own?.attributes, {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'grantd.operation': 'introspection',
      'grantd.client_id': 'demo-api',
      'grantd.reason': 'no_record',
      'grantd.request_id': requestId,
    });
  });

  test('each request has a span, and its lines in the log have the trace', () => {
    const requests = server.log().filter(({ event }) => event === 'request');
    for (const line of requests) {
      const span = spans.find(({ attributes }) => attributes['grantd.request_id'] === line.requestId);
      assert.equal(span?.traceId, line.traceId, JSON.stringify(line));
      assert.equal(span?.attributes['http.response.status_code'], line.status);
    }
    const inactive = server.log().find(({ event }) => event === 'inactive');
    assert.deepEqual([inactive?.requestId, inactive?.traceId], [requestId, TRACE]);
  });

  test('§3.2 a back-channel logout takes the trace of the logout along', () => {
    const [, traceId, spanId] =
      /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(delivered()?.traceparent ?? '') ?? [];
    const sent = spans.find((span) => span.spanId === spanId);
    assert.deepEqual([sent?.traceId, sent?.name], [traceId, 'POST']);
    assert.deepEqual(sent?.attributes, {
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
    });
    const logout = server
      .log()
      .find(
        ({ event, operation, traceId: own }) =>
          event === 'request' && operation === 'logout' && own === traceId,
      );
    assert.ok(logout);
  });

  test('no token, code, secret, password, username or query is in a span', () => {
    const text = bodies().join('\n');
    assert.ok(spans.length > 8);
    const issued = [code, tokens.access_token, tokens.id_token].filter(
      (one) => one !== undefined && one !== '',
    );
    assert.equal(issued.length, 3);
    const secret = ['demo-api-secret', 'wonderland', 'alice', 'private', 'state', 'callback', 'logged-out'];
    for (const one of [...secret, ...issued].map(String)) assert.ok(!text.includes(one), one);
    assert.doesNotMatch(text, /eyJ|grantd_(?:at|rt|ac)_/);
  });
});

describe('whether a trace is recorded', () => {
  const recorded = async (flags: readonly string[], environment: Readonly<Record<string, string>>) => {
    const args = ['--demo', '--tracing', 'otlp', ...flags];
    const server = await workbench.start(workbench.folder(), args, { ...tracedTo(), ...environment });
    const count = bodies().length;
    for (const [one, sent] of [
      ['a', '00'],
      ['b', '01'],
    ] as const)
      await introspectTraced(server.url, 'unknown', header(sent, one.repeat(32)));
    const lines = () => server.log().filter(({ event }) => event === 'request');
    await until(() => lines().length === 2, 'the requests are logged');
    assert.deepEqual(
      lines().map(({ traceId }) => traceId),
      ['a'.repeat(32), 'b'.repeat(32)],
    );
    await server.stop();
    const sent = bodies().slice(count).flatMap(spansIn);
    return sent.map(({ traceId }) => traceId[0]).sort();
  };

  test('is decided here, whatever a stranger asks', async () => {
    assert.deepEqual(await recorded([], {}), ['a', 'b']);
    assert.deepEqual(await recorded([], { OTEL_TRACES_SAMPLER_ARG: '0' }), []);
  });

  test('is decided by a trusted proxy', async () => {
    const trusted = ['--trusted-proxies', '127.0.0.1,::1'];
    assert.deepEqual(await recorded(trusted, { OTEL_TRACES_SAMPLER_ARG: '0' }), ['b']);
  });
});

test('workers are traced, with metrics, and with the log off', async () => {
  const args = ['--demo', '--workers', '2', '--log', 'off', '--tracing', 'otlp', '--metrics-port', '0'];
  const server = await workbench.start(workbench.folder(), args, tracedTo());
  const trace = 'c'.repeat(32);
  await introspectTraced(server.url, 'unknown', header('01', trace));
  await server.stop();
  const spans = bodies().flatMap(spansIn);
  assert.equal(spans.filter(({ traceId }) => traceId === trace).length, 1);
  assert.equal(server.stdout(), '');
});

test('a collector that does not answer is logged once, and delays no answer', async () => {
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  };
  const server = await workbench.start(workbench.folder(), ['--demo', '--tracing', 'otlp'], environment);
  await introspectTraced(server.url, 'unknown', header('01'));
  const line = await server.logged(({ event }) => event === 'traces_not_sent', 'that no spans were sent');
  assert.equal(line.level, 'warn');
  assert.equal((await server.stop()).code, 0);
});

test('wrong variables fail the start and are named, also with workers', async () => {
  const refused = async (environment: Readonly<Record<string, string>>, flags: readonly string[] = []) => {
    const args = ['serve', '--port', '0', '--tracing', 'otlp', ...flags];
    const { code, stderr } = await grantd(workbench.folder(), args, { environment });
    return [code, stderr.trim()];
  };
  const url = [2, 'grantd: OTEL_EXPORTER_OTLP_ENDPOINT: expected an http or https URL'];
  assert.deepEqual(await refused({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }), url);
  assert.deepEqual(await refused({ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' }, ['--workers', '2']), url);
  assert.deepEqual(await refused({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), [
    2,
    'grantd: OTEL_EXPORTER_OTLP_PROTOCOL: expected http/json, got grpc',
  ]);
  assert.deepEqual(await refused({ OTEL_TRACES_SAMPLER_ARG: '5' }), [
    2,
    'grantd: OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1, got 5',
  ]);
});
