import { createServer } from 'node:http';
import { listenOnLoopback } from './listening.ts';

/** A site of its own on this machine: an application that people come from, or a hostile one. */
export interface Application {
  /** Another origin than any server's: another port. */
  readonly origin: string;
  /** Serves a page from now on. */
  put(path: string, body: string | Uint8Array, type?: string): void;
  /** Leads elsewhere from now on. */
  redirect(path: string, location: string): void;
  /** Every address that it was asked for, in order, with its body where there was one. */
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
