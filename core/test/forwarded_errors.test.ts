// Forwarded errors in each framework's own error handling.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import { type TestContext, test } from 'node:test';
import { type AuthorizationServer, errorResponse } from '@grantd/core';
import * as expressAdapter from '@grantd/core/express';
import * as fastifyAdapter from '@grantd/core/fastify';
import * as h3Adapter from '@grantd/core/h3';
import * as honoAdapter from '@grantd/core/hono';
import * as koaAdapter from '@grantd/core/koa';
import * as nestAdapter from '@grantd/core/nest';
import { type ArgumentsHost, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express, { type ErrorRequestHandler } from 'express';
import express4 from 'express4';
import Fastify, { type FastifyInstance } from 'fastify';
import { H3 } from 'h3';
import { Hono } from 'hono';
import Koa from 'koa';
import { listen } from './harness/hosts/node.ts';
import { CLIENT_CHALLENGE, errorOf, JSON_HEADERS } from './harness/responses.ts';
import { fetching } from './harness/transports/fetching.ts';
import { portOf, sendHttp } from './harness/transports/listener.ts';
import type { OpenTransport } from './harness/transports/transport.ts';
import { openWorld } from './harness/world.ts';

const FORWARD = { errors: 'forward' } as const;

/** A refusal whose headers the client needs: no caller is authenticated. */
const REFUSED = errorOf(401, 'invalid_client', 'client authentication failed', {
  ...JSON_HEADERS,
  'www-authenticate': CLIENT_CHALLENGE,
});

type Send = OpenTransport['send'];
type Open = (t: TestContext, server: AuthorizationServer) => Promise<Send>;

function refusedBy(send: Send) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return send({ method: 'POST', path: '/token/introspect', headers, body: 'token=x' });
}

function overHttp(port: number): Send {
  return (request) => sendHttp(port, request);
}

async function listenFastify(t: TestContext, app: FastifyInstance): Promise<Send> {
  t.after(() => app.close());
  return overHttp(Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port));
}

class Application {}
Module({})(Application);

const QUIET = { logger: false, abortOnError: false } as const;

async function listenNest(
  t: TestContext,
  app: INestApplication<Server>,
  server: AuthorizationServer,
): Promise<Send> {
  app.useGlobalFilters({
    catch(error: unknown, host: ArgumentsHost) {
      const [request, response] = [host.getArgByIndex(0), host.getArgByIndex(1)];
      nestAdapter.sendResponse(request, response, errorResponse(error));
    },
  });
  app.use(nestAdapter.mount(server, FORWARD));
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  return overHttp(portOf(app.getHttpServer()));
}

/** These frameworks use status and headers of any thrown error. */
const BY_THEMSELVES: Readonly<Record<string, Open>> = {
  'Express 5': async (t, server) =>
    overHttp(await listen(t, express().set('env', 'test').use(expressAdapter.mount(server, FORWARD)))),
  'Express 4': async (t, server) =>
    overHttp(await listen(t, express4().set('env', 'test').use(expressAdapter.mount(server, FORWARD)))),
  'Fastify 5': async (t, server) => {
    const app = Fastify();
    app.register(fastifyAdapter.mount(server, FORWARD));
    return listenFastify(t, app);
  },
  'Koa 3': async (t, server) => {
    const app = new Koa();
    app.silent = true;
    return overHttp(await listen(t, app.use(koaAdapter.mount(server, FORWARD)).callback()));
  },
  h3: async (_t, server) => {
    const app = new H3({ silent: true }).use(h3Adapter.mount(server, FORWARD));
    return fetching(server, (request) => app.fetch(request)).send;
  },
};

/** With an error handler of the host, as in docs/hosts.md. */
const BY_HANDLERS: Readonly<Record<string, Open>> = {
  'Express 5': async (t, server) => {
    const answer: ErrorRequestHandler = (error, request, response, _next) =>
      expressAdapter.sendResponse(request, response, errorResponse(error));
    const app = express().disable('x-powered-by').use(expressAdapter.mount(server, FORWARD)).use(answer);
    return overHttp(await listen(t, app));
  },
  'Fastify 5': async (t, server) => {
    const app = Fastify();
    app.register(fastifyAdapter.mount(server, FORWARD));
    app.setErrorHandler((error, request, reply) =>
      fastifyAdapter.sendResponse(request, reply, errorResponse(error)),
    );
    return listenFastify(t, app);
  },
  'Koa 3': async (t, server) => {
    const app = new Koa();
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        koaAdapter.sendResponse(context, errorResponse(error));
      }
    });
    return overHttp(await listen(t, app.use(koaAdapter.mount(server, FORWARD)).callback()));
  },
  'Nest 11 on Express': async (t, server) => {
    const platform = new ExpressAdapter(express().disable('x-powered-by'));
    return listenNest(t, await NestFactory.create(Application, platform, QUIET), server);
  },
  'Nest 11 on Fastify': async (t, server) =>
    listenNest(t, await NestFactory.create(Application, new FastifyAdapter(), QUIET), server),
  Hono: async (_t, server) => {
    const app = new Hono().use(honoAdapter.mount(server, FORWARD));
    app.onError((error, context) => honoAdapter.sendResponse(context, errorResponse(error)));
    return fetching(server, (request) => app.fetch(request)).send;
  },
  h3: async (_t, server) => {
    const onError = ({ cause }: Error, event: h3Adapter.H3Event) =>
      h3Adapter.sendResponse(event, errorResponse(cause));
    const app = new H3({ silent: true, onError }).use(h3Adapter.mount(server, FORWARD));
    return fetching(server, (request) => app.fetch(request)).send;
  },
};

for (const [framework, open] of Object.entries(BY_THEMSELVES)) {
  test(`RFC 6749 §5.2 ${framework}: a forwarded error takes its status, its challenge and Cache-Control along by itself`, async (t) => {
    const { server } = await openWorld(t);
    const { status, headers } = await refusedBy(await open(t, server));
    assert.deepEqual(
      [status, headers['cache-control'], headers['www-authenticate']],
      [401, 'no-store', CLIENT_CHALLENGE],
    );
  });
}

for (const [framework, open] of Object.entries(BY_HANDLERS)) {
  test(`grantd §1.3 ${framework}: a handler of the host’s own answers a forwarded error as it would have been rendered`, async (t) => {
    const { server } = await openWorld(t);
    assert.deepEqual(await refusedBy(await open(t, server)), REFUSED);
  });
}
