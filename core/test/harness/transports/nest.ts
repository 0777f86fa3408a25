import 'reflect-metadata';
import type { Server } from 'node:http';
import type { AuthorizationServer } from '@grantd/core';
import { mount } from '@grantd/core/nest';
import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import { UNIDENTIFIED } from './fastify.ts';
import { notFound, portOf, sendHttp } from './listener.ts';
import type { OpenTransport, Transport } from './transport.ts';

class Application {}
Module({})(Application);

export const NEST_ON_EXPRESS: Transport = {
  name: 'the Nest adapter on Express',
  open: async (server) =>
    opened(
      await NestFactory.create(Application, new ExpressAdapter(express().disable('x-powered-by')), {
        logger: false,
        abortOnError: false,
      }),
      server,
    ),
};

export const NEST_ON_FASTIFY: Transport = {
  name: 'the Nest adapter on Fastify',
  open: async (server) =>
    opened(
      await NestFactory.create(Application, new FastifyAdapter({ genReqId: UNIDENTIFIED }), {
        logger: false,
        abortOnError: false,
      }),
      server,
    ),
};

async function opened(app: INestApplication<Server>, server: AuthorizationServer): Promise<OpenTransport> {
  app.use(mount(server));
  app.use(notFound);
  await app.listen(0, '127.0.0.1');
  return { send: (request) => sendHttp(portOf(app.getHttpServer()), request), close: () => app.close() };
}
