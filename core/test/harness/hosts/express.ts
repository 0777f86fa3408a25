import type { ServerResponse } from 'node:http';
import { handler, mount, sendResponse, toHttpRequest } from '@grantd/core/express';
import express from 'express';
import express4 from 'express4';
import { HANDLED, type Host, type HostPlan, optionsOf, ownAnswer } from './host.ts';
import { listen } from './node.ts';

export const EXPRESS_HOST: Host = {
  name: 'Express 5',
  open(t, plan) {
    const router = express.Router();
    if (plan.parsesForms) router.use(express.urlencoded());
    router.get('/own', async (request, response) => {
      sendResponse(request, response, ownAnswer(await toHttpRequest(request)));
    });
    if (plan.operation) router.all('/operation', handler(plan.operation, optionsOf(plan)));
    else router.use(mount(plan.server, optionsOf(plan)));
    const app = express();
    return listen(t, app.use(plan.below ?? '/', router).use(errorHandlerOf(plan)));
  },
};

export const EXPRESS_4_HOST: Host = {
  name: 'Express 4',
  open(t, plan) {
    const router = express4.Router();
    if (plan.parsesForms) router.use(express4.urlencoded({ extended: true }));
    router.get('/own', async (request, response) => {
      sendResponse(request, response, ownAnswer(await toHttpRequest(request)));
    });
    if (plan.operation) router.all('/operation', handler(plan.operation, optionsOf(plan)));
    else router.use(mount(plan.server, optionsOf(plan)));
    const app = express4();
    return listen(t, app.use(plan.below ?? '/', router).use(errorHandlerOf(plan)));
  },
};

function errorHandlerOf({ onError }: HostPlan) {
  return (error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
    onError?.(error);
    response.writeHead(HANDLED.status).end(HANDLED.body);
  };
}
