import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/koa';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import { HANDLED, type Host, optionsOf, ownAnswer } from './host.ts';
import { listen } from './node.ts';

export const KOA_HOST: Host = {
  name: 'Koa 3',
  open(t, plan) {
    const { below = '', onError } = plan;
    const app = new Koa();
    app.silent = true; // it would print each broken connection
    app.use(async (context, next) => {
      try {
        await next();
      } catch (error) {
        onError?.(error);
        context.status = HANDLED.status;
        context.body = HANDLED.body;
      }
    });
    app.use(async (context, next) => {
      if (!context.path.startsWith(below)) return;
      context.path = context.path.slice(below.length) || '/'; // like koa-mount
      await next();
    });
    if (plan.parsesForms) app.use(bodyParser());
    app.use(async (context, next) => {
      if (context.path !== '/own') return next();
      sendResponse(context, ownAnswer(await toHttpRequest(context)));
    });
    if (plan.operation) {
      const answer = handler(plan.operation, optionsOf(plan));
      app.use((context, next) => (context.path === '/operation' ? answer(context) : next()));
    } else app.use(mount(plan.server, optionsOf(plan)));
    return listen(t, app.callback());
  },
};
