import { mount } from '@grantd/core/koa';
import type { Context } from 'koa';
import { listening } from './listener.ts';
import type { Transport } from './transport.ts';

export const KOA: Transport = {
  name: 'the Koa adapter',
  async open(server) {
    const { default: Koa } = await import('koa');
    return listening(new Koa().use(mount(server)).use(notFound).callback());
  },
};

function notFound(context: Context): void {
  context.body = null;
  context.status = 404;
}
