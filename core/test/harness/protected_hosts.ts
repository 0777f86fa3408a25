import type { ProtectionOptions, VerifiedAccessToken } from '@grantd/core/resource';
import * as expressProtection from '@grantd/core/resource/express';
import * as fastifyProtection from '@grantd/core/resource/fastify';
import * as fetchProtection from '@grantd/core/resource/fetch';
import * as honoProtection from '@grantd/core/resource/hono';
import * as koaProtection from '@grantd/core/resource/koa';
import * as nodeProtection from '@grantd/core/resource/node';
import express, { type ErrorRequestHandler } from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { listening, sendHttp } from './transports/listener.ts';
import { chosen, type OpenTransport, type TestRequest, type TestResponse } from './transports/transport.ts';

/** What each API answers to a request that was let through. */
export function notesOf({ sub, clientId, scopes }: VerifiedAccessToken) {
  return { sub, clientId, scopes };
}

/** What each API's own error handling answers. */
export function toldByHost(error: unknown) {
  const { name, status, headers } = Object(error);
  return { name, status, challenge: headers?.['www-authenticate'] };
}

/** An API in one framework, whose only route is protected; its own error handling answers 418. */
export interface ProtectedHost {
  readonly name: string;
  /** Whether the host parses forms before it asks for the token. */
  readonly parsesForms: boolean;
  open(options: ProtectionOptions): Promise<OpenTransport>;
}

export const PROTECTED_HOSTS: readonly ProtectedHost[] = [
  {
    name: 'node:http',
    parsesForms: false,
    open: (options) => {
      const guard = nodeProtection.protect(options);
      return listening((request, response) =>
        guard(request, response, (error) => {
          if (error !== undefined) response.writeHead(418).end(JSON.stringify(toldByHost(error)));
          else response.end(JSON.stringify(notesOf(nodeProtection.tokenOf(request))));
        }),
      );
    },
  },
  {
    name: 'Express',
    parsesForms: true,
    open: (options) => {
      const app = express();
      app.disable('x-powered-by').disable('etag');
      app.use(express.urlencoded());
      app.all('/notes', expressProtection.protect(options), (request, response) => {
        response.send(JSON.stringify(notesOf(expressProtection.tokenOf(request))));
      });
      const tell: ErrorRequestHandler = (error, _request, response, _next) => {
        response.status(418).send(JSON.stringify(toldByHost(error)));
      };
      app.use(tell);
      return listening(app);
    },
  },
  {
    name: 'Fastify',
    parsesForms: true,
    open: async (options) => {
      const app = fastify();
      const form = 'application/x-www-form-urlencoded';
      app.addContentTypeParser(
        form,
        { parseAs: 'string' },
        async (_request: unknown, body: string | Buffer) =>
          Object.fromEntries(new URLSearchParams(String(body))),
      );
      app.route({
        method: ['GET', 'POST', 'HEAD'],
        url: '/notes',
        preHandler: fastifyProtection.protect(options),
        handler: async (request) => JSON.stringify(notesOf(fastifyProtection.tokenOf(request))),
      });
      app.setErrorHandler((error, _request, reply) =>
        reply.code(418).send(JSON.stringify(toldByHost(error))),
      );
      const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
      return { send: (request) => sendHttp(port, request), close: () => app.close() };
    },
  },
  {
    name: 'Koa',
    parsesForms: false,
    open: (options) => {
      const app = new Koa();
      app.use(async (context, next) => {
        try {
          await next();
        } catch (error) {
          context.status = 418;
          context.body = JSON.stringify(toldByHost(error));
        }
      });
      app.use(koaProtection.protect(options));
      app.use((context) => {
        context.body = JSON.stringify(notesOf(koaProtection.tokenOf(context)));
      });
      return listening(app.callback());
    },
  },
  {
    name: 'Hono',
    parsesForms: false,
    open: async (options) => {
      const app = new Hono<{ Variables: { token: VerifiedAccessToken } }>();
      app.use('/notes', honoProtection.protect(options));
      app.all('/notes', (context) => context.body(JSON.stringify(notesOf(honoProtection.tokenOf(context)))));
      app.onError((error, context) => context.body(JSON.stringify(toldByHost(error)), 418));
      return answering((request) => app.fetch(request));
    },
  },
  {
    name: 'Fetch',
    parsesForms: false,
    open: async (options) => {
      const answer = fetchProtection.protect(options)(
        (_request, token) => new Response(JSON.stringify(notesOf(token))),
      );
      return answering((request) =>
        answer(request).catch((error) => new Response(JSON.stringify(toldByHost(error)), { status: 418 })),
      );
    },
  },
];

function answering(answer: (request: Request) => Response | Promise<Response>): OpenTransport {
  return {
    async send({ method, path, headers, body }: TestRequest): Promise<TestResponse> {
      const request = new Request(new URL(path, 'https://api.example'), {
        method,
        headers,
        ...(body !== undefined && { body }),
      });
      const response = await answer(request);
      return { status: response.status, headers: chosen(response.headers), body: await response.text() };
    },
    close: async () => {},
  };
}
