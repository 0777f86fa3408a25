import * as expressProtection from '@grantd/protect/express';
import * as fastifyProtection from '@grantd/protect/fastify';
import * as koaProtection from '@grantd/protect/koa';
import * as nextProtection from '@grantd/protect/next';
import * as nodeProtection from '@grantd/protect/node';
import express, { type ErrorRequestHandler } from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { NextRequest } from 'next/server.js';
import { listening, sendHttp } from '../../../core/test/harness/transports/listener.ts';
import { PROTECTED_NEST_HOSTS } from './protected_nest_hosts.ts';
import {
  answering,
  notesOf,
  PROTECTED_WEB_HOSTS,
  type ProtectedHost,
  toldByHost,
} from './protected_web_hosts.ts';

export const PROTECTED_HOSTS: readonly ProtectedHost[] = [
  {
    name: 'node:http',
    parsesForms: false,
    open: (options) => {
      const passing: ReturnType<typeof nodeProtection.metadata> = (_request, _response, next) => next();
      const metadata = options.resourceMetadata === true ? nodeProtection.metadata(options) : passing;
      const guard = nodeProtection.protect(options);
      return listening((request, response) =>
        metadata(request, response, () =>
          guard(request, response, (error) => {
            if (error !== undefined) response.writeHead(418).end(JSON.stringify(toldByHost(error)));
            else response.end(JSON.stringify(notesOf(nodeProtection.tokenOf(request))));
          }),
        ),
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
      if (options.resourceMetadata === true) app.use(expressProtection.metadata(options));
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
      if (options.resourceMetadata === true) app.addHook('onRequest', fastifyProtection.metadata(options));
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
      if (options.resourceMetadata === true) app.use(koaProtection.metadata(options));
      app.use(koaProtection.protect(options));
      app.use((context) => {
        context.body = JSON.stringify(notesOf(koaProtection.tokenOf(context)));
      });
      return listening(app.callback());
    },
  },
  ...PROTECTED_NEST_HOSTS,
  {
    name: 'Next.js',
    parsesForms: false,
    open: async (options) => {
      const route = nextProtection.protect(options)(
        ({ nextUrl }: NextRequest, token, _context: { readonly params: Promise<object> }) => {
          if (nextUrl.pathname !== '/notes') throw new Error('the request is not that of Next.js');
          return new Response(JSON.stringify(notesOf(token)));
        },
      );
      // Next.js responds to errors of a route with 500, and has no setting for it.
      const metadata = options.resourceMetadata === true ? nextProtection.metadata(options) : undefined;
      return answering((request) => {
        if (metadata && !new URL(request.url).pathname.startsWith('/notes'))
          return metadata(new NextRequest(request));
        return route(new NextRequest(request), { params: Promise.resolve({}) }).catch(
          (error) => new Response(JSON.stringify(toldByHost(error)), { status: 418 }),
        );
      });
    },
  },
  ...PROTECTED_WEB_HOSTS,
];
