import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { TestContext } from 'node:test';

/** An external site, on loopback. */
interface RemoteSite {
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** The received requests with bodies. */
  readonly requests: readonly ArrivedRequest[];
}

interface ArrivedRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Opens a site that ends with the test, including its pending requests. */
export async function openRemoteSite(t: TestContext, answer: RequestListener): Promise<RemoteSite> {
  const requests: ArrivedRequest[] = [];
  const listener = createServer(async (request, response) => {
    const { method, url, headers } = request;
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ method, url, headers, body });
    answer(request, response);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    listener.close();
    listener.closeAllConnections();
  });
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the site has no port');
  return { port: address.port, origin: `http://127.0.0.1:${address.port}`, requests };
}
