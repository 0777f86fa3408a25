// Forwarded outages in frameworks that respond to errors by status and headers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DocumentError, type HttpResponse, StorageFault } from '@grantd/core';
import { handler as onExpress } from '@grantd/core/express';
import { handler as onFastify } from '@grantd/core/fastify';
import { handler as onKoa } from '@grantd/core/koa';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { listen } from './harness/hosts/node.ts';
import { portOf, sendHttp } from './harness/transports/listener.ts';

const FORWARD = { errors: 'forward' } as const;

type Open = (t: TestContext, operation: () => Promise<HttpResponse>) => Promise<number>;

const FRAMEWORKS: Readonly<Record<string, Open>> = {
  'Express 5': (t, operation) => listen(t, express().set('env', 'test').use(onExpress(operation, FORWARD))), // it would print the error
  'Fastify 5': async (t, operation) => {
    const app = Fastify();
    t.after(() => app.close());
    app.get('/', onFastify(operation, FORWARD));
    await app.listen({ host: '127.0.0.1', port: 0 });
    return portOf(app.server);
  },
  'Koa 3': (t, operation) => {
    const app = new Koa();
    app.silent = true;
    return listen(t, app.use(onKoa(operation, FORWARD)).callback());
  },
};

for (const [framework, open] of Object.entries(FRAMEWORKS)) {
  test(`${framework}: an outage that an operation of the host’s own forwards is 503, and says when to come again`, async (t) => {
    for (const [fault, seconds] of [
      [new StorageFault(new Error('10.0.0.5 refused')), '1'],
      [new DocumentError('failed', 'it took too long'), '10'],
    ] as const) {
      const port = await open(t, () => Promise.reject(fault));
      const { status, headers } = await sendHttp(port, { method: 'GET', path: '/', headers: {} });
      assert.deepEqual(
        [status, headers['retry-after'], headers['cache-control']],
        [503, seconds, 'no-store'],
      );
    }
  });
}
