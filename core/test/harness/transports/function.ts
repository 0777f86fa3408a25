import { errorResponse, type HttpRequest } from '@grantd/core';
import { chosen, type Transport } from './transport.ts';

type OperationName =
  | 'introspect'
  | 'pushAuthorizationRequest'
  | 'authorizeDevice'
  | 'revoke'
  | 'userInfo'
  | 'token'
  | 'register'
  | 'configureClient'
  | 'jwks'
  | 'metadata';

const OPERATIONS: Readonly<Record<string, OperationName>> = {
  '/token/introspect': 'introspect',
  '/token/revoke': 'revoke',
  '/userinfo': 'userInfo',
  '/token': 'token',
  '/par': 'pushAuthorizationRequest',
  '/device_authorization': 'authorizeDevice',
  '/register': 'register',
  '/jwks': 'jwks',
  '/.well-known/oauth-authorization-server': 'metadata',
  '/.well-known/openid-configuration': 'metadata',
};

/** The operation of a path: an exact one, or one below that of registration. */
function operationOf(path: string): OperationName | undefined {
  return OPERATIONS[path] ?? (path.startsWith('/register/') ? 'configureClient' : undefined);
}

/** The operation itself. The shared error handler renders its errors. */
export const FUNCTION: Transport = {
  name: 'the function',
  async open(server) {
    return {
      async send({ method, path, headers, body, clientCertificate }) {
        const operation = operationOf(path.split('?')[0] ?? '');
        if (operation === undefined || !server.serves(path)) return { status: 404, headers: {}, body: '' };
        const request: HttpRequest = {
          method,
          url: path,
          headers,
          ...(body !== undefined && { body }),
          ...(clientCertificate !== undefined && { clientCertificate }),
        };
        const response = await server[operation](request).catch(errorResponse);
        return { ...response, headers: chosen(Object.entries(response.headers)) };
      },
      close: async () => {},
    };
  },
};
