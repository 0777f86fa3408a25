import type { Server } from 'node:http';
import type { AuthorizationServer } from '@grantd/core';
import { mount } from '@grantd/core/nest';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { UNIDENTIFIED } from './fastify.ts';
import { notFound, portOf, sendHttp } from './listener.ts';
import type { OpenTransport, Transport } from './transport.ts';

export const NEST_ON_EXPRESS: Transport = {
  name: 'the Nest adapter on Express',
  async open(server) {
    await import('reflect-metadata');
    const { default: express } = await import('express');
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return opened(new ExpressAdapter(express().disable('x-powered-by')), server);
  },
};

export const NEST_ON_FASTIFY: Transport = {
  name: 'the Nest adapter on Fastify',
  async open(server) {
    await import('reflect-metadata');
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    return opened(new FastifyAdapter({ genReqId: UNIDENTIFIED }), server);
  },
};

class Application {}

async function opened(adapter: AbstractHttpAdapter, server: AuthorizationServer): Promise<OpenTransport> {
  const { Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  Module({})(Application);
  const options = { logger: false, abortOnError: false } as const;
  const app = await NestFactory.create(Application, adapter, options);
  app.use(mount(server));
  app.use(notFound);
  await app.listen(0, '127.0.0.1');
  const listener: Server = app.getHttpServer();
  return { send: (request) => sendHttp(portOf(listener), request), close: () => app.close() };
}
