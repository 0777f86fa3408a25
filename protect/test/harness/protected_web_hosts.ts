import type { ProtectionOptions, VerifiedAccessToken } from '@grantd/protect';
import type { PresentedCertificate } from '@grantd/protect/fetch';
import * as fetchProtection from '@grantd/protect/fetch';
import * as h3Protection from '@grantd/protect/h3';
import * as honoProtection from '@grantd/protect/hono';
import { H3 } from 'h3';
import { Hono } from 'hono';
import {
  chosen,
  type OpenTransport,
  type TestRequest,
  type TestResponse,
} from '../../../core/test/harness/transports/transport.ts';

/** The response of each API to a request with an accepted token. */
export function notesOf({ sub, clientId, scopes }: VerifiedAccessToken) {
  return { sub, clientId, scopes };
}

/** The response of each API's own error handling. */
export function toldByHost(error: unknown) {
  const { name, status, headers } = Object(error);
  return {
    name,
    status,
    challenge: headers?.['www-authenticate'],
    cacheControl: headers?.['cache-control'],
  };
}

/** `clientCertificate` for what every framework passes to it: a request of Node or Fetch, or an object around one. */
interface CertificateOption {
  readonly clientCertificate?: (request: object) => PresentedCertificate | undefined;
}

/** An API in one framework with one protected route. Its error handling responds with 418. */
export interface ProtectedHost {
  readonly name: string;
  /** Whether the host parses forms before the token is checked. */
  readonly parsesForms: boolean;
  open(options: ProtectionOptions & CertificateOption): Promise<OpenTransport>;
}

/** They need only web standards. */
export const PROTECTED_WEB_HOSTS: readonly ProtectedHost[] = [
  {
    name: 'Hono',
    parsesForms: false,
    open: async (options) => {
      const app = new Hono<{ Variables: { token: VerifiedAccessToken } }>();
      if (options.resourceMetadata === true) app.use(honoProtection.metadata(options));
      app.use('/notes', honoProtection.protect(options));
      app.all('/notes', (context) => context.body(JSON.stringify(notesOf(honoProtection.tokenOf(context)))));
      app.onError((error, context) => context.body(JSON.stringify(toldByHost(error)), 418));
      return answering((request) => app.fetch(request));
    },
  },
  {
    name: 'h3',
    parsesForms: false,
    open: async (options) => {
      const app = new H3({
        silent: true,
        onError: ({ cause }) => new Response(JSON.stringify(toldByHost(cause)), { status: 418 }),
      });
      if (options.resourceMetadata === true) app.use(h3Protection.metadata(options));
      app.all('/notes', (event) => JSON.stringify(notesOf(h3Protection.tokenOf(event))), {
        middleware: [h3Protection.protect(options)],
      });
      return answering((request) => app.fetch(request));
    },
  },
  {
    name: 'Fetch',
    parsesForms: false,
    open: async (options) => {
      const answer = fetchProtection.protect(options)(
        (_request, token) => new Response(JSON.stringify(notesOf(token))),
      );
      const metadata = options.resourceMetadata === true ? fetchProtection.metadata(options) : undefined;
      return answering(async (request) => {
        if (metadata && !new URL(request.url).pathname.startsWith('/notes')) return metadata(request);
        return answer(request).catch(
          (error) => new Response(JSON.stringify(toldByHost(error)), { status: 418 }),
        );
      });
    },
  },
];

/** A host that is called directly, without a connection. */
export function answering(answer: (request: Request) => Response | Promise<Response>): OpenTransport {
  return {
    async send({ method, path, headers, body }: TestRequest): Promise<TestResponse> {
      const request = new Request(new URL(path, 'https://api.example'), {
        method,
        headers,
        ...(body !== undefined && { body }),
      });
      const response = await answer(request);
      return { status: response.status, headers: chosen(response.headers), body: await response.text() };
    },
    close: async () => {},
  };
}
