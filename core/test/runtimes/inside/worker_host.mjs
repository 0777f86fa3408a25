/* A host as its developer would write it, in a Worker without anything of Node. */
import { AuthorizationServer } from '@grantd/core';
import { mount } from '@grantd/core/fetch';
import { memoryStorage } from '@grantd/core/memory';

const issuer = 'https://as.example';
const storage = distant(memoryStorage({ issuer }));
const server = new AuthorizationServer({
  issuer,
  secret: 'a secret of the tests with more than 32 characters',
  storage,
  oidc: { getUserClaims: (subject) => ({ name: `Person ${subject}` }) },
});
const endpoints = mount(server);

/** As if it were asked over the network: what is awaited belongs to the request that asks. */
function distant(parts) {
  return new Proxy(parts, {
    get(target, name) {
      const part = Reflect.get(target, name);
      if (typeof part === 'object' && part !== null) return distant(part);
      if (typeof part !== 'function') return part;
      return async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        return part.apply(target, args);
      };
    },
  });
}

async function prepare() {
  await server.prepare();
  await storage.clients.add({
    id: 'service',
    secrets: [await server.operator.hashClientSecret('its secret')],
    grantTypes: ['client_credentials'],
    scopes: ['read'],
    redirectUris: [],
    resource: 'https://api.example',
  });
}

/** Which of them are here. */
async function thingsOfNode() {
  const globals = ['Buffer', 'process', 'setImmediate', 'global'].filter((name) => name in globalThis);
  const modules = ['node:crypto', 'node:buffer', 'node:http'];
  const loaded = await Promise.allSettled(modules.map((name) => import(name)));
  return [...globals, ...modules.filter((_, index) => loaded[index].status === 'fulfilled')];
}

let prepared;

export default {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === '/of-node') return Response.json(await thingsOfNode());
    prepared ??= prepare();
    await prepared;
    return endpoints(request);
  },
};
