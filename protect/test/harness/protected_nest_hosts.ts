import 'reflect-metadata';
import type { Server } from 'node:http';
import type { ProtectionOptions } from '@grantd/protect';
import { metadata, protect, tokenOf } from '@grantd/protect/nest';
import {
  All,
  type ArgumentsHost,
  Controller,
  type INestApplication,
  Module,
  Req,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import { portOf, sendHttp } from '../../../core/test/harness/transports/listener.ts';
import type { OpenTransport } from '../../../core/test/harness/transports/transport.ts';
import { notesOf, type ProtectedHost, toldByHost } from './protected_web_hosts.ts';

const QUIET = { logger: false, abortOnError: false } as const;

/** Nest on each of its platforms. Its only route has the guard. */
export const PROTECTED_NEST_HOSTS: readonly ProtectedHost[] = [
  {
    name: 'Nest on Express',
    parsesForms: true,
    open: async (options) => {
      const platform = new ExpressAdapter(express().disable('x-powered-by').disable('etag'));
      return opened(await NestFactory.create(moduleOf(options), platform, QUIET), options);
    },
  },
  {
    name: 'Nest on Fastify',
    parsesForms: true,
    open: async (options) =>
      opened(await NestFactory.create(moduleOf(options), new FastifyAdapter(), QUIET), options),
  },
];

/** Decorators as function calls, because type stripping does not support decorators. */
function moduleOf(options: ProtectionOptions) {
  class Notes {
    notes(request: object) {
      return JSON.stringify(notesOf(tokenOf(request)));
    }
  }
  Controller()(Notes);
  const route = { value: Notes.prototype.notes };
  All('notes')(Notes.prototype, 'notes', route);
  UseGuards(protect(options))(Notes.prototype, 'notes', route);
  Req()(Notes.prototype, 'notes', 0);
  class Application {}
  Module({ controllers: [Notes] })(Application);
  return Application;
}

async function opened(app: INestApplication<Server>, options: ProtectionOptions): Promise<OpenTransport> {
  if (options.resourceMetadata === true) app.use(metadata(options));
  app.useGlobalFilters({
    catch(error: unknown, host: ArgumentsHost) {
      app.getHttpAdapter().reply(host.getArgByIndex(1), JSON.stringify(toldByHost(error)), 418);
    },
  });
  await app.listen(0, '127.0.0.1');
  return { send: (request) => sendHttp(portOf(app.getHttpServer()), request), close: () => app.close() };
}
