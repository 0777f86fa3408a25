import assert from 'node:assert/strict';
import { errorResponse, type HttpRequest } from '@grantd/core';
import { chosen, type Transport } from './transport.ts';

type OperationName =
  | 'introspect'
  | 'pushAuthorizationRequest'
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
        const pathAlone = path.split('?')[0] ?? '';
        const operation = operationOf(pathAlone);
        const isOfDevices = pathAlone === '/device_authorization';
        if ((operation === undefined && !isOfDevices) || !server.serves(path))
          return { status: 404, headers: {}, body: '' };
        const request: HttpRequest = {
          method,
          url: path,
          headers,
          ...(body !== undefined && { body }),
          ...(clientCertificate !== undefined && { clientCertificate }),
        };
        const answer =
          operation === undefined ? server.device?.authorize(request) : server[operation](request);
        const response = await Promise.resolve(answer ?? assert.fail('no operation')).catch(errorResponse);
        return { ...response, headers: chosen(Object.entries(response.headers)) };
      },
      close: async () => {},
    };
  },
};
