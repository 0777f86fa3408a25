import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { AuthorizationServer } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { mount } from '@grantd/core/node';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** An authorization server on loopback, for an API in another runtime. */
interface AskedIssuer {
  readonly issuer: string;
  /** A token for the API. */
  readonly token: string;
  /** Requested paths, in order. */
  readonly paths: string[];
  /** If set, it replaces the server. */
  outage: Answer | undefined;
}

/** Opens one that ends with the test. */
export async function openAskedIssuer(t: TestContext): Promise<AskedIssuer> {
  let answer: Answer = (_request, response) => response.writeHead(503).end();
  const listener = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the issuer has no port');
  const issuer = `http://127.0.0.1:${address.port}`;
  const storage = memoryStorage({ issuer });
  const server = new AuthorizationServer({
    issuer,
    secret: 'a secret of the tests with more than 32 characters',
    storage,
  });
  await server.prepare();
  for (const [id, resource] of [
    ['api', 'https://api.example'],
    ['machine', undefined],
  ] as const) {
    await storage.clients.add({
      id,
      secrets: [await server.operator.hashClientSecret(`the secret of ${id}`)],
      grantTypes: ['client_credentials'],
      scopes: ['read'],
      redirectUris: [],
      ...(resource === undefined ? { metadata: { apis: ['https://api.example'] } } : { resource }),
    });
  }
  const mounted = mount(server);
  const asked: AskedIssuer = { issuer, token: '', paths: [], outage: undefined };
  answer = (request, response) => {
    asked.paths.push(String(request.url));
    return (asked.outage ?? mounted)(request, response);
  };
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('machine:the+secret+of+machine')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'https://api.example' }),
  });
  const { access_token: token } = await response.json();
  asked.paths.length = 0;
  return Object.assign(asked, { token });
}
