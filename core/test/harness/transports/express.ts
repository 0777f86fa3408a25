import { mount } from '@grantd/core/express';
import { listening, notFound } from './listener.ts';
import type { Transport } from './transport.ts';

export const EXPRESS: Transport = {
  name: 'the Express 5 adapter',
  async open(server) {
    const { default: express } = await import('express');
    return listening(express().disable('x-powered-by').use(mount(server)).use(notFound));
  },
};

/** Behind the host's own parser, as in most applications. */
export const EXPRESS_4: Transport = {
  name: 'the Express 4 adapter',
  async open(server) {
    const { default: express4 } = await import('express4');
    return listening(
      express4()
        .disable('x-powered-by')
        .use(express4.urlencoded({ extended: true }))
        .use(mount(server))
        .use(notFound),
    );
  },
};
