// NestJS 11, on its Express or its Fastify platform.
import 'reflect-metadata';
import { mount } from '@grantd/core/nest';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { port, server } from './authorization_server.ts';

class Pages {
  home() {
    return 'the application';
  }
}
// As decorators: @Controller() and @Get().
Controller()(Pages);
Get()(Pages.prototype, 'home', { value: Pages.prototype.home });

class Application {}
Module({ controllers: [Pages] })(Application);

const app = await NestFactory.create(Application, { logger: false });
app.use(mount(server));
await app.listen(port, '127.0.0.1');
