// A protected handler, which checks the token of each request in one of four ways, or not at all.
//
//     node handler.ts PORT {"way":…,"issuer":…,"audience":…}
import { createServer, type RequestListener } from 'node:http';
import { AccessTokenFollower, AccessTokenIntrospector } from '@grantd/protect';
import { protect, tokenOf } from '@grantd/protect/node';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { API } from './parties.ts';

export interface HandlerOrder {
  readonly way: 'none' | 'jose' | 'follower' | 'remembered' | 'introspected';
  readonly issuer: string;
  readonly audience: string;
}

const [port = '', order = '{}'] = process.argv.slice(2);
const { way, issuer, audience }: HandlerOrder = JSON.parse(order);

createServer(await listenerFor(way)).listen(Number(port), '127.0.0.1');

async function listenerFor(way: HandlerOrder['way']): Promise<RequestListener> {
  const common = { issuer, audience, credentials: API };
  const introspectionEndpoint = `${issuer}/token/introspect`;
  switch (way) {
    case 'none':
      return (_, response) => answer(response, 'unknown');
    case 'jose':
      return byJose();
    case 'follower': {
      const follower = new AccessTokenFollower(common);
      await follower.ready();
      return byTokens(follower);
    }
    case 'remembered':
      return byTokens(
        new AccessTokenIntrospector({ ...common, introspectionEndpoint, cache: { maxSeconds: 60 } }),
      );
    case 'introspected':
      return byTokens(new AccessTokenIntrospector({ ...common, introspectionEndpoint }));
  }
}

function byTokens(tokens: AccessTokenFollower | AccessTokenIntrospector): RequestListener {
  const protection = protect({ tokens, scopes: ['api:read'] });
  return (request, response) =>
    void protection(request, response, () => answer(response, tokenOf(request).clientId));
}

/** As in jose's documentation: the signature, the issuer, the audience and the time, and then the scope. */
function byJose(): RequestListener {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  return async (request, response) => {
    try {
      const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
      const { payload } = await jwtVerify(token, keys, { issuer, audience });
      if (!String(payload.scope).split(' ').includes('api:read')) throw new Error('the scope is missing');
      answer(response, payload.client_id);
    } catch {
      response.writeHead(401).end();
    }
  };
}

function answer(response: Parameters<RequestListener>[1], client: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ client }));
}
