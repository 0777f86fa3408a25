import { createServer, request as httpRequest } from 'node:http';
import { type AuthorizationServer, errorResponse, type HttpRequest } from '@grantd/core';
import { mount as mountFetch } from '@grantd/core/fetch';
import { mount as mountNode } from '@grantd/core/node';

/** A request as a test writes it. */
export interface TestRequest {
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface TestResponse {
  readonly status: number;
  /** Those that the server chose; not what the transport adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface OpenTransport {
  send(request: TestRequest): Promise<TestResponse>;
  close(): Promise<void>;
}

export interface Transport {
  readonly name: string;
  open(server: AuthorizationServer): Promise<OpenTransport>;
}

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

/** The operation of a path: of a whole one, or of one below that of registration. */
function operationOf(path: string): OperationName | undefined {
  return OPERATIONS[path] ?? (path.startsWith('/register/') ? 'configureClient' : undefined);
}

/** The operation itself, its errors rendered by the shared error handler. */
export const FUNCTION: Transport = {
  name: 'the function',
  async open(server) {
    return {
      async send({ method, path, headers, body }) {
        const operation = operationOf(path.split('?')[0] ?? '');
        if (operation === undefined || !server.serves(path)) return { status: 404, headers: {}, body: '' };
        const request: HttpRequest = { method, url: path, headers, ...(body !== undefined && { body }) };
        const response = await server[operation](request).catch(errorResponse);
        return { ...response, headers: chosen(Object.entries(response.headers)) };
      },
      close: async () => {},
    };
  },
};

/** The Fetch adapter. */
export const FETCH: Transport = {
  name: 'the fetch adapter',
  async open(server) {
    const answer = mountFetch(server);
    return {
      async send({ method, path, headers, body }) {
        const url = new URL(path, server.issuer);
        const response = await answer(
          new Request(url, { method, headers, ...(body !== undefined && { body }) }),
        );
        return { status: response.status, headers: chosen(response.headers), body: await response.text() };
      },
      close: async () => {},
    };
  },
};

/** The Node adapter, behind a real server on loopback. */
export const NODE: Transport = {
  name: 'the node adapter',
  async open(server) {
    const listener = createServer({ joinDuplicateHeaders: true }, mountNode(server));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('the test server has no port');
    return {
      send: (request) => sendHttp(address.port, request),
      close: () =>
        new Promise((resolve) => {
          listener.close(() => resolve());
          listener.closeAllConnections();
        }),
    };
  },
};

function sendHttp(port: number, { method, path, headers, body }: TestRequest): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent: false,
    };
    const sent = httpRequest(options, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const lines = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const);
      resolve({
        status: response.statusCode ?? 0,
        headers: chosen(lines),
        body: Buffer.concat(chunks).toString(),
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Headers that HTTP or the runtime adds on the way. */
const ADDED = new Set(['connection', 'date', 'keep-alive', 'transfer-encoding', 'content-length']);

function chosen(
  headers: Iterable<readonly [string, string | readonly string[]]>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...headers].filter(([name]) => !ADDED.has(name)).map(([n, v]) => [n, String(v)]),
  );
}
