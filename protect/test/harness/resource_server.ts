import { mount } from '@grantd/core/fetch';
import type { Fetch } from '@grantd/protect';
import { basic, secretOf, type World } from '../../../core/test/harness/world.ts';

/** The API of the tests, which is the client `api` of a world. */
export const API = 'https://api.example';

export const CREDENTIALS = { clientId: 'api', clientSecret: secretOf('api') } as const;

/** A world's authorization server as the API sees it: it records requests, and fails on demand. */
export class AskedServer {
  readonly #answer: (request: Request) => Promise<Response>;
  /** Requested paths, in order. */
  readonly paths: string[] = [];
  /** If set, it replaces the server. */
  outage: ((url: string, init: RequestInit) => Promise<Response>) | undefined;

  constructor({ server }: Pick<World, 'server'>) {
    this.#answer = mount(server);
  }

  readonly fetch: Fetch = async (url, init) => {
    this.paths.push(new URL(url).pathname);
    return this.outage === undefined ? this.answer(url, init) : this.outage(url, init);
  };

  /** The server's own response. */
  answer(url: string, init: RequestInit): Promise<Response> {
    return this.#answer(new Request(url, init));
  }

  /** The number of requests for a path. */
  count(path: string): number {
    return this.paths.filter((item) => item === path).length;
  }
}

/** A client_credentials token for the API. */
export async function apiToken(world: World, scope = 'read', resource = API): Promise<string> {
  const response = await world.send({
    method: 'POST',
    path: '/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic('machine') },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource }).toString(),
  });
  if (response.status !== 200) throw new Error(`no token was issued: ${response.body}`);
  return JSON.parse(response.body).access_token;
}

/** Failures of an authorization server, by name. */
export const OUTAGES: readonly ((url: string, init: RequestInit) => Promise<Response>)[] = [
  async function isNotReached() {
    throw new TypeError('fetch failed');
  },
  async function is503() {
    return new Response('{"active":false}', { status: 503 });
  },
  async function isOneError() {
    return Response.json({ error: 'server_error' }, { status: 500 });
  },
  async function refusesTheApi() {
    return Response.json({ error: 'invalid_client' }, { status: 401 });
  },
  async function redirects() {
    return new Response(null, { status: 302, headers: { location: 'https://evil.example/' } });
  },
  async function isNoJson() {
    return new Response('<html>');
  },
  async function isNoObject() {
    return Response.json([true]);
  },
  async function isTooLarge() {
    return Response.json({ active: true, filling: 'a'.repeat(70_000) });
  },
  async function breaksOff() {
    const body = new ReadableStream({
      start: (controller) => controller.error(new Error('the connection broke')),
    });
    return new Response(body);
  },
];
