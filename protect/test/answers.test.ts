import assert from 'node:assert/strict';
import { Agent, createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type AccessTokens, OAuthError } from '@grantd/protect';
import { protect as protectExpress } from '@grantd/protect/express';
import { protect as protectFastify } from '@grantd/protect/fastify';
import { protect as protectKoa } from '@grantd/protect/koa';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { portOf } from '../../core/test/harness/transports/listener.ts';

const tokens: AccessTokens = {
  verify: () => Promise.reject(new OAuthError('invalid_token', 'the access token is not active')),
};

/**
 * Protected APIs.
 * @returns their port
 */
const HOSTS: Readonly<Record<string, (t: TestContext) => Promise<number>>> = {
  Express: (t) => {
    const app = express();
    app.use(protectExpress({ tokens }));
    return listening(t, app);
  },
  Fastify: async (t) => {
    const app = fastify();
    app.addHook('onRequest', protectFastify({ tokens }));
    app.all('/', async () => 'let through');
    t.after(() => app.close());
    return Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  },
  Koa: (t) => {
    const app = new Koa();
    app.use((context, next) => {
      context.type = 'json'; // like a host that sends it with every response
      return next();
    });
    app.use(protectKoa({ tokens }));
    return listening(t, app.callback());
  },
};

async function listening(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return portOf(server);
}

/** The response to a request of which only the head is sent, by a client that would reuse the connection. */
async function answered(t: TestContext, port: number, method: string, headers: Record<string, string>) {
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const sent = request({ host: '127.0.0.1', port, method, headers, agent });
  if (method === 'GET') sent.end();
  else sent.flushHeaders();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject); // after the response the body's error does not matter
  });
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  sent.destroy();
  const { connection, 'content-length': length, 'content-type': type } = response.headers;
  return { status: response.statusCode, connection, length, type, body };
}

const INVALID = '{"error":"invalid_token","error_description":"the access token is not active"}';

for (const [name, open] of Object.entries(HOSTS)) {
  test(`${name}: a refusal has a length, and the connection of an unread body is closed`, async (t) => {
    const port = await open(t);
    const authorization = 'Bearer unknown';
    const bare = { status: 401, length: '0', type: undefined, body: '' };
    const invalid = { status: 401, length: String(INVALID.length), type: 'application/json', body: INVALID };
    const goesOn = { connection: 'keep-alive' };
    const ends = { connection: 'close' };
    assert.deepEqual(await answered(t, port, 'GET', {}), { ...bare, ...goesOn });
    assert.deepEqual(await answered(t, port, 'GET', { authorization }), { ...invalid, ...goesOn });
    for (const announced of [{ 'content-length': '1000000000' }, { 'transfer-encoding': 'chunked' }]) {
      assert.deepEqual(await answered(t, port, 'POST', announced), { ...bare, ...ends });
      const refused = await answered(t, port, 'POST', { ...announced, authorization });
      assert.deepEqual(refused, { ...invalid, ...ends });
    }
  });
}
