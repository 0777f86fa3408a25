import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { chosen, type OpenTransport, type TestRequest, type TestResponse } from './transport.ts';

/** A real server on loopback with this listener. */
export async function listening(listener: RequestListener): Promise<OpenTransport> {
  const server = createServer({ joinDuplicateHeaders: true }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = portOf(server);
  // Requests reuse connections: to open one takes longer than most answers.
  const agent = new Agent({ keepAlive: true });
  return {
    send: (request) => sendHttp(port, request, agent),
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The hosts' response at other paths. */
export function notFound(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(404).end();
}

export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the test server has no port');
  return address.port;
}

export function sendHttp(
  port: number,
  { method, path, headers, body }: TestRequest,
  agent: Agent | false = false,
): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, ...length },
      agent,
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
