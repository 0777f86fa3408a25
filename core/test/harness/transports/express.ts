import { mount } from '@grantd/core/express';
import express from 'express';
import express4 from 'express4';
import { listening, notFound } from './listener.ts';
import type { Transport } from './transport.ts';

export const EXPRESS: Transport = {
  name: 'the Express 5 adapter',
  open: (server) => listening(express().disable('x-powered-by').use(mount(server)).use(notFound)),
};

/** Behind a parser of its own, as most have it. */
export const EXPRESS_4: Transport = {
  name: 'the Express 4 adapter',
  open: (server) =>
    listening(
      express4()
        .disable('x-powered-by')
        .use(express4.urlencoded({ extended: true }))
        .use(mount(server))
        .use(notFound),
    ),
};
