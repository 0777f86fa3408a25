import { createServer } from 'node:http';
import { listenOnLoopback } from './listening.ts';

/** A separate site on this machine: an application or a hostile site. */
export interface Application {
  /** Its port differs from every server's, so it is another origin. */
  readonly origin: string;
  /** Serves a page from now on. */
  put(path: string, body: string | Uint8Array, type?: string): void;
  /** Redirects from now on. */
  redirect(path: string, location: string): void;
  /** All requested URLs in order, with bodies. */
  readonly asked: readonly { readonly url: URL; readonly body: string }[];
  close(): void;
}

export async function startApplication(): Promise<Application> {
  const pages = new Map<string, { readonly body: string | Uint8Array; readonly type: string }>();
  const redirects = new Map<string, string>();
  const asked: { url: URL; body: string }[] = [];
  let origin = '';
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', origin);
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    asked.push({ url, body });
    const location = redirects.get(url.pathname);
    const page = pages.get(url.pathname);
    if (location !== undefined) response.writeHead(303, { location }).end();
    else
      response
        .writeHead(page === undefined ? 404 : 200, { 'content-type': page?.type ?? 'text/plain' })
        .end(page?.body);
  });
  const port = await listenOnLoopback(server);
  origin = `http://localhost:${port}`;
  return {
    origin,
    asked,
    put: (path, body, type = 'text/html; charset=utf-8') => void pages.set(path, { body, type }),
    redirect: (path, location) => void redirects.set(path, location),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
