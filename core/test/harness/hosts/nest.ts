import 'reflect-metadata';
import type { Server } from 'node:http';
import { handler, mount, type NestExchange, sendResponse, toHttpRequest } from '@grantd/core/nest';
import {
  All,
  type ArgumentsHost,
  Controller,
  Get,
  type INestApplication,
  type MiddlewareConsumer,
  Module,
  Req,
  Res,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { portOf } from '../transports/listener.ts';
import { HANDLED, type Host, type HostPlan, optionsOf, ownAnswer } from './host.ts';

export const NEST_ON_EXPRESS_HOST: Host = {
  name: 'Nest 11 on Express',
  async open(t, plan) {
    const app = await NestFactory.create<NestExpressApplication>(moduleOf(plan), new ExpressAdapter(), QUIET);
    return opened(t, app, plan);
  },
};

export const NEST_ON_FASTIFY_HOST: Host = {
  name: 'Nest 11 on Fastify',
  async open(t, plan) {
    return opened(t, await NestFactory.create(moduleOf(plan), new FastifyAdapter(), QUIET), plan);
  },
};

const QUIET = { logger: false, abortOnError: false } as const;

async function opened(
  t: Parameters<Host['open']>[0],
  app: INestApplication<Server>,
  plan: HostPlan,
): Promise<number> {
  const { below, onError } = plan;
  if (below !== undefined) app.setGlobalPrefix(below);
  app.useGlobalFilters({
    catch(error: unknown, host: ArgumentsHost) {
      if (isNotFound(error)) return app.getHttpAdapter().reply(host.getArgByIndex(1), '', 404);
      onError?.(error);
      app.getHttpAdapter().reply(host.getArgByIndex(1), HANDLED.body, HANDLED.status);
    },
  });
  if (plan.operation === undefined && !plan.parsesForms) app.use(mount(plan.server, optionsOf(plan)));
  await app.listen(0, '127.0.0.1');
  t.after(() => app.close());
  return portOf(app.getHttpServer());
}

/** If the host's parsers run first, the endpoints are middleware of the module. */
function moduleOf(plan: HostPlan) {
  class Application {
    configure(consumer: MiddlewareConsumer) {
      if (plan.operation === undefined && plan.parsesForms)
        consumer.apply(mount(plan.server, optionsOf(plan))).forRoutes('{*path}');
    }
  }
  Module({ controllers: [controllerOf(plan)] })(Application);
  return Application;
}

/** Decorators as function calls, because type stripping does not support decorators. */
function controllerOf(plan: HostPlan) {
  const { strippedPath: _, ...options } = optionsOf(plan); // only `mount` has it
  const answer = handler(plan.operation ?? (async () => ownAnswer({ method: '', url: '', headers: {} })), {
    ...options,
  });
  class Routes {
    async own(...exchange: NestExchange) {
      sendResponse(...exchange, ownAnswer(await toHttpRequest(exchange[0])));
    }
    operation(...exchange: NestExchange) {
      return answer(...exchange);
    }
  }
  Controller()(Routes);
  for (const [name, route] of [
    ['own', Get('own')],
    ['operation', All('operation')],
  ] as const) {
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, name);
    if (descriptor !== undefined) route(Routes.prototype, name, descriptor);
    Req()(Routes.prototype, name, 0);
    Res()(Routes.prototype, name, 1);
  }
  return Routes;
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === 'NotFoundException';
}
